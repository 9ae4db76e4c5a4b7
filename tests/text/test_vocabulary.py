"""Vocabularies: their order, their files, and what is wrong with a bad one."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.text.counting import count_tokens
from rnnsearch_tf.text.pipeline import build_text
from rnnsearch_tf.text.vocabulary import Vocabulary

SPECIALS = ["<pad>", "</s>", "<unk>"]


def counted(lines):
    (counts,) = count_tokens([tf.strings.split], [(line,) for line in lines])
    return counts


def build(lines, size=100):
    return Vocabulary.build(counted(lines), size).tokens


def test_counts_are_those_of_a_dictionary():
    generator = np.random.default_rng(5)
    lines = [
        " ".join(f"w{number}é" for number in generator.zipf(1.5, 20) % 900) for _ in range(300)
    ]
    assert counted(lines) == collections.Counter(" ".join(lines).split())


def test_order_is_specials_then_frequency_then_code_point():
    lines = ["b a a", "é b Z", "𝐀 \ufb01 c"]  # U+FB01 before U+1D400, which UTF-16 order would swap
    assert build(lines) == [*SPECIALS, "a", "b", "Z", "c", "é", "\ufb01", "𝐀"]
    assert build(lines[::-1]) == build(lines)


def test_size_counts_the_specials_and_rarer_words_stay_out():
    assert build(["a a a b b c", "</s> " * 9], size=5) == [*SPECIALS, "a", "b"]


def test_what_is_not_in_it_is_unknown_and_so_is_what_is_spelled_like_a_special_token():
    vocabulary = Vocabulary(build(["<pad> </s> <unk> a"]))
    assert vocabulary.tokens == [*SPECIALS, "a"]
    ids = vocabulary.ids(tf.constant(["<pad>", "</s>", "<unk>", "a", ""])).numpy().tolist()
    assert ids == [2, 2, 2, 3, 2]
    words = vocabulary.words(tf.constant([[0, 1, 2, 3, 4, -1]])).numpy().tolist()
    assert words == [[b"<pad>", b"</s>", b"<unk>", b"a", b"<unk>", b"<unk>"]]


def test_file_is_one_token_a_line_and_comes_back(tmp_path):
    vocabulary = Vocabulary([*SPECIALS, "été", "a\u2028b", "\u0301"])  # no line ends but \n
    path = tmp_path / "vocabulary.txt"
    vocabulary.save(path)
    assert path.read_bytes() == "<pad>\n</s>\n<unk>\nété\na\u2028b\n\u0301\n".encode()
    assert Vocabulary.load(path).tokens == vocabulary.tokens
    assert Vocabulary.load(path).size == 6


HEAD = "<pad>\n</s>\n<unk>\n"


@pytest.mark.parametrize(
    "content, place",
    [
        (HEAD + "a\nb\na\n", ":6: expected"),
        (HEAD + "a\n\nb\n", ":5: expected"),
        (HEAD + "a 17\n", ":4: expected"),
        ("<pad>\n<unk>\na\n", ":2: expected"),
        ("", ":1: expected"),
        (HEAD, ": expected words"),
    ],
)
def test_a_bad_file_is_named_with_its_line(tmp_path, content, place):
    path = tmp_path / "bad.txt"
    path.write_text(content)
    with pytest.raises(UserError, match=f"bad.txt{place}"):
        build_text(TextConfig(vocabulary=str(path)), [])


@pytest.mark.parametrize("tokenization", ["moses", "sentencepiece"])
def test_text_without_words_is_refused(tokenization):
    with pytest.raises(UserError, match="training text: expected text, got no words"):
        build_text(TextConfig(tokenization=tokenization), ["", " "])
