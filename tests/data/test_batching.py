"""The batching schemes on pairs in memory, against brute force."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.data import batching


def make_pairs(lengths):
    """Pair number p has ids 2p+10 (source) and 2p+11 (target), so that each can be told."""
    return [
        (
            np.array([2 * p + 10] * (j - 1) + [1], np.int32),
            np.array([2 * p + 11] * (i - 1) + [1], np.int32),
        )
        for p, (j, i) in enumerate(lengths)
    ]


def unpadded(batch):
    """The pairs of a batch, as lists."""
    rows = zip(batch["source_ids"].tolist(), batch["target_ids"].tolist())
    return [tuple([id_ for id_ in side if id_ != 0] for side in row) for row in rows]


def as_lists(pairs):
    return [(source.tolist(), target.tolist()) for source, target in pairs]


lengths = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=0, max_size=60)


@settings(max_examples=60, deadline=None)
@given(lengths, st.integers(1, 7), st.integers(1, 5))
def test_paper_scheme_is_read_sort_cut(lengths, batch_size, read_ahead):
    pairs = make_pairs(lengths)
    expected = []
    for start in range(0, len(pairs), batch_size * read_ahead):
        window = list(range(start, min(start + batch_size * read_ahead, len(pairs))))
        keys = np.array([max(lengths[p]) for p in window])
        window = [window[place] for place in np.lexsort([window, keys])]
        for first in range(0, len(window), batch_size):
            expected.append(as_lists([pairs[p] for p in window[first : first + batch_size]]))
    assert [
        unpadded(batch) for batch in batching.paper_batches(iter(pairs), batch_size, read_ahead)
    ] == expected


@pytest.mark.parametrize("width", [1, 2, 5, 40])
def test_bucketed_batches_hold_like_lengths_and_every_pair_once(width):
    generator = np.random.default_rng(0)
    lengths = [tuple(pair) for pair in generator.integers(1, 21, [700, 2])]
    pairs = make_pairs(lengths)
    batches = list(batching.bucketed_batches(pairs, batch_size=16, bucket_width=width))
    met = []
    small = 0
    for batch in batches:
        rows = unpadded(batch)
        longest = [max(len(source), len(target)) for source, target in rows]
        assert max(longest) - min(longest) < width
        assert (max(longest) - 1) // width == (min(longest) - 1) // width
        assert len(rows) <= 16
        small += len(rows) < 16
        met += rows
    assert sorted(map(str, met)) == sorted(map(str, as_lists(pairs)))
    assert small <= -(-20 // width)


@pytest.mark.parametrize("number", [0, 5, 700])
@pytest.mark.parametrize("width", [1, 3, 40])
def test_buckets_are_those_of_tf_data(width, number):
    """The same batches in the same order, padding included."""
    pairs = make_pairs(
        [tuple(pair) for pair in np.random.default_rng(1).integers(1, 21, [number, 2])]
    )
    ids = tf.TensorSpec([None], tf.int32)
    boundaries = list(range(width + 1, 22, width)) or [width + 1]
    expected = tf.data.Dataset.from_generator(
        lambda: iter(pairs), output_signature=(ids, ids)
    ).bucket_by_sequence_length(
        lambda source, target: tf.maximum(tf.size(source), tf.size(target)),
        bucket_boundaries=boundaries,
        bucket_batch_sizes=[16] * (len(boundaries) + 1),
        padding_values=PAD_ID,
    )
    found = list(batching.bucketed_batches(pairs, batch_size=16, bucket_width=width))
    for batch, (source_ids, target_ids) in zip(found, expected.as_numpy_iterator(), strict=True):
        np.testing.assert_array_equal(batch["source_ids"], source_ids)
        np.testing.assert_array_equal(batch["target_ids"], target_ids)


def test_unsorted_batches_keep_the_order():
    pairs = make_pairs([(3, 1), (1, 2), (2, 2), (1, 5), (4, 4)])
    batches = list(batching.unsorted_batches(pairs, 2))
    assert [len(batch["source_ids"]) for batch in batches] == [2, 2, 1]
    assert [row for batch in batches for row in unpadded(batch)] == as_lists(pairs)


def test_padding_is_on_the_right_and_as_short_as_can_be():
    batch = batching.padded_batch(make_pairs([(3, 1), (1, 2)]))
    assert batch["source_ids"].tolist() == [[10, 10, 1], [1, 0, 0]]
    assert batch["target_ids"].tolist() == [[1, 0], [13, 1]]
    assert batch["source_ids"].dtype == batch["target_ids"].dtype == np.int32


@settings(max_examples=80, deadline=None)
@given(st.integers(0, 60), st.integers(0, 70), st.integers(0, 99))
def test_shuffling_moves_everything_once_and_holds_no_more_than_its_buffer(size, buffer_size, seed):
    taken = []

    def items():
        for item in range(size):
            taken.append(item)
            yield item

    given_out = []
    for item in batching.shuffled(items(), buffer_size, np.random.default_rng(seed)):
        given_out.append(item)
        assert len(taken) - len(given_out) <= max(buffer_size, 1)
    assert sorted(given_out) == list(range(size))
    if buffer_size <= 1:
        assert given_out == list(range(size))


def test_shuffling_of_what_fits_is_even():
    """Each of 4 items comes first about as often: 4,000 draws, ±5 standard deviations."""
    firsts = [
        next(batching.shuffled(range(4), 10, np.random.default_rng(seed))) for seed in range(4000)
    ]
    assert all(abs(firsts.count(item) - 1000) < 5 * np.sqrt(4000 * 3 / 16) for item in range(4))
