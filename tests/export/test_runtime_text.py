"""The text handling of runtime/, which has no TensorFlow: tokens, ids and texts of the package."""

from __future__ import annotations

import pathlib
import random
from typing import Any

import pytest
import tensorflow as tf

from rnnsearch_tf.config import TextConfig, load_config
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.export.check import LONG, TRICKY
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.search.unknown import replace_unknown
from rnnsearch_tf.text.characters import BLANK_CHARACTERS
from rnnsearch_tf.text.pipeline import Text, build_text, load_texts

np = pytest.importorskip("numpy")
pytest.importorskip("onnxruntime")
pytest.importorskip("sentencepiece")

RUNTIME = pathlib.Path(__file__).parents[2] / "runtime"

SIGNS = [
    *BLANK_CHARACTERS,
    *"aAßİıΣσ.,'’-½²ﬁＡ①日本語かなカナ한국어שלוםمرحباकि",
    *"\u0301\u0328\u0327\u0300\u05b8\u0651\u20dd\u200c\u200d\u0000\u0007\u001b\u007f\u0085",
    *["🙂", "👩\u200d👩\u200d👧", "🇫🇷", "▁", "<unk>", "</s>", "<pad>", " ", "\r", "\ufffd", "𝐀"],
]


def unusual_lines() -> list[bytes]:
    """Sentences, tricky lines, and random ones of tricky signs and of random bytes."""
    rng = random.Random(1)
    sentences = phrasebook(300, "train")
    texts = [
        *sentences[0],
        *sentences[1],
        *(f"a{space}b{space}{space} c{space}" for space in BLANK_CHARACTERS),
        "e\u0301" + "\u0301" * 60 + "x" + "\u0328\u0301" * 40,
        "ΟΔΥΣΣΕΥΣ. ΑΣ ΣΑΣ Σ",
        # of several equally probable segmentations, sentencepiece takes others from 0.2.2 on
        *(sign * n for sign in [*".!(1", "ha", "ha ha "] for n in range(2, 30)),
        *("".join(rng.choices(SIGNS, k=rng.randint(1, 25))) for _ in range(600)),
    ]
    noise = (
        b"".join(rng.choices([b"\xc3\xa9", b"\xe2\x82", b"\xff", b"\xed\xa0\x80", b"a", b" "], k=9))
        for _ in range(100)
    )
    return [*TRICKY, LONG, *(text.encode() for text in texts), *noise]


LINES = unusual_lines()
CONFIGS = {
    "subwords": TextConfig(tokenization="sentencepiece", vocabulary_size=500, lowercase=True),
    "words": TextConfig(language="fr", tokenization="space", vocabulary_size=300),
}


@pytest.fixture(scope="module", params=["shipped", *CONFIGS])
def package(request: pytest.FixtureRequest) -> Text:
    if request.param == "shipped":
        run = Run.open("tatoeba-en-fr")
        return load_texts(run, load_config(run.config))[0]
    training = [line.decode("utf-8", "replace") for line in LINES[: len(TRICKY) + 400]]
    return build_text(CONFIGS[request.param], training)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch, package: Text) -> Any:
    """The same text handling in runtime/."""
    monkeypatch.syspath_prepend(str(RUNTIME))
    from rnnsearch_runtime import text

    from rnnsearch_tf.extras.onnx.export import text_settings

    return text.Text(text_settings(package), "source")


def as_strings(rows: tf.RaggedTensor) -> list[list[str]]:
    return [[token.decode() for token in row] for row in rows.to_list()]


def test_tokens_and_ids(package: Text, runtime: Any) -> None:
    tokens = package.tokenize(tf.constant(LINES))
    ids = package.ids(tokens).to_list()
    for line, expected, numbers in zip(LINES, as_strings(tokens), ids):
        found = runtime.tokenize(line)
        assert found == expected, line
        assert runtime.tokenize(line.decode("utf-8", "replace")) == expected, line
        assert runtime.ids(found) == numbers, line


def test_texts(package: Text, runtime: Any) -> None:
    rng = random.Random(2)
    size = package.vocabulary.size
    rows = [[rng.randint(-1, size + 1) for _ in range(12)] for _ in range(500)]
    rows += [[3, 0, 4, 1, 5, 1], [1], [0], [2, 2], [size - 1, size]]
    tokens = package.tokens(tf.ragged.constant(rows, tf.int32))
    texts = [text.decode() for text in package.detokenize(tokens).numpy()]
    for row, words, text in zip(rows, as_strings(tokens), texts):
        assert runtime.tokens(row) == words
        assert runtime.detokenize(words) == text


def test_unknown_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(RUNTIME))
    from rnnsearch_runtime import Translator

    rng = random.Random(3)
    runtime = Translator.__new__(Translator)
    for _ in range(50):
        source = rng.choices("abcd", k=rng.randint(1, 5))
        tokens = rng.choices(["<unk>", "w"], k=rng.randint(0, 6))
        alignment = np.round(np.random.default_rng(rng.randint(0, 99)).random((7, 6)), 1)
        alignment = alignment[: len(tokens) + 1, : len(source) + 1].astype(np.float32)
        expected = replace_unknown(
            tf.ragged.constant([tokens], tf.string, ragged_rank=1),
            tf.constant(alignment[None]),
            tf.ragged.constant([source], tf.string, ragged_rank=1),
        )
        assert runtime._replaced(tokens, alignment, source) == as_strings(expected)[0]
