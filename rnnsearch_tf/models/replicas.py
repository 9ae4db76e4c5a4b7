"""Sums over the replicas of a ``tf.distribute.MirroredStrategy``.

Every replica has the whole model and a share of every batch. Gradients, and the numbers that the
loss is divided by, are summed over the replicas, so that all of them make the same update.
"""

from __future__ import annotations

from collections.abc import Iterable

import tensorflow as tf


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
