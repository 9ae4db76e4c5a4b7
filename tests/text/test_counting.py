"""Counts that do not fit into memory are those of a dictionary."""

import collections

import numpy as np
import pytest
import tensorflow as tf

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
