"""The training and development datasets: every pair once, order by seed and epoch, limits,
streaming.
"""

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.data.dataset import EncodedPairs, scoring_batches, training_dataset
from rnnsearch_tf.data.pairs import Pairs, Report

SCHEMES = ["paper", "bucketed", "unsorted"]


@pytest.fixture(scope="module")
def lines():
    """Texts of 600 pairs; pair p begins with the id 10 + p on both sides."""
    generator = np.random.default_rng(7)
    return [
        [" ".join([str(10 + p)] + ["5"] * int(generator.integers(0, 9))) for p in range(600)]
        for _ in ("source", "target")
    ]


def rows(dataset):
    """One epoch: the batches, each a list of (source ids, target ids) without padding."""
    return [without_padding(batch) for batch in dataset.as_numpy_iterator()]


def without_padding(batch):
    sides = [
        [[id_ for id_ in row if id_ != PAD_ID] for row in batch[name].tolist()]
        for name in ("source_ids", "target_ids")
    ]
    return list(zip(*sides, strict=True))


def expected(lines):
    return sorted(
        tuple([int(id_) for id_ in text.split()] + [1] for text in pair) for pair in zip(*lines)
    )


def numbers_of(epoch):
    return [row[0][0] for batch in epoch for row in batch]


@pytest.mark.parametrize("batching", SCHEMES)
@pytest.mark.parametrize("shuffle_buffer", [0, 100, 5000])
def test_an_epoch_has_every_pair_once_and_ends(
    numbers, data_config, lines, batching, shuffle_buffer
):
    data = data_config(
        batching=batching, batch_size=16, shuffle_buffer=shuffle_buffer, shuffle_batches=7
    )
    dataset = training_dataset(numbers, numbers, Pairs(*lines), data, seed=3)
    for _ in range(2):
        epoch = rows(dataset)
        assert sorted(row for batch in epoch for row in batch) == expected(lines)
        assert max(map(len, epoch)) == 16


@pytest.mark.parametrize("batching", SCHEMES)
def test_order_depends_on_seed_and_epoch_alone(numbers, data_config, lines, batching):
    def epochs(seed, count, buffer=5000, epoch=0):
        data = data_config(
            batching=batching, batch_size=16, shuffle_buffer=buffer, shuffle_batches=5
        )
        dataset = training_dataset(numbers, numbers, Pairs(*lines), data, seed, epoch)
        return [rows(dataset) for _ in range(count)]

    tf.random.set_seed(1)
    first = epochs(3, 3)
    assert first[0] != first[1] != first[2]
    tf.random.set_seed(2)
    assert epochs(3, 2, epoch=1) == first[1:]
    assert epochs(4, 1) != first[:1]
    streamed = epochs(3, 2, buffer=300)
    assert (
        streamed[0] != streamed[1]
        and epochs(3, 1, buffer=300, epoch=iter([1]).__next__) == streamed[1:]
    )


def test_an_iteration_begun_and_left_changes_no_other(numbers, data_config, lines):
    data = data_config(batch_size=16)
    first, second = (
        training_dataset(numbers, numbers, Pairs(*lines), data, 3, epoch=5) for _ in range(2)
    )
    next(iter(first))
    assert rows(first) == [rows(second) for _ in range(2)][1]


def test_kept_ids_and_streamed_ids_are_the_same(numbers, data_config, lines):
    encoded = EncodedPairs(numbers, numbers, Pairs(*lines), data_config(shuffle_buffer=600))
    streamed = [(source.tolist(), target.tolist()) for source, target in encoded]
    assert len(encoded.kept) == 600
    assert [(source.tolist(), target.tolist()) for source, target in encoded] == streamed
    beyond = EncodedPairs(numbers, numbers, Pairs(*lines), data_config(shuffle_buffer=599))
    assert sum(1 for _ in beyond) == 600 and beyond.kept is None


@pytest.mark.parametrize("batching", SCHEMES)
def test_length_limits_count_tokens_without_the_end_symbol(numbers, data_config, lines, batching):
    data = data_config(batching=batching, maximum_source_length=4, maximum_target_length=6)
    pairs = Pairs(*lines)
    epoch = rows(training_dataset(numbers, numbers, pairs, data, 1))
    fitting = [row for row in expected(lines) if len(row[0]) <= 5 and len(row[1]) <= 7]
    assert sorted(row for batch in epoch for row in batch) == fitting
    assert pairs.report.too_long == 600 - len(fitting) > 0
    assert {len(row[0]) for row in fitting} == set(range(2, 6)) and {
        len(row[1]) for row in fitting
    } == set(range(2, 8))


