"""Text handling of one side of a model: text -> tokens -> ids, and ids -> tokens -> text.

It follows ``rnnsearch_tf.text`` to the character; Unicode's tables are those of Python.
"""

from __future__ import annotations

import base64
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rnnsearch_runtime.model import ModelError

PAD_ID, END_ID, UNKNOWN_ID = 0, 1, 2
SPECIAL_TOKENS = ["<pad>", "</s>", "<unk>"]
WORD_START = "\u2581"
"""SentencePiece's symbol for the space before a word."""

_CONTROL = re.compile("[\x00-\x1f]")
_INVISIBLE = re.compile(
    "[\x80-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
)


def normalize(text: str) -> str:
    """Remove invisible characters and apply Unicode's NFC."""
    return unicodedata.normalize("NFC", _INVISIBLE.sub("", text))


def clean(text: str) -> str:
    """Replace every run of white space by one space, delete ASCII control characters, strip."""
    return " ".join(_CONTROL.sub("", " ".join(text.split())).split())


class Text:
    """Text handling of one language.

    Args:
        side: the entry "source" or "target" of a model's metadata.
        where: its name in errors.

    Raises:
        ModelError: the tokenization is not supported.
    """

    def __init__(self, side: Mapping[str, Any], where: str) -> None:
        self.tokenization = str(side.get("tokenization"))
        self._pieces = None
        if self.tokenization == "sentencepiece":
            from sentencepiece import SentencePieceProcessor

            self._pieces = SentencePieceProcessor()
            self._pieces.LoadFromSerializedProto(base64.b64decode(side["subword_model"]))
            self._tokens = self._pieces.id_to_piece(list(range(len(self._pieces))))
        elif self.tokenization == "space":
            self._tokens = list(side["tokens"])
        else:
            raise ModelError(
                f"{where}: expected tokenization sentencepiece or space, got {self.tokenization};"
                " serve the model as a SavedModel, which has its text handling"
            )
        self.lowercase: bool = side["lowercase"]
        self._ids = {token: id for id, token in enumerate(self._tokens) if id > UNKNOWN_ID}

    def tokenize(self, text: str | bytes) -> list[str]:
        """Normalize a line, lower-case if configured, and split it into tokens; invalid UTF-8
        becomes U+FFFD.
        """
        if isinstance(text, str):
            text = text.encode("utf-8", "surrogatepass")
        text = clean(normalize(text.decode("utf-8", "replace")))
        text = text.lower() if self.lowercase else text
        return self._pieces.encode(text, out_type=str) if self._pieces else text.split()

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Ids of tokens, the end symbol last; one that is spelled like a special token is
        unknown.
        """
        return [*(self._ids.get(token, UNKNOWN_ID) for token in tokens), END_ID]

    def tokens(self, ids: list[int]) -> list[str]:
        """Tokens of ids, up to the end symbol and without padding."""
        ids = ids[: ids.index(END_ID)] if END_ID in ids else ids
        known = range(len(self._tokens))
        return [self._tokens[id if id in known else UNKNOWN_ID] for id in ids if id != PAD_ID]

    def detokenize(self, tokens: Sequence[str]) -> str:
        """Join tokens into text."""
        if self.tokenization == "space":
            return " ".join(tokens)
        return "".join(tokens).replace(WORD_START, " ").strip(" \t\n\v\f\r")
