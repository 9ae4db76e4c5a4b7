"""The text handling of runtime/, which has no TensorFlow: tokens, ids and texts of the package."""

from __future__ import annotations

import base64
import pathlib
import random
from typing import Any

import pytest
import tensorflow as tf

import unusual_text
from unusual_text import CONFIGS, SHIPPED, text_of

from rnnsearch_tf.export.check import TRICKY
from rnnsearch_tf.search.unknown import replace_unknown
from rnnsearch_tf.text.pipeline import Text

np = pytest.importorskip("numpy")
pytest.importorskip("onnxruntime")
sentencepiece = pytest.importorskip("sentencepiece")

RUNTIME = pathlib.Path(__file__).parents[2] / "runtime"

LINES = unusual_text.LINES[:]
if tuple(map(int, sentencepiece.__version__.split("."))) < (0, 2, 2):  # as the runtime needs it
    LINES += unusual_text.RUNS_OF_SIGNS
else:
    LINES.remove(TRICKY[-1])


@pytest.fixture(scope="module", params=[SHIPPED, *CONFIGS])
def package(request: pytest.FixtureRequest) -> Text:
    return text_of(request.param)


@pytest.fixture
def runtime(monkeypatch: pytest.MonkeyPatch, package: Text) -> Any:
    """The same text handling in runtime/."""
    monkeypatch.syspath_prepend(str(RUNTIME))
    from rnnsearch_runtime import text

    config = package.config
    names = ("language", "tokenization", "lowercase")
    side = {name: getattr(config, name) for name in names}
    if config.tokenization == "sentencepiece":
        side["subword_model"] = base64.b64encode(package._subwords.model).decode()
    else:
        side["tokens"] = package.vocabulary.tokens
    return text.Text(side, "source")


def as_strings(rows: tf.RaggedTensor) -> list[list[str]]:
    return [[token.decode() for token in row] for row in rows.to_list()]


def test_tokens_and_ids(package: Text, runtime: Any) -> None:
    lines = LINES
    tokens = package.tokenize(tf.constant(lines))
    ids = package.ids(tokens).to_list()
    for line, expected, numbers in zip(lines, as_strings(tokens), ids):
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
