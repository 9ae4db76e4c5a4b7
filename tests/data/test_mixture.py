"""Several corpora with weights: how often each pair comes in an epoch, and in what order."""

import collections

import numpy as np
import pytest

from rnnsearch_tf.config import load_config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.dataset import training_dataset
from rnnsearch_tf.data.mixture import MixedPairs, mixed
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.errors import UserError


def numbered(first, count):
    """Pairs whose one token is their number, on both sides."""
    lines = [str(number) for number in range(first, first + count)]
    return Pairs(lines, list(lines))


def epochs(numbers, data, corpora, count, seed=3):
    dataset = training_dataset(numbers, numbers, MixedPairs(corpora), data, seed)
    for _ in range(count):
        rows = [
            row
            for batch in dataset.as_numpy_iterator()
            for row in zip(batch["source_ids"], batch["target_ids"], strict=True)
        ]
        assert all(source[0] == target[0] for source, target in rows)
        yield [int(source[0]) for source, _ in rows]


@pytest.mark.slow
@pytest.mark.parametrize("buffer", [0, 1000])
def test_weights_are_times_an_epoch(numbers, data_config, buffer):
    data = data_config(batching="unsorted", batch_size=16, shuffle_buffer=buffer)
    corpora = [
        (numbered(1000, 200), 1.0),
        (numbered(2000, 300), 2.0),
        (numbered(3000, 400), 0.25),
        (numbered(4000, 100), 1.5),
    ]
    shares = []
    drawn = []
    for epoch in epochs(numbers, data, corpora, 6):
        count = collections.Counter(epoch)
        assert all(count[number] == 1 for number in range(1000, 1200))
        assert all(count[number] == 2 for number in range(2000, 2300))
        assert all(count[number] in (0, 1) for number in range(3000, 3400))
        assert all(count[number] in (1, 2) for number in range(4000, 4100))
        assert not set(count) - {
            *range(1000, 1200),
            *range(2000, 2300),
            *range(3000, 3400),
            *range(4000, 4100),
        }
        drawn.append(frozenset(number for number in count if 3000 <= number < 3400))
        shares.append(len(drawn[-1]))
    assert len(set(drawn)) == 6  # another part in every epoch
    assert abs(np.mean(shares) - 100) < 5 * np.sqrt(400 * 0.25 * 0.75 / 6)


@pytest.mark.slow
def test_epochs_are_the_same_for_a_seed(numbers, data_config):
    data = data_config(batching="unsorted", batch_size=16, shuffle_buffer=50)

    def corpora():
        return [(numbered(1000, 60), 1.0), (numbered(3000, 90), 0.5)]

    one, same = (list(epochs(numbers, data, corpora(), 2)) for _ in range(2))
    assert one == same and one[0] != one[1]
    assert one != list(epochs(numbers, data, corpora(), 2, seed=4))


def test_corpora_run_out_together():
    """A streamed corpus is not shuffled as a whole: every stretch of an epoch has its share of each
    corpus.
    """
    corpora = [(["a"] * 600, 600, 1.0), (["b"] * 100, 100, 3.0)]
    order = list(mixed(corpora, np.random.default_rng(1)))
    assert collections.Counter(order) == {"a": 600, "b": 300}
    for first in range(0, 900, 150):
        share = order[first : first + 150].count("b") / 150
        assert abs(share - 1 / 3) < 5 * np.sqrt(2 / 9 / 150)


def test_a_corpus_may_be_shorter_than_said():
    """Pairs over the length limits are counted before they are left out."""
    assert (
        sorted(mixed([(["a"] * 3, 50, 1.0), (["b"] * 5, 5, 1.0)], np.random.default_rng(1)))
        == ["a"] * 3 + ["b"] * 5
    )


def test_from_a_configuration(write, tmp_path):
    for name, lines in (
        ("a.en", ["one", "two"]),
        ("a.fr", ["un", "deux"]),
        ("b.en.gz", ["three"]),
        ("b.fr.gz", ["trois"]),
    ):
        write(name, lines)
    corpora = [
        {"source": "a.en", "target": "a.fr"},
        {"source": "b.en.gz", "target": "b.fr.gz", "weight": 0.5},
    ]
    pairs = open_corpus(load_config(values={"data": {"folder": str(tmp_path), "corpora": corpora}}))
    assert (
        list(pairs) == [("one", "un"), ("two", "deux"), ("three", "trois")]
        and pairs.check().kept == 3
    )
    assert [target for _, target in pairs] == ["un", "deux", "trois"]
    assert [weight for _, weight in pairs.corpora] == [1.0, 0.5]


def test_a_bad_line_says_which_file(write, tmp_path):
    paths = [
        write(name, lines)
        for name, lines in (
            ("a.en", ["one"]),
            ("a.fr", ["un"]),
            ("b.en", ["x", " "]),
            ("b.fr", ["x", "y"]),
        )
    ]
    pairs = MixedPairs([(Pairs(*paths[:2]), 1.0), (Pairs(*paths[2:]), 1.0)])
    with pytest.raises(UserError, match="b.en:2: expected a sentence, got an empty line"):
        pairs.check()
