"""Pairs of ids, in some order → padded batches: the paper's scheme, buckets of like length, or as they come.

Everything here streams: at most the pairs of one read-ahead, one shuffle buffer
or the open buckets are held. A pair is (source ids, target ids), two int32
arrays of any length, the end symbol included; a batch is a dictionary of two
right-padded int32 arrays, [B, J] and [B, I].
"""

import itertools

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import PAD_ID

_CHUNK = 512  # pairs handed to TensorFlow at once


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
        buffer[place], drawn = item, buffer[place]
        yield drawn
    for place in generator.permutation(len(buffer)):
        yield buffer[place]


def padded(pairs) -> dict[str, np.ndarray]:
    """The batch of these pairs, both sides filled up with PAD_ID on the right.

    Example:
        >>> padded([(np.array([5, 1]), np.array([1])), (np.array([1]), np.array([7, 1]))])["source_ids"].tolist()
        [[5, 1], [1, 0]]
    """
    batch = {}
    for side, name in enumerate(("source_ids", "target_ids")):
        longest = max(len(pair[side]) for pair in pairs)
        batch[name] = np.full((len(pairs), longest), PAD_ID, np.int32)
        for row, pair in zip(batch[name], pairs):
            row[: len(pair[side])] = pair[side]
    return batch


def length(pair) -> int:
    """What pairs are sorted and bucketed by: the longer of the two sides."""
    return max(len(pair[0]), len(pair[1]))


def unsorted_batches(pairs, batch_size):
    """Batches of the pairs in the order they come; the last may be smaller."""
    pairs = iter(pairs)
    while group := list(itertools.islice(pairs, batch_size)):
        yield padded(group)


def paper_batches(pairs, batch_size, batches_read_ahead):
    """The scheme of Bahdanau et al. 2015, Appendix B.2: sort what is read ahead, cut, shortest batch first.

    "We sorted 1600 pairs by length and split them into 20 minibatches"; length
    and order as in the authors' program: by the longer side, pairs of like
    length in the order they came.
    """
    pairs = iter(pairs)
    while group := list(itertools.islice(pairs, batch_size * batches_read_ahead)):
        yield from unsorted_batches(sorted(group, key=length), batch_size)


def bucketed_batches(pairs, batch_size, bucket_width, maximum_length):
    """Batches whose pairs are of like length, by tf.data's bucket_by_sequence_length; smaller ones at the end.

    Args:
        pairs: iterable of (source ids, target ids).
        batch_size: int.
        bucket_width: int; bucket k holds the pairs of length k·width + 1 to (k + 1)·width.
        maximum_length: int; no pair is longer, end symbol counted.
    """
    boundaries = list(range(bucket_width + 1, maximum_length + 1, bucket_width)) or [bucket_width + 1]
    dataset = tf.data.Dataset.from_generator(lambda: _chunks(pairs), output_signature=(_IDS,) * 4)
    dataset = dataset.flat_map(_unchunk).bucket_by_sequence_length(
        lambda source_ids, target_ids: tf.maximum(tf.size(source_ids), tf.size(target_ids)),
        bucket_boundaries=boundaries, bucket_batch_sizes=[batch_size] * (len(boundaries) + 1),
        padding_values=PAD_ID,
    )
    for source_ids, target_ids in sparing(dataset).as_numpy_iterator():
        yield {"source_ids": source_ids, "target_ids": target_ids}


_IDS = tf.TensorSpec([None], tf.int32)


def _chunks(pairs):
    """Runs of pairs as flat arrays: source ids, source lengths, target ids, target lengths."""
    pairs = iter(pairs)
    while group := list(itertools.islice(pairs, _CHUNK)):
        flat = []
        for side in (0, 1):
            flat.append(np.concatenate([pair[side] for pair in group]))
            flat.append(np.array([len(pair[side]) for pair in group], np.int32))
        yield tuple(flat)


def _unchunk(source_ids, source_lengths, target_ids, target_lengths):
    source = tf.RaggedTensor.from_row_lengths(source_ids, source_lengths)
    target = tf.RaggedTensor.from_row_lengths(target_ids, target_lengths)
    return tf.data.Dataset.range(source.nrows(tf.int64)).map(lambda row: (source[row], target[row]))


def sparing(dataset):
    """The dataset, kept to one thread of its own so that the training step has the cores."""
    options = tf.data.Options()
    options.deterministic = True
    options.threading.private_threadpool_size = 1
    options.threading.max_intra_op_parallelism = 1
    options.autotune.enabled = False
    return dataset.with_options(options)
