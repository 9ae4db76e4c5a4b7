"""Shares of a batch, and sums over the replicas of a ``tf.distribute.MirroredStrategy``.

Every replica has the whole model and a share of every batch. Gradients, and the numbers that the
loss is divided by, are summed over the replicas, so that all of them make the same update.
"""

from __future__ import annotations

from collections.abc import Iterable

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID


def replica_count() -> int:
    """Number of replicas of the current strategy; 1 without one."""
    return tf.distribute.get_strategy().num_replicas_in_sync


def sum_counts(*numbers: tf.Tensor) -> list[tf.Tensor]:
    """Sum integers of a batch, int32 scalars, over all replicas."""
    if replica_count() == 1:
        return list(numbers)
    # int32 has no GPU kernels
    sums = sum_over_replicas(tf.cast(number, tf.float64) for number in numbers)
    return [tf.cast(total, tf.int32) for total in sums]


def sum_over_replicas(tensors: Iterable[tf.Tensor | tf.IndexedSlices]) -> list[tf.Tensor]:
    """Sum the tensors of an update over all replicas. The result of tf.IndexedSlices is a dense
    tensor.
    """
    tensors = [tf.convert_to_tensor(tensor) for tensor in tensors]
    if replica_count() == 1:
        return tensors
    return tf.distribute.get_replica_context().all_reduce(tf.distribute.ReduceOp.SUM, tensors)


def share(batch: dict[str, tf.Tensor], number: int, count: int) -> dict[str, tf.Tensor]:
    """A replica's rows of a batch: every count-th from the number-th, without columns that are only
    padding.

    If a replica's share is empty, it gets the first source with a target of one padding id, which
    adds nothing to the loss; so all replicas have the same number of batches.

    Args:
        batch: {"source_ids": int32 [B, J], "target_ids": int32 [B, I]}, optionally
            ``sample_weight`` float [B] or [B, I]; B at least 1.
        number: number of the replica, from 0.
        count: number of replicas.

    Example:
        >>> batch = {
        ...     "source_ids": tf.constant([[5, 1, 0], [6, 7, 1]]),
        ...     "target_ids": tf.constant([[8, 1, 0], [8, 9, 1]]),
        ... }
        >>> [share(batch, number, 3)["target_ids"].numpy().tolist() for number in range(3)]
        [[[8, 1]], [[8, 9, 1]], [[0]]]
    """
    empty = tf.shape(batch["source_ids"])[0] <= number
    rows = {
        name: tf.cond(empty, lambda ids=ids: ids[:1], lambda ids=ids: ids[number::count])
        for name, ids in batch.items()
    }

    def longest(ids: tf.Tensor) -> tf.Tensor:
        return tf.reduce_max(tf.math.count_nonzero(ids != PAD_ID, axis=1, dtype=tf.int32))

    source = rows["source_ids"]
    target = rows["target_ids"]
    target = tf.where(empty, tf.zeros_like(target), target)[
        :, : tf.where(empty, 1, longest(target))
    ]
    source = source[:, : longest(source)]
    rows |= {"source_ids": source, "target_ids": target}
    if "sample_weight" in rows and rows["sample_weight"].shape.rank == 2:
        rows["sample_weight"] = rows["sample_weight"][:, : tf.shape(target)[1]]
    return rows


def shares(dataset: tf.data.Dataset, count: int) -> tf.data.Dataset:
    """The shares of each batch (see :func:`share`) one after the other, for the replicas of a
    MirroredStrategy.
    """

    def split(batch: dict[str, tf.Tensor]) -> tf.data.Dataset:
        first, *others = (
            tf.data.Dataset.from_tensors(share(batch, number, count)) for number in range(count)
        )
        for other in others:
            first = first.concatenate(other)
        return first

    return dataset.flat_map(tf.autograph.experimental.do_not_convert(split))
