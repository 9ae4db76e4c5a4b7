"""Pairs of ids, in some order → padded batches: the paper's scheme, buckets of like length, or as
they come.

Everything here streams: at most the pairs of one read-ahead, one shuffle buffer
or the open buckets are held. A pair is (source ids, target ids), two int32
arrays of any length, the end symbol included, and where the corpus has some, links of their
tokens, int32 [links, 2]; a batch is a dictionary of two right-padded int32 arrays, [B, J] and [B,
I], and of the links float32 [B, I, J].
"""

import collections
import itertools

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.alignment.tokens import alignment_matrix
from rnnsearch_tf.text.pipeline import padded
from rnnsearch_tf.text.vocabulary import batches


def shuffled(items, buffer_size, generator):
    """Yield the items in random order, with `buffer_size` of them in memory.

    The next item is drawn from the buffer, and its place taken by the next one
    read: an even shuffle of everything if everything fits, a local one if not.

    Args:
        items: iterable.
        buffer_size: int; 0 or 1 keeps the order.
        generator: numpy.random.Generator, which alone decides the order.
    """
    if buffer_size <= 1:
        yield from items
        return
    items = iter(items)
    buffer = list(itertools.islice(items, buffer_size))
    for item in items:
        place = int(generator.integers(len(buffer)))
        drawn = buffer[place]
        buffer[place] = item
        yield drawn
    for place in generator.permutation(len(buffer)):
        yield buffer[place]


def batch_of(pairs) -> dict[str, np.ndarray]:
    """The batch of these pairs, both sides filled up with PAD_ID on the right; of links see
    :func:`alignment_matrix`.

    Example:
        >>> pairs = [(np.array([5, 1]), np.array([1])), (np.array([1]), np.array([7, 1]))]
        >>> batch_of(pairs)["source_ids"].tolist()
        [[5, 1], [1, 0]]
    """
    sources, targets, *links = zip(*pairs)
    batch = {"source_ids": padded(sources), "target_ids": padded(targets)}
    if links:
        batch["links"] = alignment_matrix(
            links[0], batch["source_ids"].shape[1], batch["target_ids"].shape[1]
        )
    return batch


def share(batch, worker: int, workers: int) -> dict[str, tf.Tensor]:
    """A worker's rows of a batch: the worker-th and every workers-th after it, without columns that
    only pad them.

    A worker whose share is empty gets the batch's first source with a target of one padding, which
    is no sentence and has no word: it adds nothing, and all workers have as many batches.

    Args:
        batch: {"source_ids": int32 [B, J], "target_ids": int32 [B, I]}, with ``links`` float32 [B,
            I, J] and ``sample_weight`` float [B] or [B, I], or without; B at least 1.
        worker, workers: this worker's number from 0, and how many there are.

    Example:
        >>> batch = {
        ...     "source_ids": tf.constant([[5, 1, 0], [6, 7, 1]]),
        ...     "target_ids": tf.constant([[8, 1, 0], [8, 9, 1]]),
        ... }
        >>> [share(batch, worker, 3)["target_ids"].numpy().tolist() for worker in range(3)]
        [[[8, 1]], [[8, 9, 1]], [[0]]]
    """
    empty = tf.shape(batch["source_ids"])[0] <= worker
    rows = {
        name: tf.cond(empty, lambda ids=ids: ids[:1], lambda ids=ids: ids[worker::workers])
        for name, ids in batch.items()
    }

    def longest(ids):
        return tf.reduce_max(tf.math.count_nonzero(ids != PAD_ID, axis=1, dtype=tf.int32))

    source = rows["source_ids"]
    target = rows["target_ids"]
    target = tf.where(empty, tf.zeros_like(target), target)[
        :, : tf.where(empty, 1, longest(target))
    ]
    source = source[:, : longest(source)]
    rows |= {"source_ids": source, "target_ids": target}
    if "links" in rows:
        rows["links"] = rows["links"][:, : tf.shape(target)[1], : tf.shape(source)[1]]
    if "sample_weight" in rows and rows["sample_weight"].shape.rank == 2:
        rows["sample_weight"] = rows["sample_weight"][:, : tf.shape(target)[1]]
    return rows


def shares(dataset: tf.data.Dataset, count: int) -> tf.data.Dataset:
    """The shares of every batch one after the other, as :func:`share` makes them, for the replicas
    of a MirroredStrategy.
    """

    def split(batch):
        one, *others = (
            tf.data.Dataset.from_tensors(share(batch, number, count)) for number in range(count)
        )
        for other in others:
            one = one.concatenate(other)
        return one

    return dataset.flat_map(tf.autograph.experimental.do_not_convert(split))


def length(pair) -> int:
    """What pairs are sorted and bucketed by: the longer of the two sides."""
    return max(len(pair[0]), len(pair[1]))


def unsorted_batches(pairs, batch_size):
    """Batches of the pairs in the order they come; the last may be smaller."""
    for group in batches(pairs, batch_size):
        yield batch_of(group)


def paper_batches(pairs, batch_size, batches_read_ahead):
    """The scheme of Bahdanau et al. 2015, Appendix B.2: sort what is read ahead, cut, shortest
    batch first.

    "We sorted 1600 pairs by length and split them into 20 minibatches"; length
    and order as in the authors' program: by the longer side, pairs of like
    length in the order they came.
    """
    for group in batches(pairs, batch_size * batches_read_ahead):
        yield from unsorted_batches(sorted(group, key=length), batch_size)


def bucketed_batches(pairs, batch_size, bucket_width):
    """Batches whose pairs are of like length, each as soon as it is full; smaller ones at the end,
    shortest first.

    The batches of tf.data's ``bucket_by_sequence_length``, which meets every pair in TensorFlow and
    takes twenty times as long.

    Args:
        pairs: iterable of (source ids, target ids).
        batch_size: int.
        bucket_width: int; bucket k holds the pairs of length k·width + 1 to (k + 1)·width.
    """
    buckets = collections.defaultdict(list)
    for pair in pairs:
        number = (length(pair) - 1) // bucket_width
        buckets[number].append(pair)
        if len(buckets[number]) == batch_size:
            yield batch_of(buckets.pop(number))
    for number in sorted(buckets):
        yield batch_of(buckets[number])


def single_threaded(dataset):
    """The dataset, kept to one thread of its own so that the training step has the cores."""
    options = tf.data.Options()
    options.deterministic = True
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    options.autotune.enabled = False
    return dataset.with_options(options)