def test_the_paper_scheme_sorts_windows_of_the_shuffled_order(numbers, data_config, lines):
    data = data_config(batch_size=16, batches_read_ahead=5, shuffle_buffer=0)
    epoch = rows(training_dataset(numbers, numbers, Pairs(*lines), data, 1))
    longer = [[max(map(len, row)) for row in batch] for batch in epoch]
    for window in range(0, len(longer), 5):
        in_window = sum(longer[window : window + 5], [])
        assert in_window == sorted(in_window)
    assert sorted(numbers_of(epoch[:5])) == list(range(10, 90))


def test_shuffled_batches_are_the_same_batches(numbers, data_config, lines):
    def epoch(shuffle_batches):
        data = data_config(batch_size=16, shuffle_batches=shuffle_batches)
        return rows(training_dataset(numbers, numbers, Pairs(*lines), data, 1))

    kept = epoch(0)
    moved = epoch(1000)
    assert kept != moved and sorted(kept) == sorted(moved)


@pytest.mark.parametrize("batching", SCHEMES)
def test_one_graph_serves_every_batch(numbers, data_config, lines, batching):
    traces = []

    @tf.function
    def count(batch):
        traces.append(1)
        return tf.size(batch["source_ids"]) + tf.size(batch["target_ids"])

    dataset = training_dataset(
        numbers, numbers, Pairs(*lines), data_config(batching=batching, batch_size=16), 1
    )
    assert dataset.element_spec == {
        name: tf.TensorSpec([None, None], tf.int32) for name in ("source_ids", "target_ids")
    }

    @tf.function
    def whole_epoch(dataset):
        total = 0
        for batch in dataset:
            total += count(batch)
        return total

    assert whole_epoch(dataset) > 0 and len(traces) == 1


def test_files_are_read_no_further_than_the_buffer_asks(numbers, data_config, monkeypatch):
    """1,000,000 pairs that do not exist until asked for: the first batches need few of them."""
    pairs = Pairs([], [])
    made = []

    def scan():
        for number in range(1_000_000):
            made.append(number)
            yield type(
                "LinePair", (), {"kind": None, "source": b"%d 5" % (number + 10), "target": b"5 5"}
            )

    monkeypatch.setattr(pairs, "scan", scan)
    pairs.report = Report(kept=1_000_000)
    data = data_config(batch_size=10, batches_read_ahead=5, shuffle_buffer=1000)
    batches = training_dataset(numbers, numbers, pairs, data, 1).as_numpy_iterator()
    for _ in range(20):
        next(batches)
    assert 1200 <= len(made) < 10_000


def test_plain_and_gzipped_files_train_alike(numbers, data_config, lines, write):
    data = data_config(batch_size=16)
    plain = Pairs(write("s", lines[0]), write("t", lines[1]))
    zipped = Pairs(write("s.gz", lines[0]), write("t.gz", lines[1]))
    assert rows(training_dataset(numbers, numbers, plain, data, 1)) == rows(
        training_dataset(numbers, numbers, zipped, data, 1)
    )


def test_bad_lines_are_left_out_of_every_epoch(numbers, data_config, write):
    pairs = Pairs(
        write("s", b"10 5\n\n12\n\xff\n14\n"), write("t", b"5\n5\n5\n5\n5\n"), on_bad_line="skip"
    )
    dataset = training_dataset(
        numbers, numbers, pairs, data_config(shuffle_buffer=0, batching="unsorted"), 1
    )
    for _ in range(2):
        assert numbers_of(rows(dataset)) == [10, 12, 14]
    assert (pairs.report.kept, pairs.report.empty, pairs.report.invalid) == (3, 1, 1)


def test_scoring_keeps_everything_whatever_its_length_the_shortest_first(numbers, lines):
    epoch = [
        without_padding(batch) for batch in scoring_batches(numbers, numbers, lines, batch_size=100)
    ]
    assert [len(batch) for batch in epoch] == [100] * 6
    assert sorted(pair for batch in epoch for pair in batch) == expected(lines)
    order = sorted(range(10, 610), key=lambda p: max(len(text[p - 10].split()) for text in lines))
    assert numbers_of(epoch) == list(order)
