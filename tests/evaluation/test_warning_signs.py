"""What speaks against translations: loops against a regular expression, lengths against NumPy,
sentences by hand.
"""

import random
import re
import types

import numpy as np
import pytest

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.evaluation.warning_signs import Source, TrainingText, WarningSigns, has_loop
from rnnsearch_tf.runs.folder import Run

THRICE = re.compile(r"(?:^|(?<= ))((?:\S+ ){1,6})\1\1")


def test_loops_are_those_of_a_regular_expression():
    """1 to 6 tokens, among them a letter, three times running, anywhere."""
    draw = random.Random(3)
    found = 0
    for _ in range(3000):
        tokens = draw.choices(["a", "b", "ab", ".", "é"], k=draw.randint(0, 9))
        if draw.random() < 0.5:
            at = draw.randint(0, len(tokens))
            phrase = draw.choices("xyz.7", k=draw.randint(1, 8))
            tokens[at:at] = phrase * draw.randint(1, 4)
        text = "".join(f"{token} " for token in tokens)
        loops = [match for k in range(len(text)) if (match := THRICE.match(text, k))]
        # a phrase of marks may hide a longer one that begins at the same place
        expected = any(re.search(r"[a-zé]", match[1]) for match in loops) or any(
            re.match(rf"((?:\S+ ){{{size}}})\1\1", text[k:])
            and re.search("[a-zé]", " ".join(text[k:].split()[:size]))
            for k in [0, *(m.end() for m in re.finditer(" ", text))]
            for size in range(1, 7)
        )
        assert has_loop(tokens) == expected, tokens
        found += expected
    assert 500 < found < 2500


def translation(text, source="a b", tokens=True):
    return types.SimpleNamespace(
        text=text,
        tokens=text.split() if tokens else None,
        source_tokens=source and source.split(),
    )


def test_what_is_said_of_loops():
    signs = WarningSigns()
    signs.add([translation("a cat"), translation("no no no", "non non non")])
    assert signs.summary() is None, "the source repeats itself too"
    signs.add([translation("of age of age of age", None, tokens=False)])
    said = "1 of 3 translations repeats a phrase 3 times or more: the model does not know such text"
    assert signs.summary() == said
    signs.add([translation("x x x")])
    assert signs.summary().startswith("2 of 4 translations repeat a phrase")


def test_what_is_said_of_long_sources():
    """95 % are no longer; more than four times 5 % of the lines are worth a word."""
    signs = WarningSigns(TrainingText(3, 100), limit=50)
    signs.add([translation("a", "x " * length) for length in (3, 4, 1, 1, 1)])
    assert signs.summary() is None
    signs.add([translation("a", "x " * 4)])
    said = "2 lines are longer than 95 % of the training text (3 tokens): the model does not know"
    assert signs.summary() == f"{said} such text"
    old = WarningSigns(limit=50)
    old.add([translation("a", "x " * length) for length in [51, *[50] * 20]])
    said = "1 line is longer than the longest sentences of the training (50 tokens)"
    assert old.summary().startswith(said)


def test_what_is_said_of_unknown_words():
    """Less than half of the tokens are known; SentencePiece's mark alone is no word."""
    signs = WarningSigns(known={"a", "b", "▁"})
    signs.add([translation("t", source) for source in ("a b", "a x", "", "▁ a ▁ x")])
    assert signs.summary() is None
    signs.add([translation("t", "▁ ▁ x ▁ y ▁ a")])
    assert signs.summary().startswith("1 line is mostly unknown words: ")


def test_sources_that_somebody_else_has_read():
    """As the server's signature tokenize does: tokens, and how many of them are unknown."""
    signs = WarningSigns(TrainingText(4, 100))
    plain = translation("no no no", None, tokens=False)
    signs.add([plain], [Source("non non non".split(), 1)])
    assert signs.summary() is None, "the source repeats itself, is short, and mostly known"
    signs.add([plain] * 2, [Source("▁ x ▁ y".split(), 2), Source("a b c d e".split(), 2)])
    said = "; 1 line is longer than 95 % of the training text (4 tokens); 1 line is mostly unknown"
    assert said in signs.summary() and signs.summary().startswith("2 of 3 translations repeat")


def test_the_length_is_a_quantile(tmp_path):
    draw = np.random.default_rng(1)
    for size in (1, 2, 19, 20, 21, 1000):
        lengths = draw.integers(1, 60, size)
        expected = np.percentile(lengths, 95, method="inverted_cdf")
        assert TrainingText.of(lengths.tolist()) == TrainingText(expected, size)
    run = Run(tmp_path)
    assert TrainingText.load(run) is None
    TrainingText(7, 9).save(run)
    assert TrainingText.load(run) == TrainingText(7, 9)


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"source_length": null, "pairs": 1}',
        '{"source_length": 5, "pairs": Infinity}',
        "{}",
        "9",
    ],
)
def test_a_damaged_record_is_named(tmp_path, content):
    (tmp_path / "training_text.json").write_text(content)
    with pytest.raises(UserError, match=r"training_text.json: expected the record of a training"):
        TrainingText.load(Run(tmp_path))
