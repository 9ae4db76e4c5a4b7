"""Truecasing in TensorFlow operations, compared with sacremoses.

``use_known=True`` is what truecase.perl does: a word keeps a casing that the model knows.
"""

import doctest

import pytest
import sacremoses
import tensorflow as tf
from hypothesis import given, settings
from hypothesis import strategies as st
from reference_rules import learned_truecaser, lists, ragged, real_lines
from tricky_sentences import BY_LANGUAGE, EVERYTHING

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.text import truecase
from rnnsearch_tf.text.truecase import Truecaser, detruecase


def check_like_sacremoses(rows, reference, path):
    ours = Truecaser(path.read_bytes()).truecase(ragged(rows))
    assert lists(ours) == [reference.truecase(" ".join(row), use_known=True) for row in rows]
    back = sacremoses.MosesDetruecaser()
    assert lists(detruecase(ours)) == [back.detruecase(" ".join(row)) for row in lists(ours)]


def moses_tokens(lines, language):
    tokenizer = sacremoses.MosesTokenizer(language)
    return [tokenizer.tokenize(line, escape=False) for line in lines]


@pytest.mark.parametrize("language", ["en", "fr", "de"])
def test_tricky_sentences(language, tmp_path):
    rows = moses_tokens(BY_LANGUAGE[language] + EVERYTHING, language)
    check_like_sacremoses(rows, learned_truecaser(rows, tmp_path / "model"), tmp_path / "model")


@pytest.mark.parametrize("name", ["multi30k/train.de", "python-docs/train.fr", "tatoeba/train.en"])
def test_thousands_of_real_lines(name, tmp_path):
    rows = moses_tokens(real_lines(name, 5000), name[-2:])
    if not rows:
        pytest.skip("no data")
    reference = learned_truecaser(rows[:2500], tmp_path / "model")
    check_like_sacremoses(rows, reference, tmp_path / "model")


WORDS = ["the", "The", "THE", "paris", "Paris", "été", "Été", "ß", "SS", "İ", "x1", "X1"]
MARKS = [*".:?!([\"'),]", "&apos;", "&quot;", "&#91;", "&#93;", "<b>", "|", "...", "«"]


@settings(max_examples=150, deadline=None)
@given(
    rows=st.lists(st.lists(st.sampled_from(WORDS + MARKS), max_size=9), min_size=1, max_size=4),
    counts=st.dictionaries(st.sampled_from(WORDS), st.integers(1, 9)),
)
def test_any_rows(rows, counts, tmp_path_factory):
    counts = counts or {"The": 2}
    reference = sacremoses.MosesTruecaser()
    path = tmp_path_factory.mktemp("model") / "model"
    casings = {}
    for word, count in counts.items():
        casings.setdefault(word.lower(), {})[word] = count
    lines = []
    for found in casings.values():
        ordered = sorted(found.items(), key=lambda item: -item[1])
        fields = [f"{word} ({count})" for word, count in ordered]
        lines.append(" ".join(fields).replace(")", f"/{sum(found.values())})", 1))
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    reference = sacremoses.MosesTruecaser(str(path))
    check_like_sacremoses(rows, reference, path)


def cased(model, line):
    return " ".join(lists(Truecaser(model).truecase(ragged([line.split()])))[0])


def test_where_a_sentence_starts():
    model = b"the (9/10) The (1)\nparis (1/9) Paris (8)\n"
    assert cased(model, "The The THE") == "the The the"
    assert cased(model, 'x . " ( The The') == 'x . " ( the The'
    assert cased(model, "x , The") == "x , The"
    assert cased(model, "Zebra ZEBRA") == "Zebra ZEBRA"


def test_of_two_lines_with_the_same_letters_the_last_counts():
    """As in truecase.perl; sacremoses compares their counts."""
    assert cased(b"The (9/9)\nthe (1/1)\n", "THE") == "the"


def test_weights_of_first_words_are_no_whole_numbers():
    assert cased(b"the (9.1/9.2) The (0.1)\n", "The") == "the"


def test_a_capital_may_be_two_letters():
    assert lists(detruecase(ragged([["ßa", "ßa"], ["ǆ"], []]))) == [["SSa", "ßa"], ["Ǆ"], []]


def test_in_a_graph_for_any_batch():
    model = Truecaser(b"the (9/10) The (1)\n")
    function = tf.function(
        lambda tokens: detruecase(model.truecase(tokens)),
        autograph=False,
        input_signature=[tf.RaggedTensorSpec([None, None], tf.string)],
    )
    for rows in ([], [[]], [["THE", "cat"], [], ["THE"]]):
        assert lists(function(ragged(rows))) == [["The", *row[1:]] if row else [] for row in rows]


@pytest.mark.parametrize(
    "data, message",
    [
        (b"", r"f:1: expected a line `word \(count/total\) Word \(count\)`, got ''"),
        (b"a (1/1)\nb\n", r"f:2: .* got 'b'; name the file that train-truecaser.perl wrote"),
        (b"a (1/1)\nb (x)\n", r"f:2: .* got 'b \(x\)'"),
        (b"a (1/1) b\n", r"f:1: .* got 'a \(1/1\) b'"),
        (b"a (1/1)\n\xe9 (1/1)\n", r"f:2: expected a truecasing model in UTF-8, got byte 0xe9"),
    ],
)
def test_a_damaged_file_is_refused(data, message):
    with pytest.raises(UserError, match=message):
        Truecaser(data, "f")


def test_examples_in_docstrings():
    result = doctest.testmod(truecase)
    assert result.failed == 0 and result.attempted > 0
