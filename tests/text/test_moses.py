"""Tokenization and detokenization against sacremoses, an independent port of the Moses scripts."""

import gzip
import os
import pathlib
import re

import pytest
import sacremoses
import tensorflow as tf
from both_tokenizers import compiled, reference
from hypothesis import given, settings
from hypothesis import strategies as st
from tricky_sentences import BY_LANGUAGE, EVERYTHING

from rnnsearch_tf.text.moses import prefixes, tokenize
from rnnsearch_tf.text.pipeline import clean

LANGUAGES = ("en", "fr", "de")
SHARED = pathlib.Path(
    os.environ.get("RNNSEARCH_SHARED", pathlib.Path(__file__).parents[3] / "shared")
)
CORPORA = [
    path
    for path in sorted((SHARED / "data").glob("*/*.gz"))
    if path.name.split(".")[-2] in LANGUAGES
]


def our_tokens(texts, language, function=None):
    rows = (function or compiled(language)[0])(tf.constant(texts, tf.string))
    return [[token.decode() for token in row] for row in rows.to_list()]


def our_texts(rows, language):
    rows = tf.ragged.constant(rows, tf.string, ragged_rank=1)
    return [text.decode() for text in compiled(language)[1](rows).numpy()]


def their_tokens(texts, language):
    return [reference(language)[0].tokenize(text, escape=False) for text in texts]


def their_texts(rows, language):
    return [reference(language)[1].detokenize(row) for row in rows]


@pytest.mark.parametrize("language", LANGUAGES)
def test_tricky_sentences_have_the_tokens_of_sacremoses(language):
    texts = BY_LANGUAGE[language] + EVERYTHING
    for text, ours, theirs in zip(
        texts, our_tokens(texts, language), their_tokens(texts, language)
    ):
        assert ours == theirs, text


@pytest.mark.parametrize("language", LANGUAGES)
def test_tricky_sentences_detokenize_as_in_sacremoses(language):
    rows = their_tokens(EVERYTHING, language)
    for row, ours, theirs in zip(rows, our_texts(rows, language), their_texts(rows, language)):
        assert ours == theirs, row


def test_what_the_rules_mean():
    """Written by hand from the rules, in case both ports are wrong."""
    assert our_tokens(["Mr. No. 5 isn't No. X, p.m. 5,300."], "en") == [
        ["Mr.", "No.", "5", "isn", "'t", "No", ".", "X", ",", "p.m.", "5,300", "."]
    ]
    assert our_tokens(["L'été d'aujourd'hui..."], "fr") == [
        ["L'", "été", "d'", "aujourd'", "hui", "..."]
    ]
    assert our_tokens(["z. B. geht's gut."], "de") == [["z.", "B.", "geht", "'", "s", "gut", "."]]
    assert our_texts([["quel", "chien", "?"]], "fr") == ["quel chien ?"]
    quoted = ["'", "dogs", "'", "and", "'", "cat", "'"]  # an apostrophe after s closes what is open
    assert our_texts([quoted], "en") == ["'dogs' and 'cat'"]
    assert our_texts([["(", "5", "%", ")", "the", "Jones", "'", "house"]], "en") == [
        "(5%) the Jones' house"
    ]


@pytest.mark.parametrize("language", LANGUAGES)
def test_prefixes_are_those_of_moses(language):
    theirs = set(sacremoses.corpus.NonbreakingPrefixes().words(language))
    always, before_digit = prefixes(language)
    assert {*always, *(f"{word} #NUMERIC_ONLY#" for word in before_digit)} == theirs


LETTERS = st.sampled_from(list("aAsStdzZéßœ0195"))
SIGNS = st.sampled_from(
    list(".,'\"`-!?:;()[]{}%$€¿„“”«»’…–&<>|@/\\½")
    + ["\u00a0", "\u3000", "\x07", "\u0301", "日", "שָ", "😀"]
)
WORDS = st.sampled_from(
    "Mr. No. 5 etc. z.B. B. p.m. pp. l' d' s n't ' \" `` '' ... .. dogs' 1980's 5,300 , ( € % ? @-@"
    " &apos; &lt; été .' „ “ ア' 日 '日 ス".split()
)
TEXTS = st.lists(
    st.one_of(LETTERS, SIGNS, st.just(" "), WORDS, WORDS.map(lambda word: f" {word} ")), max_size=25
).map("".join)


@settings(max_examples=40, deadline=None)
@given(st.lists(TEXTS, min_size=10, max_size=40))
def test_any_text_is_tokenized_and_joined_as_in_sacremoses(texts):
    for language in LANGUAGES:
        rows = their_tokens(texts, language)
        assert our_tokens(texts, language) == rows
        assert our_texts(rows, language) == their_texts(rows, language)


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(WORDS, max_size=12), min_size=20, max_size=40))
def test_any_tokens_are_joined_as_in_sacremoses(rows):
    for language in LANGUAGES:
        assert our_texts(rows, language) == their_texts(rows, language)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=6)
)
def test_eager_is_graph_and_alone_is_in_a_batch(texts):
    for language in LANGUAGES:
        rows = our_tokens(texts, language)
        assert (
            our_tokens(texts, language, lambda strings: tokenize(clean(strings), language)) == rows
        )
        assert [our_tokens([text], language)[0] for text in texts] == rows
        assert [our_texts([row], language)[0] for row in rows] == our_texts(rows, language)


def test_the_known_departures_from_sacremoses():
    """Each kind that benchmarks/TOKENIZER.md lists."""
    newer_letters = "𝐀𝐁"  # of the supplementary planes: sacremoses has no letters there
    assert our_tokens([newer_letters], "en") == [[newer_letters]]
    assert their_tokens([newer_letters], "en") == [["𝐀", "𝐁"]]
    # how sacremoses writes ".." for itself
    assert our_tokens(["DOTDOTMULTI"], "en") == [["DOTDOTMULTI"]]
    assert their_tokens(["DOTDOTMULTI"], "en") == [[".."]]
    after_virama = [["त", "'्"]]
    # one alphabet for tokenizing and joining; sacremoses has two
    assert our_texts(after_virama, "en") == ["त'्"]
    assert their_texts(after_virama, "en") == ["त '्"]


@pytest.mark.corpus
@pytest.mark.skipif(not CORPORA, reason="the shared corpora are not here")
@pytest.mark.parametrize("path", CORPORA, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_real_lines(path):
    """Every 10th line (50th of the long files); benchmarks/tokenizer_agreement.py takes all."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n") for line in file]
    lines = lines[:: 10 if len(lines) < 10_000 else 50]
    language = re.search(r"\.(\w+)\.gz$", path.name)[1]
    rows = their_tokens(lines, language)
    assert our_tokens(lines, language) == rows
    assert our_texts(rows, language) == their_texts(rows, language)
