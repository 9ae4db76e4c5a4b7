"""A prepared corpus → batches by number: the order of an epoch is computed, not stored.

    position in the epoch → pair (a permutation of all pairs by seed and epoch) → windows sorted by
    length → batches → their order

An epoch has E positions. With weights, a corpus of n pairs and weight w has ⌊w⌋·n positions, and
round((w − ⌊w⌋)·n) more for pairs that are drawn in each epoch. The permutation is TensorFlow's
``index_shuffle`` over the positions of all corpora; ``shuffle_buffer: 0`` keeps their order. Then,
with batches of B pairs:

- paper: windows of batches_read_ahead · B positions are sorted by the longer side and split into
  rows of B, shortest first.
- bucketed: the same with windows of WINDOW_ROWS rows, whose order is then shuffled. The pairs of a
  row have the same length or neighbouring lengths, so bucket_width has no effect.
- unsorted: rows of consecutive positions.
- shuffle_batches: the order of about this many rows, in whole windows, is shuffled.

With n workers, worker k takes the pairs k, k + n, … of each row. So all workers have the same
number of batches, of similar length, and their i-th batches together are the i-th batch of one
worker. If the last row has fewer pairs than there are workers, some get a pair without a target,
see :func:`~rnnsearch_tf.data.batching.share`.

Everything is a function of (seed, number of the batch), so training can resume at any batch at
once. It is a graph of TensorFlow operations without Python, and tf.train.Checkpoint saves its
iterator in a few kilobytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import PAD_ID, DataConfig
from rnnsearch_tf.data.batching import single_threaded
from rnnsearch_tf.data.prepared.store import PreparedPairs

WINDOW_ROWS = 256
"""Batches that are sorted together with batching: bucketed."""

# runs a function without AutoGraph, which is not needed and takes seconds
_plain = tf.autograph.experimental.do_not_convert

# purposes of random numbers
_ORDER = 0
_BATCHES = 1
_SHARES = 2
_PURPOSES = 3


class NumberedBatches:
    """The batches of a prepared corpus.

    Args:
        pairs: the prepared corpus.
        data: options of the data.
        seed: seed of the random order.
        worker: number of this worker, from 0.
        workers: number of workers.

    Attributes:
        batches_per_epoch: batches of an epoch, the same for every worker.
    """

    def __init__(
        self, pairs: PreparedPairs, data: DataConfig, seed: int, worker: int = 0, workers: int = 1
    ):
        self.tables = pairs.tables()
        self.segments = _Segments(pairs.sizes)
        self.seed = seed % 2**63
        self.worker = worker
        self.workers = workers
        self.shuffled = data.shuffle_buffer > 1
        self.positions = self.segments.positions
        self.batch_size = data.batch_size  # pairs of a batch, over all workers
        rows = -(-self.positions // self.batch_size)
        self.batches_per_epoch = rows
        window_rows = {"paper": data.batches_read_ahead, "bucketed": WINDOW_ROWS, "unsorted": 1}
        self.window = min(rows, window_rows[data.batching])
        self.sorted = data.batching != "unsorted"
        windows = max(1, -(-min(data.shuffle_batches, rows) // self.window))
        self.rows_move = data.batching == "bucketed" or data.shuffle_batches > 1
        self.group = windows * self.window  # rows computed together
        self.groups = -(-rows // self.group)  # of an epoch

    def dataset(self, first: int = 0) -> tf.data.Dataset:
        """An endless dataset of the batches from a given number on.

        Args:
            first: number of the first batch; batch b of epoch e, both from 0, has the number e ·
                batches_per_epoch + b.

        Returns:
            tf.data.Dataset of {"source_ids": int32 [B, J], "target_ids": int32 [B, I]},
            right-padded with PAD_ID.
        """
        epoch, batch = divmod(first, self.batches_per_epoch)
        numbers = tf.data.Dataset.range(
            epoch * self.groups + batch // self.group, np.iinfo(np.int64).max
        )
        return self._batches(numbers, skipped=batch % self.group)

    def epochs(self, first: int = 0) -> tf.data.Dataset:
        """A dataset of one epoch per iteration, starting with epoch `first`; elements as in
        :meth:`dataset`.
        """
        epoch = tf.Variable(first, dtype=tf.int64, trainable=False)
        current = tf.data.Dataset.from_tensors(0).map(_plain(lambda _: epoch.assign_add(1) - 1))
        numbers = current.flat_map(
            _plain(lambda e: tf.data.Dataset.range(e * self.groups, (e + 1) * self.groups))
        )
        dataset = self._batches(numbers).apply(
            tf.data.experimental.assert_cardinality(self.batches_per_epoch)
        )
        dataset.epoch = epoch  # a graph does not keep its variables alive
        return dataset

    def _batches(self, numbers: tf.data.Dataset, skipped: int = 0) -> tf.data.Dataset:
        """The batches of numbered groups, without the first `skipped`."""
        rows = numbers.flat_map(
            _plain(lambda number: tf.data.Dataset.from_tensor_slices(self._rows(number)))
        )
        options = tf.data.Options()
        # Default optimizations would copy what a graph captures: the whole corpus.
        options.experimental_optimization.apply_default_optimizations = False
        return single_threaded(
            rows.skip(skipped).map(_plain(self._batch)).prefetch(4)
        ).with_options(options)

    def _rows(self, number: tf.Tensor) -> tf.Tensor:
        """The pairs of a group's batches: int64 scalar -> int64 [batches, B], padded with −1 in the
        last batch.
        """
        epoch = number // self.groups
        group = number % self.groups
        size = self.group * self.batch_size
        position = group * size + tf.range(size, dtype=tf.int64)
        real = position < self.positions
        pair = self._pairs(tf.minimum(position, self.positions - 1), epoch)
        pair = tf.reshape(tf.where(real, pair, -1), [-1, self.window * self.batch_size])
        if self.sorted:
            # [windows, pairs, 2]
            lengths = tf.cast(tf.gather(self.tables.lengths, tf.maximum(pair, 0)), tf.int32)
            longer = tf.where(pair < 0, tf.int32.max, tf.reduce_max(lengths, axis=-1))
            pair = tf.gather(pair, tf.argsort(longer, stable=True), batch_dims=1)
        rows = tf.reshape(pair, [self.group, self.batch_size])
        rows = tf.boolean_mask(rows, rows[:, 0] >= 0)
        if self.rows_move:
            rows = tf.random.experimental.stateless_shuffle(
                rows, self._seed(number, _BATCHES), alg="philox"
            )
        if self.workers == 1:
            return rows
        share = (
            rows[:, self.worker :: self.workers] if self.worker < self.batch_size else rows[:, :0]
        )
        # the row's first pair is used if the share is empty
        return tf.concat([share, rows[:, :1]], axis=1)

    def _pairs(self, position: tf.Tensor, epoch: tf.Tensor) -> tf.Tensor:
        """The pairs at positions of an epoch: int64 [n] -> int64 [n]."""
        if self.shuffled:
            position = tf.random.experimental.index_shuffle(
                position, self._seed(epoch, _ORDER), tf.constant(self.positions - 1, tf.int64)
            )
        return self.segments.pairs(position, self._seed(epoch, _SHARES))

    def _batch(self, pairs: tf.Tensor) -> dict[str, tf.Tensor]:
        """The batch of a row of pairs, int64 [B], or [B + 1] with several workers."""
        if self.workers > 1:
            share = tf.boolean_mask(pairs[:-1], pairs[:-1] >= 0)
            empty = tf.size(share) == 0
            pairs = tf.cond(empty, lambda: pairs[-1:], lambda: share)
        else:
            pairs = tf.boolean_mask(pairs, pairs >= 0)
            empty = False
        lengths = tf.cast(tf.gather(self.tables.lengths, pairs), tf.int64)
        begin = tf.gather(self.tables.offsets, pairs)
        source = self._side(begin, lengths[:, 0])
        begin = begin + lengths[:, 0]
        lengths = tf.where(empty, tf.constant(1, tf.int64), lengths[:, 1])
        return {
            "source_ids": source,
            "target_ids": tf.where(empty, PAD_ID, self._side(begin, lengths)),
        }

    def _side(self, begin: tf.Tensor, lengths: tf.Tensor) -> tf.Tensor:
        """The padded ids of one side: int64 [B], int64 [B] -> int32 [B, longest]."""
        position = tf.range(tf.reduce_max(lengths))[tf.newaxis]
        real = position < lengths[:, tf.newaxis]
        ids = tf.gather(self.tables.ids, tf.where(real, begin[:, tf.newaxis] + position, 0))
        return tf.where(real, tf.cast(ids, tf.int32), PAD_ID)

    def _seed(self, number: tf.Tensor, purpose: int) -> tf.Tensor:
        """A seed, int64 [2]. It is drawn, because index_shuffle is not uniform over consecutive
        seeds.
        """
        key = tf.stack([tf.constant(self.seed, tf.int64), number * _PURPOSES + purpose])
        return tf.random.stateless_uniform(
            [2], key, minval=None, maxval=None, dtype=tf.int64, alg="philox"
        )


class _Segments:
    """The positions of an epoch, in the order of the corpora: each corpus as often as the whole
    part of its weight, then a share of it for the fractional part.

    Args:
        corpora: (pairs, weight) of each corpus.
    """

    def __init__(self, corpora: Sequence[tuple[int, float]]):
        # (positions, first pair of the corpus, pairs of the corpus, whether it is a share)
        segments = []
        first = 0
        for size, weight in corpora:
            whole, share = divmod(weight, 1.0)
            segments += [(size, first, size, False)] * int(whole) + [
                (round(share * size), first, size, True)
            ]
            first += size
        segments = [segment for segment in segments if segment[0]]
        self.positions = sum(positions for positions, *_ in segments)
        self.shares = any(share for *_, share in segments)
        columns = np.array(segments, np.int64).reshape(-1, 4).T
        sizes, self.first, self.corpus, is_share = (np.ascontiguousarray(c) for c in columns)
        self.begin = np.cumsum(sizes) - sizes
        self.share = is_share.astype(bool)

    def pairs(self, position: tf.Tensor, seed: tf.Tensor) -> tf.Tensor:
        """The pairs at positions: int64 [n] -> int64 [n]."""
        segment = tf.searchsorted(tf.constant(self.begin), position, side="right") - 1
        within = position - tf.gather(self.begin, segment)
        if self.shares:
            drawn = tf.random.experimental.index_shuffle(
                within, seed, tf.gather(self.corpus, segment) - 1
            )
            within = tf.where(tf.gather(self.share, segment), drawn, within)
        return within + tf.gather(self.first, segment)
