"""Rows of ids → padded batches. Every batch is a function of seed, epoch and number.

The order of an epoch is computed in NumPy; tf.data reads, pads and prefetches. To resume a training
nothing else has to be kept than the epoch and the number of its next batch.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import DataConfig
from rnnsearch_tf.data.ids import Ids, encode
from rnnsearch_tf.data.pairs import SIDES, Pair, Pairs, as_pairs
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.text.pipeline import Text

WINDOW = {"paper": 20, "bucketed": 256}
"""Batches that are sorted by length together. 20: Bahdanau et al. 2015, Appendix B.2, where 1,600
pairs make 20 batches. Departure: the paper shuffles once before training, here every epoch is
shuffled.
"""

Batch = dict[str, tf.Tensor]
"""{"source_ids": int32 [B, J], "target_ids": int32 [B, I]}, right-padded with PAD_ID, every row
ending with END_ID.
"""


class Batches:
    """The batches of a training.

    A file of weight 2 is read twice an epoch, one of weight 0.25 to a quarter, drawn anew for every
    epoch.

    Args:
        batching: "paper": windows of 20 batches, each sorted by the length of the longer side,
            shortest first; "bucketed": pairs of similar length together, the batches in random
            order; "unsorted": in random order.
        batch_size: pairs in a batch; the last of an epoch may have fewer.
        seed: seed of the order.

    Attributes:
        per_epoch: batches in an epoch.

    Raises:
        UserError: the weights leave no pair in an epoch.
    """

    def __init__(self, ids: Ids, batching: str, batch_size: int, seed: int) -> None:
        self.ids = ids
        self.batching = batching
        self.batch_size = batch_size
        self.seed = seed
        self._lengths = ids.lengths()
        # the (rows, order of the batches) of the epoch that was asked for last
        self._order = functools.lru_cache(maxsize=1)(self._order_of)
        rows = len(self._weighted_rows(np.random.default_rng(seed)))
        if not rows:
            found = " + ".join(
                f"{weight:g} of {size:,}" for size, weight in zip(ids.part_sizes, self.ids.weights)
            )
            raise UserError(
                "data.train_weights: expected weights that give an epoch at least one pair, got"
                f" {found} pairs; choose larger ones"
            )
        self.per_epoch = -(-rows // batch_size)

    def rows(self, epoch: int, number: int) -> np.ndarray:
        """Rows of the ids, int64 [B], of batch `number` of an epoch; both from 0."""
        order, batches = self._order(int(epoch))
        start = int(batches[number]) * self.batch_size
        return order[start : start + self.batch_size]

    def batch(self, epoch: int, number: int) -> tuple[np.ndarray, np.ndarray]:
        """(source ids int32 [B, J], target ids int32 [B, I]) of batch `number` of an epoch."""
        return self.ids.batch(self.rows(epoch, number))

    def dataset(self) -> tf.data.Dataset:
        """One whole epoch of :data:`Batch` an iteration, one after the other."""
        epochs = itertools.count()
        batches = self._read(lambda: iter([(next(epochs), 0)]))
        return batches.apply(tf.data.experimental.assert_cardinality(self.per_epoch))

    def stream(self, epoch: int, number: int) -> tf.data.Dataset:
        """All batches from batch `number` of an epoch on, one epoch after the other, without
        end.
        """

        def begins() -> Iterator[tuple[int, int]]:
            later = ((each, 0) for each in itertools.count(epoch + 1))
            return itertools.chain([(epoch, number)], later)

        return self._read(begins)

    def _read(self, begins: Callable[[], Iterator[tuple[int, int]]]) -> tf.data.Dataset:
        """The rest of each epoch from (epoch, number of the first batch) on."""

        @tf.autograph.experimental.do_not_convert
        def read(epoch: tf.Tensor, number: tf.Tensor) -> Batch:
            ids = tf.numpy_function(self.batch, [epoch, number], [tf.int32] * 2, stateful=False)
            return {
                f"{name}_ids": tf.ensure_shape(side, [None, None]) for name, side in zip(SIDES, ids)
            }

        @tf.autograph.experimental.do_not_convert
        def rest_of_epoch(epoch: tf.Tensor, first: tf.Tensor) -> tf.data.Dataset:
            numbers = tf.data.Dataset.range(first, self.per_epoch)
            return numbers.map(lambda number: read(epoch, number))

        number = tf.TensorSpec([], tf.int64)
        options = tf.data.Options()  # one thread leaves the cores to the update
        options.threading.private_threadpool_size = 1
        options.threading.max_intra_op_parallelism = 1
        options.autotune.enabled = False
        return (
            tf.data.Dataset.from_generator(begins, output_signature=(number, number))
            .flat_map(rest_of_epoch)
            .prefetch(2)
            .with_options(options)
        )

    def _order_of(self, epoch: int) -> tuple[np.ndarray, np.ndarray]:
        random = np.random.default_rng([self.seed, epoch])
        order = self._weighted_rows(random)
        random.shuffle(order)
        if self.batching in WINDOW:
            window = WINDOW[self.batching] * self.batch_size
            for start in range(0, len(order), window):
                rows = order[start : start + window]
                # stable: pairs of one length stay in random order
                order[start : start + window] = rows[np.argsort(self._lengths[rows], kind="stable")]
        batches = np.arange(self.per_epoch)
        if self.batching == "bucketed":
            random.shuffle(batches)
        return order, batches

    def _weighted_rows(self, random: np.random.Generator) -> np.ndarray:
        """The rows of an epoch in their order, each as often as its weight says."""
        rows = []
        start = 0
        for size, weight in zip(self.ids.part_sizes, self.ids.weights):
            whole = int(weight)
            rows += [np.arange(start, start + size)] * whole
            if drawn := round((weight - whole) * size):
                rows.append(start + random.choice(size, drawn, replace=False))
            start += size
        return np.concatenate([np.arange(0), *rows])


def training_dataset(
    source_text: Text,
    target_text: Text,
    pairs: Pairs | Iterable[Pair],
    data: DataConfig,
    seed: int = 1,
) -> tf.data.Dataset:
    """One epoch of training batches an iteration, in a new order each time, for ``model.fit``.

    Args:
        source_text, target_text: Text of each side.
        pairs: Pairs, or an iterable of (source, target) strings; encoded before this returns.
        data: options of the data; `held_out` is of ``rt.train`` alone. For development pairs set
            ``variants`` to 0.
        seed: seed of the order and of the variants.

    Returns:
        tf.data.Dataset, finite, of :data:`Batch`.

    Raises:
        UserError: as of :class:`~rnnsearch_tf.data.pairs.Pairs`, or no pair is short enough.
    """
    pairs = as_pairs(pairs)
    ids = encode(pairs, (source_text, target_text), data.maximum_length, data.variants, seed)
    return Batches(ids, data.batching, data.batch_size, seed).dataset()
