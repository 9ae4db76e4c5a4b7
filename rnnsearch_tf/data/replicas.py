"""The share of each replica in a batch, so that several GPUs see the batches of a single one."""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID


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
