"""Tokenization and detokenization against sacremoses, an independent port of the Moses scripts, for
every language that Moses has abbreviations of and for some that it has none of.
"""

import functools
import gzip
import random
import re

import pytest
import sacremoses
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from tricky_sentences import EVERYTHING
from shared_data import SHARED

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.text.moses import detokenize, prefixes, tokenize
from rnnsearch_tf.text.pipeline import build_text, clean

CORPORA = [
    path
    for path in sorted((SHARED / "data").glob("*/*.gz"))
    if path.name.split(".")[-2] in ("en", "fr", "de")
]
MOSES = sorted({*sacremoses.corpus.NonbreakingPrefixes().available_langs.values()} - {"yue", "zh"})
OTHERS = ["ko", "tr", "eo"]  # of which Moses has no abbreviations
# rules of their own, or another script; the others wait for ``make test-all``
OFTEN = ["en", "fr", "it", "cs", "ga", "de", "ru", "ta", "ko"]
# a few words of each script that is not Latin; others are made of their abbreviations
OF_SCRIPT = {
    "el": "Καλημέρα κόσμε, τι κάνεις σήμερα;",
    "ru": "Он сказал: «Привет, т.е. здравствуй».",
    "hi": "यह एक वाक्य है। क्या?",
    "bn": "আমি ভালো আছি।",
    "as": "মই ভাল আছোঁ।",
    "gu": "હું સારો છું.",
    "kn": "ನಾನು ಚೆನ್ನಾಗಿದ್ದೇನೆ.",
    "ml": "എനിക്ക് സുഖമാണ്.",
    "mni": "ꯑꯩ ꯐꯩ꯫",
    "mr": "मी ठीक आहे.",
    "or": "ମୁଁ ଭଲ ଅଛି।",
    "pa": "ਮੈਂ ਠੀਕ ਹਾਂ।",
    "ta": "நான் நலமாக இருக்கிறேன்.",
    "te": "నేను బాగున్నాను.",
    "ko": "나는 괜찮아요. 고마워요! 韓國",
    "cs": "Řekl: „Dobrý den“ a „ahoj“, tj. nazdar.",
}


@functools.cache
def compiled(language):
    """tokenize and detokenize in graph mode, any batch size."""
    strings = tf.TensorSpec([None], tf.string)
    ragged = tf.RaggedTensorSpec([None, None], tf.string)
    return (
        tf.function(
            lambda texts: tokenize(clean(texts), language),
            autograph=False,
            input_signature=[strings],
        ),
        tf.function(
            lambda tokens: detokenize(tokens, language), autograph=False, input_signature=[ragged]
        ),
    )


@functools.cache
def reference(language):
    """The same of sacremoses."""
    return sacremoses.MosesTokenizer(language), sacremoses.MosesDetokenizer(language)


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


def both_ways_are_those_of_sacremoses(texts, language):
    rows = their_tokens(texts, language)
    for text, ours, theirs in zip(texts, our_tokens(texts, language), rows, strict=True):
        assert ours == theirs, text
    if language == "cs":
        rows = [row for row in rows if not has_a_decimal_number(row)]
    assert our_texts(rows, language) == their_texts(rows, language)


def has_a_decimal_number(row):
    """Where Czech differs: a number and a point or comma, at the end or before another number."""
    following = [*row[2:], "0"]
    return any(
        number.isdigit() and sign in (".", ",") and after.isdigit()
        for number, sign, after in zip(row, row[1:], following)
    )


def constructed(language):
    """Sentences with every abbreviation: before a capital, a small letter, a digit, a sign, and at
    the end.
    """
    chosen = random.Random(language)
    words = [
        word.rpartition(" ")[0] or word for word in reference(language)[0].NONBREAKING_PREFIXES
    ]
    lines = []
    for word in words:
        after = chosen.choice(["Xyz", "xyz", "7 x", "(x)", "", "« x »", "'x'", "l'x", "x'"])
        lines.append(f"{chosen.choice(['A b', 'Z', '', '3,5', 'X,'])} {word}. {after}")
        lines.append(f"x{word}. {word} {after}, {word}: {word}.{word}. {after}.")
    return lines + [OF_SCRIPT.get(language, "")] + EVERYTHING


@pytest.mark.parametrize(
    "language",
    [
        pytest.param(each, marks=[] if each in OFTEN else pytest.mark.slow)
        for each in MOSES + OTHERS
    ],
)
def test_tokens_and_text_are_those_of_sacremoses(language):
    both_ways_are_those_of_sacremoses(constructed(language), language)


