"""Checked pairs → ids → batches, as the tf.data.Datasets of training.

Lines are converted to ids inside tf.data, 512 at a time. A corpus that fits the shuffle buffer is
converted once and kept as ids; a larger one is streamed from its files in every epoch. Either way,
the order of epoch k depends only on the seed and k.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import DataConfig
from rnnsearch_tf.data import batching
from rnnsearch_tf.data.batching import Batch, IdPair
from rnnsearch_tf.data.mixture import mixed
from rnnsearch_tf.data.pairs import SIDES, Pairs, as_pairs
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.text.pipeline import Text

_LINES = 512  # lines tokenized at once
_SIGNATURE = {name: tf.TensorSpec([None, None], tf.int32) for name in ("source_ids", "target_ids")}


def training_dataset(
    source_text: Text,
    target_text: Text,
    pairs: Pairs | Iterable[Any],
    data: DataConfig,
    seed: int,
    epoch: int | Callable[[], int] = 0,
    on_epoch_size: Callable[[int, int], None] | None = None,
) -> tf.data.Dataset:
    """One epoch of training batches per iteration, in a new order each time.

    Pairs longer than data.maximum_source_length or data.maximum_target_length are left out, and
    counted in ``pairs.report.too_long`` at the end of an epoch (of a mixture, in the report of each
    corpus). Memory holds data.shuffle_buffer pairs, however long the files are.

    Args:
        source_text, target_text: Text of each side.
        pairs: the training pairs, Pairs or what ``Pairs(pairs)`` takes; read and checked before
            this returns, unless done before. An epoch of MixedPairs follows the weights.
        data: options of the data.
        seed: seed of the random order.
        epoch: number of the first iteration's epoch, increased by one in each later iteration; or a
            callable that returns it at the start of each iteration.
        on_epoch_size: callback(epoch, batches), called before an epoch's last batch is yielded.

    Returns:
        tf.data.Dataset, finite, of {"source_ids": int32 [B, J], "target_ids": int32 [B, I]},
        right-padded with PAD_ID, every row ending with END_ID.

    Raises:
        UserError: bad lines with on_bad_line "error", unreadable files, or no pair within the
            length limits.
    """
    pairs = as_pairs(pairs, data.on_bad_line)
    pairs.check()
    encoded = [EncodedPairs(source_text, target_text, corpus, data) for corpus, _ in pairs.corpora]
    for corpus in encoded:
        corpus.check_not_empty()
    next_epoch = epoch if callable(epoch) else itertools.count(epoch).__next__

    def batches() -> Iterator[Batch]:
        this_epoch = next_epoch()
        drawn = [
            (ids, corpus.check().kept, weight)
            for ids, (corpus, weight) in zip(encoded, pairs.corpora)
        ]
        together = mixed(drawn, _generator(seed, this_epoch, 2))
        ordered = batching.shuffled(together, data.shuffle_buffer, _generator(seed, this_epoch, 0))
        batches = batching.shuffled(
            _batches(ordered, data), data.shuffle_batches, _generator(seed, this_epoch, 1)
        )
        if on_epoch_size is None:
            return batches
        return _with_size(batches, lambda size: on_epoch_size(this_epoch, size))

    dataset = tf.data.Dataset.from_generator(batches, output_signature=_SIGNATURE)
    return batching.single_threaded(dataset.prefetch(2))


def scoring_batches(
    source_text: Text, target_text: Text, sentences: Sequence[Sequence[str]], batch_size: int
) -> list[Batch]:
    """Batches of all pairs, whatever their length, sorted by length, for scoring.

    Args:
        source_text, target_text: Text of each side.
        sentences: (source sentences, target sentences).
        batch_size: pairs in a batch.

    Returns:
        list of {"source_ids": int32 [B, J], "target_ids": int32 [B, I]}, as in
        :func:`training_dataset`.
    """
    ids = [
        text.encode(tf.constant(side, tf.string)).to_list()
        for text, side in zip((source_text, target_text), sentences)
    ]
    return list(batching.unsorted_batches(sorted(zip(*ids), key=batching.length), batch_size))


class EncodedPairs:
    """Pairs as ids: iterating yields (source ids, target ids), int32 arrays ending with END_ID.

    After the first whole pass, up to data.shuffle_buffer pairs are kept in memory and not encoded
    again.
    """

    def __init__(self, source_text: Text, target_text: Text, pairs: Pairs, data: DataConfig):
        self.source_text = source_text
        self.target_text = target_text
        self.pairs = pairs
        self.keep_limit = data.shuffle_buffer
        self.limits = tf.constant(
            (data.maximum_source_length, data.maximum_target_length), tf.int32
        )
        self.kept: list[IdPair] | None = None
        self.first_pass: Iterator[IdPair] | None = None  # begun by check_not_empty
        lines = tf.TensorSpec([None], tf.string)
        # without AutoGraph, which is not needed and takes seconds
        encode = tf.autograph.experimental.do_not_convert(self._encode)
        self.dataset = batching.single_threaded(
            tf.data.Dataset.from_generator(self._lines, output_signature=(lines, lines))
            .map(encode)
            .prefetch(1)
        )

    def __iter__(self) -> Iterator[IdPair]:
        if self.kept is not None:
            return iter(self.kept)
        first_pass = self.first_pass
        self.first_pass = None
        return first_pass or self._stream()

    def check_not_empty(self) -> None:
        """Raise UserError unless some pair is within the length limits; the next pass continues the
        pass that this starts.
        """
        stream = iter(self)
        first = next(stream, None)
        if first is None:
            names = [self.pairs.name(side) for side in SIDES]
            limits = self.limits.numpy()
            raise UserError(
                f"{names[0]}, {names[1]}: expected pairs of at most {limits[0]} source and"
                f" {limits[1]} target tokens, got none; raise data.maximum_source_length or"
                " data.maximum_target_length"
            )
        self.first_pass = itertools.chain([first], stream)

    def _stream(self) -> Iterator[IdPair]:
        kept: list[IdPair] | None = []
        too_long = 0
        for source, target, dropped in self.dataset.as_numpy_iterator():
            too_long += int(dropped)
            for pair in zip(_rows(*source), _rows(*target)):
                if kept is not None:
                    kept.append(pair)
                    kept = None if len(kept) > self.keep_limit else kept
                yield pair
        self.kept = kept
        if self.pairs.report is not None:
            self.pairs.report.too_long = too_long

    def _lines(self) -> Iterator[tuple[np.ndarray, ...]]:
        pairs = self.pairs.lines()
        while group := list(itertools.islice(pairs, _LINES)):
            yield tuple(np.array(side, dtype=object) for side in zip(*group))

    def _encode(self, source_lines: tf.Tensor, target_lines: tf.Tensor) -> tuple[Any, ...]:
        """Encode lines and drop the pairs beyond the length limits.

        Args:
            source_lines, target_lines: string [L].

        Returns:
            (flat ids, row lengths) of the source side; the same of the target side; the number of
            pairs dropped.
        """
        ids = [self.source_text.encode(source_lines), self.target_text.encode(target_lines)]
        # [L, 2]
        lengths = tf.cast(tf.stack([side.row_lengths() for side in ids], axis=1), tf.int32)
        fits = tf.reduce_all(lengths - 1 <= self.limits, axis=1)  # END_ID is not counted
        kept = [tf.ragged.boolean_mask(side, fits) for side in ids]
        return (
            *((side.flat_values, side.row_lengths()) for side in kept),
            tf.reduce_sum(tf.cast(~fits, tf.int32)),
        )


def _rows(ids: np.ndarray, lengths: np.ndarray) -> list[np.ndarray]:
    """The ids of each sentence of one side."""
    return np.split(ids, np.cumsum(lengths)[:-1]) if len(lengths) else []


def _batches(pairs: Iterable[IdPair], data: DataConfig) -> Iterator[Batch]:
    if data.batching == "paper":
        return batching.paper_batches(pairs, data.batch_size, data.batches_read_ahead)
    if data.batching == "bucketed":
        return batching.bucketed_batches(pairs, data.batch_size, data.bucket_width)
    return batching.unsorted_batches(pairs, data.batch_size)


def _with_size(batches: Iterator[Batch], on_size: Callable[[int], None]) -> Iterator[Batch]:
    """Yield the batches; call `on_size` with their number before the last one."""
    number = 0
    waiting: Batch = {}
    for batch in batches:
        if number:
            yield waiting
        number = number + 1
        waiting = batch
    if number:
        on_size(number)
        yield waiting


def _generator(seed: int, epoch: int, purpose: int) -> np.random.Generator:
    return np.random.default_rng([seed, epoch, purpose])
