"""Text handling against values that were worked out by hand."""

from __future__ import annotations

from typing import Any

import pytest
from rnnsearch_runtime import ModelError
from rnnsearch_runtime.text import Text, normalize

SIDE: dict[str, Any] = {
    "language": "en",
    "tokenization": "space",
    "lowercase": True,
    "tokens": ["<pad>", "</s>", "<unk>", "the", "été"],
}


def test_normalization() -> None:
    assert normalize("e\u0301te\u0301") == "été"
    # the joiners stay
    assert normalize("\ufeffa\u200bb\u00adc\u200dd\u0084\u0085") == "abc\u200dd\u0085"


def test_words() -> None:
    text = Text(SIDE, "source")
    tokens = text.tokenize("  The\u00a0ÉTE\u0301 </s> <pad> x ")
    assert tokens == ["the", "été", "</s>", "<pad>", "x"]
    assert text.ids(tokens) == [3, 4, 2, 2, 2, 1]
    assert text.ids([]) == [1]
    assert text.tokens([0, 4, 9, -1, 3, 1, 3]) == ["été", "<unk>", "<unk>", "the"]
    assert text.detokenize(["a", "b", "."]) == "a b ."
    assert text.tokenize(b"the \xff\xe2\x82") == ["the", "\ufffd\ufffd"]
    assert text.tokenize("a\ud800b") == ["a\ufffd\ufffd\ufffdb"]  # as TensorFlow reads its bytes


def test_pieces(subword_model: str) -> None:
    side = SIDE | {"tokenization": "sentencepiece", "subword_model": subword_model}
    text = Text(side, "source")
    tokens = text.tokenize("The cat SLEEPS ßß.")
    assert "".join(tokens) == "▁the▁cat▁sleeps▁ßß."
    ids = text.ids(tokens)
    assert ids[-1] == 1 and ids[-2] == 2 and 2 not in ids[: len(text.tokenize("the cat sleeps"))]
    assert text.tokens(ids)[-1] == "<unk>"
    assert text.detokenize(["▁the", "▁", "c", "at", "▁"]) == "the cat"
    assert text.tokenize("") == []
    # one unknown piece that is spelled like the end symbol
    assert text.ids(["</s>"]) == [2, 1]


def test_another_tokenization() -> None:
    with pytest.raises(ModelError, match="file: expected tokenization sentencepiece or space"):
        Text(SIDE | {"tokenization": "moses"}, "file")