LETTERS = st.sampled_from(list("aAsStdzZéßœ0195яЖΑωΩκিতাகളഅ한日カのーא"))
SIGNS = st.sampled_from(
    list(".,'\"`-!?:;()[]{}%$€¿„“”«»’…–&<>|@/\\½।，·。、《》")
    + ["\u00a0", "\u3000", "\x07", "\u0301", "שָ", "😀", " "]
)
WORDS = st.sampled_from(
    "Mr. No. 5 etc. z.B. B. p.m. pp. l' d' s n't ' \" `` '' ... .. dogs' 1980's 5,300 , ( € % ? @-@"
    " &apos; &lt; été .' „ “ ” ア' 日 '日 ス Dr. č. p. no. nr. dell' „x “. 7 1989 . т.е. η.π. ค."
    " b'ann d'Ivoire".split()
)
TEXTS = st.lists(
    st.one_of(LETTERS, SIGNS, WORDS, WORDS.map(lambda word: f" {word} ")), max_size=25
).map("".join)


@settings(max_examples=25, deadline=None)
@given(st.lists(TEXTS, min_size=10, max_size=30))
def test_any_text_is_tokenized_and_joined_as_in_sacremoses(texts):
    for language in ("en", "fr", "de", "cs", "it", "ga", "es", "ru", "ko", "ta", "lv"):
        both_ways_are_those_of_sacremoses(texts, language)


ROWS = [
    "„ a “ b “ c „ d „ e “ .",
    '" a „ b “ c " d',
    "“ a „ b ' c ' „",
    "b' ann d' un l' 'x",
    "dell' uomo c' è l' 5",
    "한국 어 日 本 語",
]
"""Tokens as no tokenizer need have cut them."""


@settings(max_examples=40, deadline=None)
@given(st.lists(st.lists(WORDS, max_size=12), min_size=20, max_size=40))
def test_any_tokens_are_joined_as_in_sacremoses(rows):
    rows = rows + [row.split() for row in ROWS]
    for language in ("en", "fr", "de", "it", "ga", "ko", "ja"):
        assert our_texts(rows, language) == their_texts(rows, language)


@settings(max_examples=15, deadline=None)
@given(
    st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), min_size=1, max_size=6)
)
def test_eager_is_graph_and_alone_is_in_a_batch(texts):
    for language in ("en", "fr"):
        rows = our_tokens(texts, language)
        assert (
            our_tokens(texts, language, lambda strings: tokenize(clean(strings), language)) == rows
        )
        assert [our_tokens([text], language)[0] for text in texts] == rows
        assert [our_texts([row], language)[0] for row in rows] == our_texts(rows, language)


@pytest.mark.parametrize("language", MOSES)
def test_abbreviations_are_those_of_moses(language):
    theirs = {*reference(language)[0].NONBREAKING_PREFIXES}
    numeric = {*reference(language)[0].NUMERIC_ONLY_PREFIXES}
    always, before_digit = prefixes(language)
    assert {*before_digit} == numeric
    assert {*always} == {word for word in theirs - numeric if " " not in word}


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


def test_czech_numbers_are_joined_by_the_tokens_before():
    """sacremoses looks at the last two tokens of the sentence, Moses at the two before."""
    rows = [row.split() for row in ("Bylo to v roce 1989 .", "to je 3 , 14 metru")]
    assert their_texts(rows, "cs") == ["Bylo to v roce1989.", "to je 3, 14 metru"]
    assert our_texts(rows, "cs") == ["Bylo to v roce 1989.", "to je 3,14 metru"]


def test_a_region_or_a_script_does_not_matter():
    text = ["O sr. Silva tem 5 págs. e 'x'. Em out. Foi."]
    for code in ("pt-BR", "PT", "pt-Latn-AO"):
        assert our_tokens(text, code) == our_tokens(text, "pt") != our_tokens(text, "xx")


@pytest.mark.parametrize("language", ["ja", "zh-TW"])
def test_a_language_without_spaces_needs_other_tokens(language):
    with pytest.raises(UsageError):
        build_text(TextConfig(language=language), ["a b"])
    build_text(TextConfig(language=language, tokenization="space"), ["a b"])


@pytest.mark.corpus
@pytest.mark.skipif(not CORPORA, reason="the shared corpora are not here")
@pytest.mark.parametrize("path", CORPORA, ids=lambda path: f"{path.parent.name}-{path.name}")
def test_real_lines(path):
    """Every 10th line (50th of the long files); benchmarks/tokenizer_agreement.py takes all."""
    with gzip.open(path, "rt", encoding="utf-8", newline="\n") as file:
        lines = [line.rstrip("\n") for line in file]
    lines = lines[:: 10 if len(lines) < 10_000 else 50]
    both_ways_are_those_of_sacremoses(lines, re.search(r"\.(\w+)\.gz$", path.name)[1])
