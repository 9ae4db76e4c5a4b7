"""Counts that do not fit into memory are those of a dictionary."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.text import counting
from rnnsearch_tf.text.counting import TokenCounts
from rnnsearch_tf.text.vocabulary import Vocabulary


@pytest.fixture(scope="module")
def lines():
    generator = np.random.default_rng(5)
    return [" ".join(f"w{number}é" for number in generator.zipf(1.5, 20) % 900) for _ in range(300)]


def counted(lines, **options):
    counts = TokenCounts(tf.strings.split, **options)
    for begin in range(0, len(lines), 7):
        counts.add(lines[begin : begin + 7])
    return counts


def expected(lines, most=None):
    words = collections.Counter(" ".join(lines).split())
    return dict(sorted(words.items(), key=lambda item: (-item[1], item[0]))[:most])


@pytest.mark.parametrize("most", [None, 5, 100, 10_000])
def test_few_words_in_memory_count_as_many(lines, most):
    small = counted(lines, most_words=50)
    assert len(small._files) > 5
    assert dict(small.total(most)) == dict(counted(lines).total(most)) == expected(lines, most)
    assert dict(small.total(most)) == expected(lines, most)  # again


def test_saved_counts_add_up(lines, tmp_path):
    for number, (begin, end) in enumerate([(0, 100), (100, 100), (100, 300)]):
        counted(lines[begin:end], most_words=50).save(tmp_path / str(number))
    saved = TokenCounts(tf.strings.split)
    for number in range(3):
        saved.add_saved(tmp_path / str(number))
    assert dict(saved.total()) == expected(lines) and dict(saved.total(9)) == expected(lines, 9)


def test_only_the_first_lines(lines):
    counts = counted(lines, most_lines=100, most_words=50)
    assert dict(counts.total()) == expected(lines[:100])
    assert counts.is_cut and not counted(lines, most_lines=300).is_cut


def test_a_vocabulary_needs_its_most_frequent_words_only(lines):
    """Special tokens of the text take no place."""
    counts = counted([*lines, "</s> " * 10_000])
    assert (
        Vocabulary.build(counts.total(50 + 3), 50).tokens
        == Vocabulary.build(counts.total(), 50).tokens
    )
    assert len(Vocabulary.build(counts.total(50 + 3), 50).tokens) == 50


def test_words_with_spaces_inside_bytes_are_whole():
    counts = TokenCounts(lambda lines: tf.ragged.constant([["a\u00a0b", "a\u00a0b"]]), most_words=0)
    counts.add(["a line"])
    assert counts.total() == {"a\u00a0b": 2}


def test_many_saved_counts_are_open_a_few_at_a_time(lines, tmp_path, monkeypatch):
    monkeypatch.setattr(counting, "OPEN_AT_ONCE", 4)
    added = TokenCounts(tf.strings.split)
    added.add(lines[:10])
    for number in range(10, 40):
        counted(lines[number : number + 1]).save(tmp_path / str(number))
        added.add_saved(tmp_path / str(number))
        assert len(added._files) <= 4
    added.add(lines[40:])
    assert dict(added.total()) == expected(lines)
