"""The batches of a training: every pair once, an order by seed and epoch, limits, weights."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st

from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.data.batches import Batches, training_dataset
from rnnsearch_tf.data.ids import Ids, encode
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.errors import UserError

SCHEMES = ["paper", "bucketed", "unsorted"]


@pytest.fixture(scope="module")
def pairs():
    """600 pairs of numbers; pair p begins with the id 10 + p on both sides."""
    generator = np.random.default_rng(7)
    sides = [
        [" ".join([str(10 + p)] + ["5"] * int(generator.integers(0, 9))) for p in range(600)]
        for _ in ("source", "target")
    ]
    return list(zip(*sides))


def rows(dataset):
    """One epoch: the batches, each a list of (source ids, target ids) without padding."""
    return [without_padding(batch) for batch in dataset.as_numpy_iterator()]


def without_padding(batch):
    sides = [
        [[id_ for id_ in row if id_ != PAD_ID] for row in np.asarray(batch[name]).tolist()]
        for name in ("source_ids", "target_ids")
    ]
    return list(zip(*sides, strict=True))


def expected(pairs):
    return sorted(tuple([*map(int, text.split()), 1] for text in pair) for pair in pairs)


def ids_of(lengths, part_sizes=None, weights=(1.0,)):
    """Ids whose pair p has ids p + 10 of these lengths."""
    flat = tuple(
        np.concatenate(
            [np.array([p + 10] * (pair[side] - 1) + [1]) for p, pair in enumerate(lengths)]
        )
        for side in (0, 1)
    )
    offsets = tuple(np.cumsum([0, *(pair[side] for pair in lengths)]) for side in (0, 1))
    return Ids(flat, offsets, part_sizes or [len(lengths)], [*weights])


@pytest.mark.parametrize("batching", SCHEMES)
def test_an_epoch_has_every_pair_once_and_ends(numbers, data_config, pairs, batching):
    data = data_config(batching=batching, batch_size=16)
    dataset = training_dataset(numbers, numbers, pairs, data, seed=3)
    assert dataset.element_spec == {  # so that one graph serves every batch
        name: tf.TensorSpec([None, None], tf.int32) for name in ("source_ids", "target_ids")
    }
    for _ in range(2):
        epoch = rows(dataset)
        assert sorted(row for batch in epoch for row in batch) == expected(pairs)
        assert sorted(map(len, epoch)) == [8, *[16] * 37]


@pytest.fixture(scope="module")
def encoded(numbers, pairs):
    return encode(Pairs(pairs), (numbers, numbers), 50)


@pytest.mark.parametrize("batching", SCHEMES)
def test_a_batch_depends_on_seed_epoch_and_number_alone(encoded, batching):
    def batches(seed):
        return Batches(encoded, batching, 16, seed)

    tf.random.set_seed(1)
    epochs = [rows(batches(3).stream(epoch, 0).take(38)) for epoch in range(3)]
    assert epochs[0] != epochs[1] != epochs[2]
    tf.random.set_seed(2)
    counted = batches(3).dataset()
    assert [rows(counted) for _ in range(3)] == epochs
    for first in (0, 1, 20, 37, 38):
        following = rows(batches(3).stream(1, first).take(38))
        assert following == [*epochs[1][first:], *epochs[2][:first]]
    assert rows(batches(4).dataset()) != epochs[0]


@pytest.mark.parametrize("batching", SCHEMES)
def test_the_length_limit_counts_tokens_without_the_end_symbol(
    numbers, data_config, pairs, batching
):
    some = Pairs(pairs)
    data = data_config(batching=batching, maximum_length=4)
    epoch = rows(training_dataset(numbers, numbers, some, data, 1))
    fitting = [row for row in expected(pairs) if max(map(len, row)) <= 5]
    assert sorted(row for batch in epoch for row in batch) == fitting
    assert some.report.too_long == 600 - len(fitting) > 0
    with pytest.raises(UserError, match="data.maximum_length"):
        training_dataset(numbers, numbers, [("5 6", "5")], data_config(maximum_length=1), 1)


lengths = st.lists(st.tuples(st.integers(1, 12), st.integers(1, 12)), min_size=1, max_size=150)


@settings(max_examples=60, deadline=None)
@given(lengths, st.integers(1, 7))
def test_the_paper_scheme_sorts_windows_of_twenty_batches(lengths, batch_size):
    """By the longer side, stable, shortest first, of the random order."""
    ids = ids_of(lengths)
    order = Batches(ids, "unsorted", 1, 5)
    order = [int(order.rows(2, number)[0]) for number in range(len(lengths))]
    expected = []
    for start in range(0, len(order), 20 * batch_size):
        window = order[start : start + 20 * batch_size]
        expected += sorted(window, key=lambda row: max(lengths[row]))
    batches = Batches(ids, "paper", batch_size, 5)
    found = [batches.rows(2, number) for number in range(batches.per_epoch)]
    assert all(len(batch) == batch_size for batch in found[:-1])
    assert np.concatenate(found).tolist() == expected


def test_bucketed_batches_are_of_like_length_and_in_random_order():
    generator = np.random.default_rng(0)
    lengths = [tuple(pair) for pair in generator.integers(1, 31, [20_000, 2])]
    batches = Batches(ids_of(lengths), "bucketed", 40, 1)
    longer = [[max(lengths[row]) for row in batches.rows(0, k)] for k in range(batches.per_epoch)]
    assert np.mean([max(batch) - min(batch) for batch in longer]) < 0.2
    firsts = [batch[0] for batch in longer]
    assert abs(np.corrcoef(firsts[1:], firsts[:-1])[0, 1]) < 0.2


def test_padding_is_on_the_right_and_as_short_as_can_be():
    source, target = ids_of([(3, 1), (1, 2), (9, 9)]).batch(np.array([0, 1]))
    assert source.tolist() == [[10, 10, 1], [1, 0, 0]] and target.tolist() == [[1, 0], [11, 1]]
    assert source.dtype == target.dtype == np.int32


def test_weights_are_times_an_epoch():
    sizes, weights = [200, 300, 400, 100], [1.0, 2.0, 0.25, 1.5]
    batches = Batches(ids_of([(2, 2)] * 1000, sizes, weights), "unsorted", 16, 3)
    epochs = []
    for epoch in range(6):
        count = np.zeros(1000, int)
        for number in range(batches.per_epoch):
            np.add.at(count, batches.rows(epoch, number), 1)
        parts = np.split(count, np.cumsum(sizes)[:-1])
        assert [part.sum() for part in parts] == [200, 600, 100, 150]
        assert [{*part.tolist()} for part in parts] == [{1}, {2}, {0, 1}, {1, 2}]
        epochs.append(count)
    assert len({tuple(epoch) for epoch in epochs}) == 6  # another part in every epoch
    with pytest.raises(UserError, match="data.train_weights"):
        Batches(ids_of([(2, 2)] * 5, [2, 3], [0.2, 0.1]), "paper", 1, 1)
