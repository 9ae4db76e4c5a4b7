"""Counts of tokens are those of a dictionary."""

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


def test_every_token_is_counted(lines):
    assert counted(lines).total() == collections.Counter(" ".join(lines).split())


def test_only_the_first_lines(lines):
    counts = counted(lines, most_lines=100)
    assert counts.total() == collections.Counter(" ".join(lines[:100]).split())
    assert counts.is_cut and not counted(lines, most_lines=300).is_cut


def test_special_tokens_of_the_text_take_no_place_in_a_vocabulary(lines):
    counts = counted([*lines, "</s> " * 10_000])
    assert Vocabulary.build(counts.total(), 50).tokens == (
        Vocabulary.build(counted(lines).total(), 50).tokens
    )
