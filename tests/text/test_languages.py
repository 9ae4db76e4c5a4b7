"""Every language that Moses has abbreviations of, and those that it has none of, against
sacremoses.
"""

import random

import pytest
import sacremoses
import tensorflow as tf
from both_tokenizers import compiled, reference
from hypothesis import given, settings
from hypothesis import strategies as st
from tricky_sentences import EVERYTHING

from rnnsearch_tf.config import TextConfig, load_config
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.text.moses import prefixes
from rnnsearch_tf.text.pipeline import build_text

MOSES = sorted({*sacremoses.corpus.NonbreakingPrefixes().available_langs.values()} - {"yue", "zh"})
OTHERS = ["ko", "tr", "eo"]  # of which Moses has no abbreviations
# rules of their own, or another script; the others wait for ``make test-all``
OFTEN = [
    "en",
    "fr",
    "it",
    "cs",
    "ga",
    "de",
    "ru",
    "ta",
    "ko",
]
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
    texts = constructed(language)
    theirs = [reference(language)[0].tokenize(text, escape=False) for text in texts]
    ours = [
        [token.decode() for token in row]
        for row in compiled(language)[0](tf.constant(texts)).to_list()
    ]
    for text, row, expected in zip(texts, ours, theirs, strict=True):
        assert row == expected, text
    if language == "cs":
        theirs = [row for row in theirs if not has_a_decimal_number(row)]
    joined = compiled(language)[1](tf.ragged.constant(theirs, tf.string, ragged_rank=1)).numpy()
    for row, text in zip(theirs, joined, strict=True):
        assert text.decode() == reference(language)[1].detokenize(row), row


ROWS = [
    "„ a “ b “ c „ d „ e “ .",
    '" a „ b “ c " d',
    "“ a „ b ' c ' „",
    "b' ann d' un l' 'x",
    "dell' uomo c' è l' 5",
    "한국 어 日 本 語",
]
"""Tokens as no tokenizer need have cut them."""


@pytest.mark.parametrize("language", ["cs", "it", "ga", "fr", "ko", "ja", "es"])
def test_any_tokens_are_joined_as_in_sacremoses(language):
    rows = [row.split() for row in ROWS]
    joined = compiled(language)[1](tf.ragged.constant(rows, tf.string, ragged_rank=1)).numpy()
    assert [text.decode() for text in joined] == [
        reference(language)[1].detokenize(row) for row in rows
    ]


def has_a_decimal_number(row):
    """Where Czech differs: a number and a point or comma, at the end or before another number."""
    following = [*row[2:], "0"]
    return any(
        number.isdigit() and sign in (".", ",") and after.isdigit()
        for number, sign, after in zip(row, row[1:], following)
    )


def test_czech_numbers_are_joined_by_the_tokens_before():
    """sacremoses looks at the last two tokens of the sentence, Moses at the two before."""
    row = "Bylo to v roce 1989 .".split()
    assert reference("cs")[1].detokenize(row) == "Bylo to v roce1989."
    assert compiled("cs")[1](tf.ragged.constant([row])).numpy()[0] == b"Bylo to v roce 1989."
    row = "to je 3 , 14 metru".split()
    assert reference("cs")[1].detokenize(row) == "to je 3, 14 metru"
    assert compiled("cs")[1](tf.ragged.constant([row])).numpy()[0] == b"to je 3,14 metru"
    decimal = "asi 3 , 14 metru".split()  # detokenizer.perl: left-shift floats in Czech
    assert compiled("cs")[1](tf.ragged.constant([decimal])).numpy()[0] == b"asi 3,14 metru"


@pytest.mark.parametrize("language", MOSES)
def test_abbreviations_are_those_of_moses(language):
    theirs = {*reference(language)[0].NONBREAKING_PREFIXES}
    numeric = {*reference(language)[0].NUMERIC_ONLY_PREFIXES}
    always, before_digit = prefixes(language)
    assert {*before_digit} == numeric
    assert {*always} == {word for word in theirs - numeric if " " not in word}


LETTERS = st.sampled_from(list("aZéß09яЖαΩकিতাகളഅ한日カのー。、《》ٱתก"))
SIGNS = st.sampled_from(list(".,'\"`-!?:;()%$€„“”«»’…–&") + ["\u00a0", "।", "，", "·"])
WORDS = st.sampled_from(
    "Dr. č. p. no. nr. l' dell' s n't ' \" „ “ ” „x “. .. 5,3 , 7 1989 . т.е. η.π. ค. b'ann"
    " d'Ivoire '日".split()
)
TEXTS = st.lists(
    st.one_of(LETTERS, SIGNS, st.just(" "), WORDS.map(lambda word: f" {word} ")), max_size=20
).map("".join)


@settings(max_examples=12, deadline=None)
@given(st.lists(TEXTS, min_size=5, max_size=20))
def test_any_text_is_tokenized_and_joined_as_in_sacremoses(texts):
    for language in ("cs", "it", "ga", "es", "ru", "ko", "ta", "fi", "lv"):
        rows = [reference(language)[0].tokenize(text, escape=False) for text in texts]
        assert [
            [token.decode() for token in row]
            for row in compiled(language)[0](tf.constant(texts)).to_list()
        ] == rows
        rows = [row for row in rows if language != "cs" or not has_a_decimal_number(row)]
        joined = compiled(language)[1](tf.ragged.constant(rows, tf.string, ragged_rank=1)).numpy()
        assert [text.decode() for text in joined] == [
            reference(language)[1].detokenize(row) for row in rows
        ]


def test_a_region_or_a_script_does_not_matter():
    text = tf.constant(["O sr. Silva tem 5 págs. e 'x'. Em out. Foi."])
    for code in ("pt-BR", "pt_PT", "PT", "pt-Latn-AO"):
        assert (
            compiled(code)[0](text).to_list()
            == compiled("pt")[0](text).to_list()
            != compiled("xx")[0](text).to_list()
        )


@pytest.mark.parametrize("language", ["ja", "zh", "yue", "zh-TW", "th"])
def test_a_language_without_spaces_needs_other_tokens(language):
    with pytest.raises(
        UsageError, match=f"language {language}: .* use tokenization: sentencepiece"
    ):
        build_text(TextConfig(language=language), ["a b"])
    build_text(TextConfig(language=language, tokenization="space"), ["a b"])


def test_any_code_is_taken(tmp_path):
    for code in ("es", "tdt", "pt-BR", "zh_Hans", "xx"):
        assert load_config(overrides=[f"source.language={code}"]).source.language == code
    path = tmp_path / "c.yaml"
    path.write_text("source: {language: no}\n")  # Norwegian, which YAML takes for false
    assert (
        load_config(path).source.language
        == load_config(overrides=["source.language=no"]).source.language
        == "no"
    )


@pytest.mark.parametrize("value", ["Spanish (Spain)", "e", "''", "english", "true", "5", "../en"])
def test_what_is_no_code_is_refused(value):
    with pytest.raises(
        UsageError, match="source.language: expected a language code such as es, tdt or pt-BR, got"
    ):
        load_config(overrides=[f"source.language={value}"])
