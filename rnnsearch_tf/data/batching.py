"""Pairs of ids → padded batches: the paper's scheme, buckets of similar length, or in the order of
the pairs.

Everything here streams; memory holds the pairs of one read-ahead, one shuffle buffer, or the open
buckets.
"""

from __future__ import annotations

import collections
import itertools
from collections.abc import Iterable, Iterator
from typing import TypeVar

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.text.vocabulary import batches, padded

IdPair = tuple[np.ndarray, ...]
"""(source ids, target ids), int32 arrays including the end symbol."""

Batch = dict[str, np.ndarray]
"""{"source_ids": int32 [B, J], "target_ids": int32 [B, I]}, right-padded."""

Item = TypeVar("Item")


def shuffled(
    items: Iterable[Item], buffer_size: int, generator: np.random.Generator
) -> Iterator[Item]:
    """Yield the items in random order, with a buffer of `buffer_size` items.

    The next item is drawn from the buffer and replaced by the next one read: a uniform shuffle if
    everything fits, a local one otherwise.

    Args:
        items: the items to shuffle.
        buffer_size: 0 or 1 keeps the order.
        generator: the only source of randomness.
    """
    if buffer_size <= 1:
        yield from items
        return
    stream = iter(items)
    buffer = list(itertools.islice(stream, buffer_size))
    for item in stream:
        place = int(generator.integers(len(buffer)))
        drawn = buffer[place]
        buffer[place] = item
        yield drawn
    for place in generator.permutation(len(buffer)):
        yield buffer[place]


def padded_batch(pairs: Iterable[IdPair]) -> Batch:
    """The pairs as one batch, right-padded with PAD_ID.

    Example:
        >>> pairs = [(np.array([5, 1]), np.array([1])), (np.array([1]), np.array([7, 1]))]
        >>> padded_batch(pairs)["source_ids"].tolist()
        [[5, 1], [1, 0]]
    """
    sources, targets = zip(*pairs)
    return {"source_ids": padded(sources), "target_ids": padded(targets)}


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


def length(pair: IdPair) -> int:
    """The sort key of pairs: the length of the longer side."""
    return max(len(pair[0]), len(pair[1]))


def unsorted_batches(pairs: Iterable[IdPair], batch_size: int) -> Iterator[Batch]:
    """Batches of the pairs in their order; the last may be smaller."""
    for group in batches(pairs, batch_size):
        yield padded_batch(group)


def paper_batches(
    pairs: Iterable[IdPair], batch_size: int, batches_read_ahead: int
) -> Iterator[Batch]:
    """The scheme of Bahdanau et al. 2015, Appendix B.2: sort the pairs of one read-ahead and split
    them into batches, shortest first.

    "We sorted 1600 pairs by length and split them into 20 minibatches". As in the authors' program,
    the length is that of the longer side, and the sort is stable.
    """
    for group in batches(pairs, batch_size * batches_read_ahead):
        yield from unsorted_batches(sorted(group, key=length), batch_size)


def bucketed_batches(
    pairs: Iterable[IdPair], batch_size: int, bucket_width: int
) -> Iterator[Batch]:
    """Batches of pairs of similar length, yielded as soon as they are full; incomplete ones at the
    end, shortest first.

    The batches are those of tf.data's ``bucket_by_sequence_length``, which takes twenty times as
    long because it handles each pair in TensorFlow.

    Args:
        pairs: the pairs to batch.
        batch_size: pairs in a batch.
        bucket_width: bucket k holds the pairs of length k·width + 1 to (k + 1)·width.
    """
    buckets: dict[int, list[IdPair]] = collections.defaultdict(list)
    for pair in pairs:
        number = (length(pair) - 1) // bucket_width
        buckets[number].append(pair)
        if len(buckets[number]) == batch_size:
            yield padded_batch(buckets.pop(number))
    for number in sorted(buckets):
        yield padded_batch(buckets[number])


def single_threaded(dataset: tf.data.Dataset) -> tf.data.Dataset:
    """The dataset with one private thread, which leaves the cores to the training step."""
    options = tf.data.Options()
    options.deterministic = True
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    options.autotune.enabled = False
    return dataset.with_options(options)
