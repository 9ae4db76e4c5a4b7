"""A prepared corpus → batches by number: the order of an epoch is computed, never read.

    place in the epoch → pair (a permutation of all pairs by seed and epoch) → windows sorted by
    length → batches → their order

An epoch has E places. With weights, a corpus of n pairs and weight w has ⌊w⌋·n places and those of
round((w − ⌊w⌋)·n) of its pairs, others in every epoch. The permutation is TensorFlow's
``index_shuffle``, of all places of all corpora together; ``shuffle_buffer: 0`` keeps their order.
Then, with batches of B pairs:

- paper: windows of batches_read_ahead · B places are sorted by the longer side and cut into rows of
  B, the shortest first.
- bucketed: the same with windows of SORTED_TOGETHER rows, whose order is then shuffled. A row's
  pairs are of one length or of neighbouring ones, so that bucket_width has no effect on it.
- unsorted: rows of the places as they come.
- shuffle_batches: the order of about so many rows, of whole windows, is shuffled.

Of n workers, worker k takes the pairs k, k + n, … of each row. All workers thus have as many
batches, of like lengths, and their batches number i are together the batch number i of one worker.
Where the last row has fewer pairs than there are workers, some get a pair without a target, as
:func:`~rnnsearch_tf.data.batching.share` says.

All of it is a function of (seed, number of the batch), so that a training goes on at any batch at
once. It is a graph of TensorFlow operations without Python in it, and an iterator over it is saved
by tf.train.Checkpoint in a few kilobytes.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import PAD_ID, DataConfig
from rnnsearch_tf.data.batching import single_threaded
from rnnsearch_tf.data.prepared.store import PreparedPairs

SORTED_TOGETHER = 256
"""Batches sorted together under batching: bucketed."""

# what random numbers are drawn for
_ORDER = 0
_BATCHES = 1
_SHARES = 2
_PURPOSES = 3


class NumberedBatches:
    """The batches of a prepared corpus.

    Args:
        pairs: PreparedPairs.
        data: DataConfig.
        seed: int.
        worker, workers: this worker's number from 0, and how many there are.

    Attributes:
        an_epoch: int, batches of an epoch; every worker has as many.
    """

    def __init__(
        self, pairs: PreparedPairs, data: DataConfig, seed: int, worker: int = 0, workers: int = 1
    ):
        self.tables, self.segments = pairs.tables(), _Segments(pairs.sizes)
        self.seed = seed % 2**63
        self.worker = worker
        self.workers = workers
        self.shuffled = data.shuffle_buffer > 1
        self.places = self.segments.places
        self.row = data.batch_size  # pairs of a batch, over all workers
        rows = self.an_epoch = -(-self.places // self.row)
        self.window = min(
            rows,
            {"paper": data.batches_read_ahead, "bucketed": SORTED_TOGETHER, "unsorted": 1}[
                data.batching
            ],
        )
        self.sorted = data.batching != "unsorted"
        windows = max(1, -(-min(data.shuffle_batches, rows) // self.window))
        self.rows_move = data.batching == "bucketed" or data.shuffle_batches > 1
        self.group = windows * self.window  # rows that are found together
        self.groups = -(-rows // self.group)  # of an epoch

    def dataset(self, first: int = 0) -> tf.data.Dataset:
        """The batches from one number on, epoch after epoch, without end.

        Args:
            first: number of the first batch; batch b of epoch e, both from 0, has the number e ·
                an_epoch + b.

        Returns:
            tf.data.Dataset of {"source_ids": int32 [B, J], "target_ids": int32 [B, I]},
            right-padded with PAD_ID.
        """
        epoch, batch = divmod(first, self.an_epoch)
        numbers = tf.data.Dataset.range(
            epoch * self.groups + batch // self.group, np.iinfo(np.int64).max
        )
        return self._batches(numbers, skipped=batch % self.group)

    def epochs(self, first: int = 0) -> tf.data.Dataset:
        """One epoch per iteration, epoch `first` in the first one, later ones counting on; elements
        as of :meth:`dataset`.
        """
        epoch = tf.Variable(first, dtype=tf.int64, trainable=False)
        begun = tf.data.Dataset.from_tensors(0).map(_plain(lambda _: epoch.assign_add(1) - 1))
        numbers = begun.flat_map(
            _plain(lambda e: tf.data.Dataset.range(e * self.groups, (e + 1) * self.groups))
        )
        dataset = self._batches(numbers).apply(
            tf.data.experimental.assert_cardinality(self.an_epoch)
        )
        dataset.epoch = epoch  # a graph holds no variable alive
        return dataset

    def _batches(self, numbers, skipped=0):
        rows = numbers.flat_map(
            _plain(lambda number: tf.data.Dataset.from_tensor_slices(self._rows(number)))
        )
        options = tf.data.Options()
        # They copy what a graph captures: the whole corpus.
        options.experimental_optimization.apply_default_optimizations = False
        return single_threaded(
            rows.skip(skipped).map(_plain(self._batch)).prefetch(4)
        ).with_options(options)

    def _rows(self, number):
        """The pairs of a group's batches: int64 scalar -> int64 [batches, B], −1 where the last
        batch has no more.
        """
        epoch = number // self.groups
        group = number % self.groups
        size = self.group * self.row
        place = group * size + tf.range(size, dtype=tf.int64)
        real = place < self.places
        pair = self._pairs(tf.minimum(place, self.places - 1), epoch)
        pair = tf.reshape(tf.where(real, pair, -1), [-1, self.window * self.row])
        if self.sorted:
            # [windows, pairs, 2]
            lengths = tf.cast(tf.gather(self.tables.lengths, tf.maximum(pair, 0)), tf.int32)
            longer = tf.where(pair < 0, tf.int32.max, tf.reduce_max(lengths, axis=-1))
            pair = tf.gather(pair, tf.argsort(longer, stable=True), batch_dims=1)
        rows = tf.reshape(pair, [self.group, self.row])
        rows = tf.boolean_mask(rows, rows[:, 0] >= 0)
        if self.rows_move:
            rows = tf.random.experimental.stateless_shuffle(
                rows, self._seed(number, _BATCHES), alg="philox"
            )
        if self.workers == 1:
            return rows
        own = rows[:, self.worker :: self.workers] if self.worker < self.row else rows[:, :0]
        # the row's first pair, for a share that is empty
        return tf.concat([own, rows[:, :1]], axis=1)

    def _pairs(self, place, epoch):
        """The pairs at places of an epoch: int64 [n] -> int64 [n]."""
        if self.shuffled:
            place = tf.random.experimental.index_shuffle(
                place, self._seed(epoch, _ORDER), tf.constant(self.places - 1, tf.int64)
            )
        return self.segments.pairs(place, self._seed(epoch, _SHARES))

    def _batch(self, pairs):
        """int64 [B], or [B + 1] of several workers -> the batch of these pairs."""
        if self.workers > 1:
            own = tf.boolean_mask(pairs[:-1], pairs[:-1] >= 0)
            empty = tf.size(own) == 0
            pairs = tf.cond(empty, lambda: pairs[-1:], lambda: own)
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

    def _side(self, begin, lengths):
        """int64 [B], int64 [B] -> int32 [B, longest]."""
        position = tf.range(tf.reduce_max(lengths))[tf.newaxis]
        real = position < lengths[:, tf.newaxis]
        ids = tf.gather(self.tables.ids, tf.where(real, begin[:, tf.newaxis] + position, 0))
        return tf.where(real, tf.cast(ids, tf.int32), PAD_ID)

    def _seed(self, number, purpose):
        """int64 [2]; index_shuffle is not even over seeds that follow one another, so they are
        drawn.
        """
        key = tf.stack([tf.constant(self.seed, tf.int64), number * _PURPOSES + purpose])
        return tf.random.stateless_uniform(
            [2], key, minval=None, maxval=None, dtype=tf.int64, alg="philox"
        )


class _Segments:
    """The places of an epoch, in the order of the corpora: a corpus as often as its weight says,
    then a share of it.

    Args:
        corpora: list of (pairs, weight).
    """

    def __init__(self, corpora):
        # (places, the corpus's first pair, its pairs, whether it is a share)
        segments = []
        first = 0
        for size, weight in corpora:
            whole, share = divmod(weight, 1.0)
            segments += [(size, first, size, False)] * int(whole) + [
                (round(share * size), first, size, True)
            ]
            first += size
        segments = [segment for segment in segments if segment[0]]
        self.places = sum(places for places, *_ in segments)
        self.shares = any(share for *_, share in segments)
        sizes, first, corpus, share = (
            (np.array(column, np.int64) for column in zip(*segments))
            if segments
            else [np.zeros(0, np.int64)] * 4
        )
        self.begin, self.first, self.corpus, self.share = (
            np.cumsum(sizes) - sizes,
            first,
            corpus,
            share.astype(bool),
        )

    def pairs(self, place, seed):
        """The pairs at places: int64 [n] -> int64 [n]."""
        segment = tf.searchsorted(tf.constant(self.begin), place, side="right") - 1
        within = place - tf.gather(self.begin, segment)
        if self.shares:
            drawn = tf.random.experimental.index_shuffle(
                within, seed, tf.gather(self.corpus, segment) - 1
            )
            within = tf.where(tf.gather(self.share, segment), drawn, within)
        return within + tf.gather(self.first, segment)


def _plain(function):
    """Nothing in it needs AutoGraph, which takes seconds."""
    return tf.autograph.experimental.do_not_convert(function)
