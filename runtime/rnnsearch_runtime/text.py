"""Text handling of one side of a model: text -> tokens -> ids, and ids -> tokens -> text.

It follows ``rnnsearch_tf.text`` to the character. Normal forms, categories and cases of characters
are those of Python's Unicode tables.
"""

from __future__ import annotations

import base64
import binascii
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from rnnsearch_runtime.errors import ModelError

PAD_ID, END_ID, UNKNOWN_ID = 0, 1, 2
SPECIAL_TOKENS = ("<pad>", "</s>", "<unk>")
WORD_START = "\u2581"
"""SentencePiece's symbol for the space before a word."""

_MOST_MARKS = 30
_CONTROL = re.compile("[\x00-\x1f]")
_INVISIBLE = re.compile(
    "[\x80-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]"
)
_NEWER_MARKS = re.compile(
    "[\u0897\U00010d69-\U00010d6d\U000113ce-\U000113d0\U0001612f\U0001e5ee\U0001e5ef]"
)


def normalize(text: str, form: str = "NFC", remove_invisible: bool = False) -> str:
    """Apply a Unicode normal form; of a run of combining marks, only the first 30 are kept.

    Args:
        text: lone surrogates become U+FFFD.
        form: "NFC", "NFKC" or "none".
        remove_invisible: remove invisible characters first.
    """
    if text.isascii():
        return text
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if remove_invisible:
        text = _INVISIBLE.sub("", text)
    if form == "none":
        return text
    return unicodedata.normalize(form, _without_excess_marks(text))  # type: ignore[arg-type]


def _without_excess_marks(text: str) -> str:
    kept = []
    run = 0
    for character in text:
        run = run + 1 if _is_mark(character) else 0
        if run <= _MOST_MARKS:
            kept.append(character)
    return "".join(kept)


def _is_mark(character: str) -> bool:
    return unicodedata.category(character)[0] == "M" or bool(_NEWER_MARKS.match(character))


def clean(text: str) -> str:
    """Replace every run of white space by one space, delete ASCII control characters, strip."""
    return " ".join(_CONTROL.sub("", " ".join(text.split())).split())


class Text:
    """Text handling of one language.

    Args:
        side: the entry "source" or "target" of a model's metadata.
        where: its name in errors.

    Raises:
        ModelError: the entry is incomplete, or needs a package that is not installed.
    """

    def __init__(self, side: Mapping[str, Any], where: str) -> None:
        try:
            self.language = str(side["language"])
            self.tokenization = side["tokenization"]
            self.lowercase = bool(side["lowercase"])
            self.unicode_form = side["unicode_form"]
            self.remove_invisible = bool(side["remove_invisible"])
            self._split, self._id_of, self._token_of, self.size = _vocabulary(
                self.tokenization, side
            )
        except (KeyError, TypeError, binascii.Error) as error:
            raise ModelError(
                f"{where}: expected the settings of a text, got {type(error).__name__}: {error};"
                " export the model again"
            ) from None
        except _Damaged as error:
            raise ModelError(f"{where}: {error}; export the model again") from None
        if self.unicode_form not in ("NFC", "NFKC", "none"):
            raise ModelError(
                f"{where}: expected unicode_form NFC, NFKC or none, got {self.unicode_form!r};"
                " upgrade rnnsearch-runtime"
            )
        self._moses = None
        if self.tokenization == "moses":
            from rnnsearch_runtime.moses import Moses

            self._moses = Moses(self.language)

    def tokenize(self, text: str | bytes) -> list[str]:
        """Normalize a line, lower-case if configured, and split it into tokens; invalid UTF-8
        becomes U+FFFD.
        """
        if isinstance(text, bytes):
            text = text.decode("utf-8", "replace")
        text = clean(normalize(text, self.unicode_form, self.remove_invisible))
        if self._moses:  # its rules depend on case
            tokens = self._moses.tokenize(text)
            return [token.lower() for token in tokens] if self.lowercase else tokens
        return self._split(text.lower() if self.lowercase else text)

    def ids(self, tokens: Iterable[str]) -> list[int]:
        """Ids of tokens, the end symbol last. A token that is spelled like a special one is
        unknown.
        """
        ids = (self._id_of(token) for token in tokens)
        return [id if id > UNKNOWN_ID else UNKNOWN_ID for id in ids] + [END_ID]

    def tokens(self, ids: Iterable[int]) -> list[str]:
        """Tokens of ids, up to the end symbol and without padding."""
        tokens = []
        for id in ids:
            if id == END_ID:
                break
            if id != PAD_ID:
                known = 0 <= id < self.size
                tokens.append(self._token_of(id) if known else SPECIAL_TOKENS[UNKNOWN_ID])
        return tokens

    def detokenize(self, tokens: Sequence[str]) -> str:
        """Join tokens into text."""
        if self._moses:
            return self._moses.detokenize(tokens)
        if self.tokenization == "space":
            return " ".join(tokens)
        return "".join(tokens).replace(WORD_START, " ").strip(" \t\n\v\f\r")


class _Damaged(Exception):
    """The vocabulary of a side is not what it should be."""


_Vocabulary = tuple[Callable[[str], list[str]], Callable[[str], int], Callable[[int], str], int]


def _vocabulary(tokenization: str, side: Mapping[str, Any]) -> _Vocabulary:
    """(function that splits text, id of a token, token of an id, size) of a side."""
    if tokenization == "sentencepiece":
        import sentencepiece  # only for subwords

        model = base64.b64decode(side["subword_model"], validate=True)
        processor = sentencepiece.SentencePieceProcessor()
        try:
            processor.LoadFromSerializedProto(model)
        except RuntimeError:
            raise _Damaged(
                f"expected a SentencePiece model, got {len(model)} bytes of something else"
            ) from None
        _check(processor.id_to_piece(list(range(min(3, len(processor))))))
        return (
            lambda text: processor.encode(text, out_type=str),
            processor.piece_to_id,
            processor.id_to_piece,
            len(processor),
        )
    if tokenization not in ("moses", "space"):
        raise _Damaged(f"expected tokenization sentencepiece, moses or space, got {tokenization!r}")
    tokens = list(side["tokens"])
    _check(tokens)
    table = {token: id for id, token in enumerate(tokens)}
    return str.split, lambda token: table.get(token, UNKNOWN_ID), tokens.__getitem__, len(tokens)


def _check(tokens: list[str]) -> None:
    if tuple(tokens[:3]) != SPECIAL_TOKENS:
        raise _Damaged(f"expected the tokens {', '.join(SPECIAL_TOKENS)} first, got {tokens[:3]}")
