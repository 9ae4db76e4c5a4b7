"""Which lines of the training text are in a batch whose gradient is not finite."""

from __future__ import annotations

import itertools

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.data.prepared.store import PreparedPairs
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.runtime.progress import announced

SHOWN = 100
"""Line numbers in a message at most; all stand in the file."""

_LINES = 512  # encoded at once


def name_batch(batch, texts, pairs, path) -> str:
    """Find the lines of a batch, write them with their text to a file, and say where they are.

    A prepared corpus has no lines: of it the text that the ids spell is written.

    Args:
        batch: {"source_ids": int32 [B, J], "target_ids": int32 [B, I]}.
        texts: (source Text, target Text).
        pairs: Pairs that the batch was made of; read once. A pair that occurs several times is
            named each time.
        path: of the file; a line is ``file:line``, source and target, with tabs between.

    Returns:
        "news.en and news.fr, lines 3, 17".
    """
    if isinstance(pairs, PreparedPairs):
        rows = list(zip(*(text.decode(ids).numpy() for text, ids in zip(texts, _ids(batch)))))
        write_file(path, b"".join(b"\t".join(row) + b"\n" for row in rows))
        return f"{len(rows)} pairs of {pairs.folder}"
    with announced("looking for the lines of the batch"):
        found = list(_find(batch, texts, pairs))
    rows = [
        f"{corpus.name('source')}:{line.number}\t{line.texts[0]}\t{line.texts[1]}\n"
        for corpus, line in found
    ]
    write_file(path, "".join(rows))
    names = []
    for corpus, group in itertools.groupby(found, key=lambda pair: pair[0]):
        numbers = [str(line.number) for _, line in group]
        more = f" and {len(numbers) - SHOWN} more" if len(numbers) > SHOWN else ""
        files = " and ".join(dict.fromkeys(corpus.name(side) for side in ("source", "target")))
        names.append(f"{files}, line{'s' * (len(numbers) > 1)} {', '.join(numbers[:SHOWN])}{more}")
    return "; ".join(names)


def _find(batch, texts, pairs):
    """Yield (Pairs, LinePair) of every pair of the corpora that is in the batch."""
    wanted = set(zip(*(_keys(text, ids) for text, ids in zip(texts, _ids(batch)))))
    for corpus, _ in pairs.corpora:
        good = corpus.good()
        while group := list(itertools.islice(good, _LINES)):
            lines = ([line.source for line in group], [line.target for line in group])
            keys = zip(
                *(_keys(text, text.encode(tf.constant(side))) for text, side in zip(texts, lines))
            )
            yield from ((corpus, line) for line, key in zip(group, keys) if key in wanted)


def _ids(batch):
    """[source ids, target ids] of a batch as ragged tensors, without what pads them."""
    return [
        tf.RaggedTensor.from_tensor(batch[name], padding=PAD_ID)
        for name in ("source_ids", "target_ids")
    ]


def _keys(text, ids):
    """What tells sentences apart: their ids; where the pieces of a word are drawn anew each time,
    the text that they spell.
    """
    if text.sampler():
        return text.decode(ids).numpy().tolist()
    return [tuple(row) for row in ids.to_list()]
