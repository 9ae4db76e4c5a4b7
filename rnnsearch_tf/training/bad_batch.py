"""Find the lines of the training text in a batch whose gradient is not finite."""

from __future__ import annotations

import itertools
import os
from collections.abc import Hashable, Iterator, Mapping, Sequence

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.data.pairs import LinePair, Pairs
from rnnsearch_tf.data.prepared.store import PreparedPairs
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.runtime.progress import announced
from rnnsearch_tf.text.pipeline import Text
from rnnsearch_tf.text.vocabulary import batches

MOST_LINE_NUMBERS = 100
"""Line numbers in a message, at most; the file has all of them."""

_BATCH = 512  # lines encoded in one batch


def name_batch(
    batch: Mapping[str, tf.Tensor],
    texts: Sequence[Text],
    pairs: Pairs,
    path: str | os.PathLike[str],
) -> str:
    """Find the lines of a batch and write them to a file with their text.

    A prepared corpus has no lines; for it, the decoded text of the ids is written.

    Args:
        batch: {"source_ids": int32 [B, J], "target_ids": int32 [B, I]}.
        texts: (source Text, target Text).
        pairs: Pairs that the batch was drawn from; read once. A pair that occurs several times is
            listed each time.
        path: path of the file; a line is ``file:line``, source and target, separated by tabs.

    Returns:
        description of the lines, such as "news.en and news.fr, lines 3, 17".
    """
    given = batch["target_ids"][:, 0] != PAD_ID  # others only fill a batch, see with_few_shapes
    batch = {name: tf.boolean_mask(batch[name], given) for name in ("source_ids", "target_ids")}
    if isinstance(pairs, PreparedPairs):
        rows = list(zip(*(text.decode(ids).numpy() for text, ids in zip(texts, _ids(batch)))))
        write_file(path, b"".join(b"\t".join(row) + b"\n" for row in rows))
        return f"{len(rows)} pairs of {pairs.folder}"
    with announced("looking for the lines of the batch"):
        found = list(_find(batch, texts, pairs))
    lines = ["\t".join((scanned.places[0], *scanned.texts)) + "\n" for scanned in found]
    write_file(path, "".join(lines))
    parts = []
    for names, group in itertools.groupby(found, key=lambda scanned: scanned.names):
        numbers = [str(scanned.number) for scanned in group]
        shown = ", ".join(numbers[:MOST_LINE_NUMBERS])
        hidden = len(numbers) - MOST_LINE_NUMBERS
        more = f" and {hidden} more" if hidden > 0 else ""
        files = " and ".join(dict.fromkeys(names))
        parts.append(f"{files}, line{'s' * (len(numbers) > 1)} {shown}{more}")
    return "; ".join(parts)


def _find(
    batch: Mapping[str, tf.Tensor], texts: Sequence[Text], pairs: Pairs
) -> Iterator[LinePair]:
    """Yield every pair of the text that is in the batch."""
    wanted = set(zip(*(_keys(text, ids) for text, ids in zip(texts, _ids(batch)))))
    for group in batches(pairs.good(), _BATCH):
        lines = ([scanned.source for scanned in group], [scanned.target for scanned in group])
        keys = zip(
            *(_keys(text, text.encode(tf.constant(side))) for text, side in zip(texts, lines))
        )
        yield from (scanned for scanned, key in zip(group, keys) if key in wanted)


def _ids(batch: Mapping[str, tf.Tensor]) -> list[tf.RaggedTensor]:
    """[source ids, target ids] of a batch as ragged tensors, without padding."""
    return [
        tf.RaggedTensor.from_tensor(batch[name], padding=PAD_ID)
        for name in ("source_ids", "target_ids")
    ]


def _keys(text: Text, ids: tf.RaggedTensor) -> list[Hashable]:
    """A key for each sentence: its ids, or its decoded text if subwords are sampled."""
    if text.sampler():
        return text.decode(ids).numpy().tolist()
    return [tuple(row) for row in ids.to_list()]
