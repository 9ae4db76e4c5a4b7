"""Byte-pair codes in TensorFlow operations, compared with the package subword-nmt."""

import doctest
import functools

import pytest
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_rules import (
    learned_codes,
    lists,
    of_version_1,
    ragged,
    real_lines,
    their_pieces,
)
from tricky_sentences import BY_LANGUAGE, EVERYTHING

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.text import bpe
from rnnsearch_tf.text.bpe import BytePairCodes, join

pytest.importorskip("subword_nmt")

VERSIONS = {"0.2": str, "0.1": of_version_1}


def our_pieces(codes, rows):
    return lists(BytePairCodes(codes.encode()).tokenize(ragged(rows)))


@pytest.mark.parametrize("version", VERSIONS)
def test_tricky_sentences(version):
    rows = [line.split() for line in BY_LANGUAGE["de"] + EVERYTHING]
    codes = VERSIONS[version](learned_codes(rows, 200))
    assert our_pieces(codes, rows) == their_pieces(codes, rows)


@functools.cache
def corpus(name):
    """(rows, codes learned from the first of them); the last rows are of another text."""
    rows = [line.split() for line in real_lines(name, 5000) + real_lines("tanaka/train.ja", 300)]
    return rows, learned_codes(rows[:2000], 1500) if rows else ""


@pytest.mark.parametrize("version", VERSIONS)
@pytest.mark.parametrize("name", ["multi30k/train.de", "python-docs/train.fr", "tatoeba/train.en"])
def test_thousands_of_real_lines(name, version):
    rows, codes = corpus(name)
    if not rows:
        pytest.skip("no data")
    codes = VERSIONS[version](codes)
    assert our_pieces(codes, rows) == their_pieces(codes, rows)


@st.composite
def codes_and_words(draw):
    """Random codes over a few characters, whose symbols grow as learned ones do."""
    characters = list("abé@<w/>")
    symbols = [*characters, "</w>", *(f"{character}</w>" for character in characters)]
    version = draw(st.sampled_from(["", "#version: 0.1\n", "#version: 0.2\n"]))
    lines = []
    for _ in range(draw(st.integers(1, 25))):
        left, right = draw(st.sampled_from(symbols)), draw(st.sampled_from(symbols))
        lines.append(f"{left} {right}\n")
        symbols.append(left + right)
    words = st.text("abé@<w/>z", min_size=1, max_size=12)
    rows = draw(st.lists(st.lists(words, max_size=4), min_size=1, max_size=4))
    return version + "".join(lines), rows


@settings(max_examples=100, deadline=None)
@given(case=codes_and_words())
def test_any_codes_and_words(case):
    codes, rows = case
    assert our_pieces(codes, rows) == their_pieces(codes, rows)


def test_overlapping_pairs_are_merged_from_the_left():
    codes = "#version: 0.2\nx x\n"
    for length in range(1, 9):
        rows = [["x" * length + "y"]]
        assert our_pieces(codes, rows) == their_pieces(codes, rows)
    assert our_pieces(codes, [["xxxy"]]) == [["xx@@", "x@@", "y"]]


def test_the_lowest_rank_comes_first_not_the_first_pair():
    assert our_pieces("#version: 0.2\nb c\na b\n", [["abcd"]]) == [["a@@", "bc@@", "d"]]
    assert our_pieces("#version: 0.2\na b\nb c\n", [["abcd"]]) == [["ab@@", "c@@", "d"]]


def test_of_a_pair_that_occurs_twice_the_first_counts():
    codes = "#version: 0.2\na b\nb c\na b\n"
    assert our_pieces(codes, [["abcd"]]) == their_pieces(codes, [["abcd"]])


def test_no_words():
    codes = BytePairCodes(b"#version: 0.2\na b\n")
    for rows in ([], [[]], [[], ["ab"], []]):
        assert lists(codes.tokenize(ragged(rows))) == [["a@@", "b"] if row else [] for row in rows]


def test_a_word_of_ten_thousand_characters():
    rows = [["ab" * 5000 + "c", "ab"]]
    codes = "#version: 0.2\na b\nab ab\nabab ab\na b</w>\n"
    assert our_pieces(codes, rows) == their_pieces(codes, rows)


def test_each_distinct_word_is_cut_once(monkeypatch):
    codes = BytePairCodes(b"#version: 0.2\na b\n")
    seen = []
    pieces = codes._pieces
    monkeypatch.setattr(codes, "_pieces", lambda words: seen.append(words) or pieces(words))
    assert lists(codes.tokenize(ragged([["abc", "b"], ["abc"]]))) == [
        ["ab@@", "c", "b"],
        ["ab@@", "c"],
    ]
    assert seen[0].numpy().tolist() == [b"abc", b"b"]


def test_in_a_graph_for_any_batch():
    codes = BytePairCodes(b"#version: 0.2\na b\n")
    function = tf.function(
        codes.tokenize,
        autograph=False,
        input_signature=[tf.RaggedTensorSpec([None, None], tf.string)],
    )
    for rows in ([["abc"]], [["b", "abab"], []], []):
        assert lists(function(ragged(rows))) == lists(codes.tokenize(ragged(rows)))
    dataset = tf.data.Dataset.from_tensors(ragged([["abc"]])).map(codes.tokenize)
    assert [lists(rows) for rows in dataset] == [[["ab@@", "c"]]]


def test_joined_pieces_are_the_words():
    rows = [line.split() for line in BY_LANGUAGE["en"] + EVERYTHING]
    codes = BytePairCodes(learned_codes(rows, 100).encode())
    assert lists(join(codes.tokenize(ragged(rows)))) == rows


def test_a_joint_at_the_end_of_a_line_goes_too():
    """A translation that reached its greatest length may end within a word."""
    assert lists(join(ragged([["a@@", "b", "c@@"], ["@@@@", "d"], []]))) == [
        ["ab", "c"],
        ["@@d"],
        [],
    ]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", r"f:1: expected two symbols separated by a space, got ''"),
        (b"a b\nc\n", r"f:2: expected two symbols separated by a space, got 'c'"),
        (b"#version: 0.2\na b\na b c\n", r"f:3: .* got 'a b c'; name the file that subword-nmt"),
        (b"#version: 0.2\n\na b\n", r"f:2: expected two symbols .* got ''"),
        (b"#version: 0.3\na b\n", r"f:1: .* version 0.1 or 0.2, got '0.3'"),
        (b"a b\nc \xff\n", r"f:2: expected BPE codes in UTF-8, got byte 0xff"),
        (b"\x00" * 70, r"f:1: expected two symbols"),
    ],
)
def test_a_damaged_file_is_refused(data, message):
    with pytest.raises(UserError, match=message):
        BytePairCodes(data, "f")


def test_line_ends_of_other_systems():
    windows = BytePairCodes(b"#version: 0.2\r\na b\r\n")
    assert lists(windows.tokenize(ragged([["abc"]]))) == [["ab@@", "c"]]


def test_examples_in_docstrings():
    result = doctest.testmod(bpe)
    assert result.failed == 0 and result.attempted > 0
