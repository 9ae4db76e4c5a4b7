"""Checked pairs → ids → batches, as the tf.data.Datasets that training reads.

Lines are tokenized and numbered inside tf.data, 512 at a time. What fits the
shuffle buffer is numbered once and kept as ids; a larger corpus is streamed
from its files in every epoch. Either way the order of epoch k depends on the
seed and on k alone; so do the pieces that subword regularization draws.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import DataConfig
from rnnsearch_tf.data import batching
from rnnsearch_tf.data.mixture import mixed
from rnnsearch_tf.data.prepared.batches import NumberedBatches
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.data.prepared.store import PreparedPairs
from rnnsearch_tf.alignment.tokens import WordLinks
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.text.pipeline import Text

_LINES = 512  # lines tokenized at once
_SIGNATURE = {name: tf.TensorSpec([None, None], tf.int32) for name in ("source_ids", "target_ids")}
_LINKS = {"links": tf.TensorSpec([None, None, None], tf.float32)}


def training_dataset(
    source_text: Text,
    target_text: Text,
    pairs: Pairs,
    data: DataConfig,
    seed: int,
    epoch: int | Callable[[], int] = 0,
    know: Callable[[int, int], None] | None = None,
    worker: int = 0,
    workers: int = 1,
) -> tf.data.Dataset:
    """One epoch of training batches per iteration, in a new order each time.

    Pairs beyond data.maximum_source_length or data.maximum_target_length are
    left out, and counted in ``pairs.report.too_long`` once a whole epoch has been
    read. Memory holds data.shuffle_buffer pairs, however long the files are.

    Args:
        source_text, target_text: Text of each side.
        pairs: Pairs; read and checked once before this returns, where that was not done. Of
            MixedPairs an epoch takes as much as the weights say. Of PreparedPairs nothing is read,
            and the order is that of :mod:`rnnsearch_tf.data.prepared.batches`.
        data: DataConfig.
        seed: int.
        epoch: number of the epoch that the first iteration gives, later ones
            counting on; or, not for PreparedPairs, a callable that is asked for it at the start of
            each.
        know: called with the number of an epoch and how many batches it has, before the last of
            them is handed out; not for PreparedPairs, whose batches are counted beforehand.
        worker, workers: this worker's number from 0, and how many share each batch. Every worker
            reads the text; of PreparedPairs its own pairs alone. See
            :func:`~rnnsearch_tf.data.batching.share`.

    Returns:
        tf.data.Dataset, finite, of {"source_ids": int32 [B, J], "target_ids": int32 [B, I]},
        right-padded with PAD_ID, every row ending with END_ID. Of LinkedPairs also "links": float32
        [B, I, J], the share of source token j in the links of target token i.

    Raises:
        UserError: bad lines under on_bad_line "error", unreadable files, no pair within the length
            limits, or links of words that do not exist.
    """
    if isinstance(pairs, PreparedPairs):
        pairs.check_texts((source_text, target_text))
        return NumberedBatches(pairs, data, seed, worker, workers).epochs(epoch)
    pairs.check()
    encoded = [EncodedPairs(source_text, target_text, corpus, data) for corpus, _ in pairs.corpora]
    for corpus in encoded:
        corpus.require_one()
        corpus.check_links()
    number = epoch if callable(epoch) else itertools.count(epoch).__next__

    def batches():
        this_epoch = number()
        sampling = _generator(seed, this_epoch, 3)
        drawn = [
            (ids.drawn(sampling), corpus.report.kept, weight)
            for ids, (corpus, weight) in zip(encoded, pairs.corpora)
        ]
        together = mixed(drawn, _generator(seed, this_epoch, 2))
        ordered = batching.shuffled(together, data.shuffle_buffer, _generator(seed, this_epoch, 0))
        batches = batching.shuffled(
            _batches(ordered, data), data.shuffle_batches, _generator(seed, this_epoch, 1)
        )
        return (
            batches if know is None else _counted(batches, lambda number: know(this_epoch, number))
        )

    dataset = tf.data.Dataset.from_generator(
        batches, output_signature=_SIGNATURE | (_LINKS if pairs.linked else {})
    )
    if workers > 1:
        own = tf.autograph.experimental.do_not_convert(
            lambda batch: batching.share(batch, worker, workers)
        )
        dataset = dataset.map(own)
    return batching.single_threaded(dataset.prefetch(2))


def scoring_batches(source_text, target_text, sentences, batch_size) -> list:
    """All pairs once, whatever their length, in batches of like length, the shortest first: for
    scoring.

    Args:
        source_text, target_text: Text of each side.
        sentences: (list of source texts, list of target texts).
        batch_size: pairs of a batch.

    Returns:
        list of {"source_ids": int32 [B, J], "target_ids": int32 [B, I]}, as
        :func:`training_dataset` gives them.
    """
    ids = [
        text.encode(tf.constant(side, tf.string)).to_list()
        for text, side in zip((source_text, target_text), sentences)
    ]
    return list(batching.unsorted_batches(sorted(zip(*ids), key=batching.length), batch_size))


def none_fits(names, limits) -> UserError:
    """The error of a text, (source, target) by name, of which no pair is within the (source,
    target) length limits.
    """
    return UserError(
        f"{names[0]}, {names[1]}: expected pairs of at most {limits[0]} source and {limits[1]}"
        " target tokens, got none; raise data.maximum_source_length or data.maximum_target_length"
    )


class EncodedPairs:
    """Pairs as ids: iterating yields (source ids, target ids), int32 arrays ending with END_ID; of
    LinkedPairs the links of their tokens too.

    Once they have all been read, and are no more than data.shuffle_buffer, they
    stay in memory and are not encoded again. A side with the option ``sampling`` is kept as text,
    and its pieces are drawn by :meth:`drawn`; the length limits are of the likeliest pieces. There
    links are of words until then.
    """

    def __init__(self, source_text, target_text, pairs, data):
        self.samplers = [text.sampler() for text in (source_text, target_text)]
        self.source_text = source_text
        self.target_text = target_text
        self.pairs = pairs
        self.may_keep = data.shuffle_buffer
        self.limits = tf.constant(
            (data.maximum_source_length, data.maximum_target_length), tf.int32
        )
        self.kept = None
        self.begun = None  # the first pass, from which one pair was asked for already
        self.word_links = WordLinks((source_text, target_text)) if pairs.linked else None
        lines = tf.TensorSpec([None], tf.string)
        links = (tf.TensorSpec([None, 2], tf.string),) if pairs.linked else ()
        # nothing in it needs conversion, which takes seconds
        encode = tf.autograph.experimental.do_not_convert(self._encode)
        self.dataset = batching.single_threaded(
            tf.data.Dataset.from_generator(self._lines, output_signature=(lines, lines, *links))
            .map(encode)
            .prefetch(1)
        )

    def __iter__(self):
        if self.kept is not None:
            return iter(self.kept)
        begun = self.begun
        self.begun = None
        return begun or self._stream()

    def drawn(self, generator):
        """The pairs as an iterable that draws the pieces of sampled sides anew each time it is gone
        through.
        """
        return _Drawn(self, generator) if any(self.samplers) else self

    def require_one(self):
        """Raise UserError unless some pair is within the length limits; the next pass goes on with
        what was read for it.
        """
        stream = iter(self)
        first = next(stream, None)
        if first is None:
            raise none_fits(
                [self.pairs.name(side) for side in ("source", "target")], self.limits.numpy()
            )
        self.begun = itertools.chain([first], stream)

    def check_links(self):
        """Read all links, where there are some, so that a wrong one is said before training begins;
        UserError says where.
        """
        if self.word_links is not None:
            for _ in self:
                pass

    def _stream(self):
        kept = []
        too_long = 0
        for chunk in self.dataset.as_numpy_iterator():
            source, target, *links, dropped = chunk
            too_long += int(dropped)
            pairs = zip(_rows(*source), _rows(*target), *links)
            for pair in itertools.starmap(self._linked, pairs) if links else pairs:
                if kept is not None:
                    kept.append(pair)
                    kept = None if len(kept) > self.may_keep else kept
                yield pair
        self.kept = kept
        if self.pairs.report is not None:
            self.pairs.report.too_long = too_long

    def _linked(self, source, target, links):
        """The pair with its links, read from (file and line, links): of tokens, or of words where
        pieces are to be drawn.
        """
        where, line = (text.decode("utf-8") for text in links)
        found = self.word_links.read(line, where, (source, target))
        return (
            source,
            target,
            found if any(self.samplers) else self.word_links.token_links(found, (source, target)),
        )

    def _lines(self):
        pairs = (
            self.pairs.lines()
            if self.word_links is None
            else ((each.source, each.target, each.links) for each in self.pairs.good())
        )
        while group := list(itertools.islice(pairs, _LINES)):
            yield tuple(np.array(side, dtype=object) for side in zip(*group))

    def _encode(self, source_lines, target_lines, *links):
        """string [L], string [L] -> (flat ids, row lengths, texts to draw from) of each side, and
        how many pairs were too long.

        ``links`` string [L, 2], where there are some, stand in between, those of the pairs that are
        kept.
        """
        texts = (self.source_text, self.target_text)
        lines = (source_lines, target_lines)
        ids = [text.encode(side) for text, side in zip(texts, lines)]
        # [L, 2]
        lengths = tf.cast(tf.stack([side.row_lengths() for side in ids], axis=1), tf.int32)
        fits = tf.reduce_all(lengths - 1 <= self.limits, axis=1)  # END_ID is not counted
        sides = []
        for text, side, rows, sampler in zip(texts, lines, ids, self.samplers):
            rows = tf.ragged.boolean_mask(rows, fits)
            to_draw = (
                tf.boolean_mask(text.prepared(side), fits) if sampler else tf.zeros([0], tf.string)
            )
            sides.append((rows.flat_values, rows.row_lengths(), to_draw))
        return (
            *sides,
            *(tf.boolean_mask(each, fits) for each in links),
            tf.reduce_sum(tf.cast(~fits, tf.int32)),
        )


class _Drawn:
    """Pairs of ids from EncodedPairs, of which some sides are texts."""

    def __init__(self, pairs, generator):
        self.pairs = pairs
        self.generator = generator

    def __iter__(self):
        for *sides, links in ((*pair, None)[:3] for pair in self.pairs):
            ids = tuple(
                side if sampler is None else sampler.encode(side, self.generator)
                for side, sampler in zip(sides, self.pairs.samplers)
            )
            yield ids if links is None else (*ids, self.pairs.word_links.token_links(links, ids))


def _rows(ids, lengths, texts):
    """One side of the pairs: arrays of ids, or the texts where there are some."""
    if len(texts):
        return [text.decode("utf-8") for text in texts]
    return np.split(ids, np.cumsum(lengths)[:-1]) if len(lengths) else []


def _batches(pairs, data):
    if data.batching == "paper":
        return batching.paper_batches(pairs, data.batch_size, data.batches_read_ahead)
    if data.batching == "bucketed":
        return batching.bucketed_batches(pairs, data.batch_size, data.bucket_width)
    return batching.unsorted_batches(pairs, data.batch_size)


def _counted(batches, know):
    """Yield the batches; `know` is called with their number before the last one."""
    number = 0
    waiting = None
    for batch in batches:
        if number:
            yield waiting
        number = number + 1
        waiting = batch
    if number:
        know(number)
        yield waiting


def _generator(seed, epoch, purpose):
    return np.random.default_rng([seed, epoch, purpose])
