"""Vocabularies of other programs, and the order of their rows here.

Here the first entries are ``<pad>``, ``</s>`` and ``<unk>``; a token has no spaces, occurs once
and can be written in UTF-8.
"""

from __future__ import annotations

import codecs
import itertools
import json
import os
import re
import reprlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import yaml

from rnnsearch_tf.config import SPECIAL_TOKENS
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.reading import read_lines
from rnnsearch_tf.files.untrusted import MOST_TOKENS
from rnnsearch_tf.extras.importing.pickles import MOST_BYTES, read_pickle

NEVER = -1e4
"""Bias of a symbol that the other model does not have, the padding: its probability is 0."""

MOST_TEXT = 1 << 20
"""Most bytes of the description of a model."""

_YAML = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # the C library is some times faster
_FLAT = (
    yaml.StreamStartEvent,
    yaml.DocumentStartEvent,
    yaml.MappingStartEvent,
    yaml.MappingEndEvent,
    yaml.DocumentEndEvent,
    yaml.StreamEndEvent,
)

_NO_TOKEN = re.compile(r"[\s\x00\ud800-\udfff]")  # half of a surrogate pair has no UTF-8


class Rows(NamedTuple):
    """The vocabulary of one side.

    Attributes:
        tokens: the tokens in the order of their ids here.
        theirs: int64 [V], the id of each in the other program; −1: it has none.
        renamed: number of entries that could not be written as tokens.
    """

    tokens: list[str]
    theirs: np.ndarray
    renamed: int

    def rows(self, matrix: np.ndarray, missing: float = 0.0) -> np.ndarray:
        """Bring the rows [V', …] of a matrix, or the values of a vector, into the order here."""
        chosen = matrix[np.maximum(self.theirs, 0)]
        chosen[self.theirs < 0] = missing
        return chosen

    def columns(self, matrix: np.ndarray) -> np.ndarray:
        """Bring the columns [l, V'] of an output matrix into the order here."""
        return np.ascontiguousarray(self.rows(matrix.T).T)

    def biases(self, vector: np.ndarray) -> np.ndarray:
        """Bring the biases [V'] of the softmax into the order here."""
        return self.rows(vector, NEVER)


def arrange(
    words: Mapping[str, int], size: int, end_id: int, unknown_id: int, path: AnyPath
) -> Rows:
    """The Rows of a vocabulary.

    Args:
        words: {word: id}.
        size: number of rows of the other model's matrices; words with higher ids are unknown.
        end_id, unknown_id: ids of the end symbol and of the unknown word.
        path: where the words are from, for errors.

    Raises:
        UserError: there are no words, or the ids do not fit the size.
    """
    special = {end_id, unknown_id}
    if size > MOST_TOKENS or not all(0 <= number < size for number in (end_id, unknown_id)):
        raise UserError(
            f"{path}: expected at most {MOST_TOKENS:,} words and the end symbol ({end_id}) and the"
            f" unknown word ({unknown_id}) among them, got a model of {size:,} words; do vocabulary"
            " and model belong together?"
        )
    by_id: dict[int, str] = {}
    for word, number in words.items():
        # of several words with one id, the first that is a token
        if 0 <= number < size and not _is_token(by_id.get(number, "")):
            by_id[number] = word
    if not set(by_id) - special:
        raise UserError(
            f"{path}: expected words with ids below {size:,}, got {len(words):,} words, none of"
            " them below; do vocabulary and model belong together?"
        )
    theirs = [-1, end_id, unknown_id]
    tokens = list(SPECIAL_TOKENS)
    seen = set(tokens)
    renamed = 0
    for number in range(size):
        if number in special:
            continue
        token = by_id.get(number, "")
        if token in seen or not _is_token(token):
            token = f"<entry-{number}>"
            renamed += 1
        seen.add(token)
        tokens.append(token)
        theirs.append(number)
    return Rows(tokens, np.array(theirs), renamed)


def _is_token(word: str) -> bool:
    """Whether a vocabulary here may have the word."""
    return bool(word) and word not in SPECIAL_TOKENS and not _NO_TOKEN.search(word)


def arrange_lines(path: AnyPath, words: Sequence[str], end: str, unknown: str | None) -> Rows:
    """The Rows of a vocabulary with a word in each line.

    Args:
        path: its file, for errors.
        words: the lines.
        end, unknown: the special symbols among them; unknown None: one more row, after the last,
            is the unknown word's.

    Raises:
        UserError: a special symbol is missing.
    """
    ids = {word: number for number, word in enumerate(words)}
    end_id, last = id_of(path, words, end), len(words)
    if unknown is None:
        return arrange(ids, last + 1, end_id, last, path)
    return arrange(ids, last, end_id, id_of(path, words, unknown), path)


def id_of(path: AnyPath, words: Sequence[str], symbol: str) -> int:
    """The number of the line of a special symbol, counted from 0.

    Raises:
        UserError: it is missing.
    """
    if symbol not in words:
        raise UserError(
            f"{path}: expected the special symbol {symbol}, found none; is it a vocabulary of this"
            " model?"
        )
    return words.index(symbol)


def with_begin(rows: np.ndarray, begin: np.ndarray) -> np.ndarray:
    """Rows of an embedding whose first one, that of the padding, is the begin symbol's vector."""
    rows[0] = begin
    return rows


def read_dictionary(path: AnyPath) -> dict[str, Any]:
    """Read a dictionary with strings as keys from a JSON file or a pickle.

    Raises:
        UserError: the file is missing, damaged or too large, or contains anything else.
    """
    try:
        with open(path, "rb") as file:
            begin = file.read(64).removeprefix(codecs.BOM_UTF8).lstrip()[:1]
    except OSError as error:
        raise UserError(
            f"{path}: expected a JSON file or a pickle, got: {error.strerror}; check the path"
        ) from None
    tree = read_pickle(path) if begin not in (b"{", b"[") else _read_json(path)
    if not isinstance(tree, dict) or not all(isinstance(key, (str, int)) for key in tree):
        raise UserError(
            f"{path}: expected a dictionary, got {type(tree).__name__}; is it the file of another"
            " purpose?"
        )
    return tree


def read_text(path: AnyPath) -> str:
    """A small text file in UTF-8.

    Raises:
        UserError: the file is missing, too large or not UTF-8.
    """
    try:
        return _read_bytes(path, MOST_TEXT).decode("utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UserError(f"{path}: expected text in UTF-8, got: {error}; check the file") from None


def read_vocabulary(path: AnyPath) -> list[str]:
    """The lines of a file with a token in each.

    Raises:
        UserError: the file is missing, too long or not UTF-8.
    """
    tokens = list(itertools.islice(read_lines(path), MOST_TOKENS + 1))
    if len(tokens) > MOST_TOKENS:
        raise UserError(
            f"{path}: expected at most {MOST_TOKENS:,} tokens, got more; check the file"
        )
    return tokens


def read_words(path: AnyPath) -> dict[str, int]:
    """{word: id} of a YAML file of lines ``word: id``, or of a JSON file.

    Every word is text: ``on`` and ``1.5`` are words. Anchors, lists and sections are refused.

    Raises:
        UserError: the file is missing, damaged or too large, or contains anything else.
    """
    try:
        data = _read_bytes(path, MOST_BYTES)
        if data.removeprefix(codecs.BOM_UTF8).lstrip().startswith(b"{"):
            return as_words(read_dictionary(path), path)
        scalars = _scalars(data.decode("utf-8"))
        words = {word: int(number) for word, number in zip(scalars[::2], scalars[1::2])}
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise UserError(
            f"{path}: expected a vocabulary, lines `word: id` in UTF-8, got:"
            f" {' '.join(str(error).split())}; check the file"
        ) from None
    return as_words(words, path)


def _scalars(text: str) -> list[str]:
    """The keys and values of one flat YAML dictionary, in turn; ValueError if it is anything else.

    Only events are read, so that nothing is made of aliases and depth.
    """
    scalars = []
    dictionaries = 0
    for event in yaml.parse(text, _YAML):
        dictionaries += isinstance(event, yaml.MappingStartEvent)
        if isinstance(event, yaml.ScalarEvent) and dictionaries:
            scalars.append(event.value)
            if len(scalars) > 2 * MOST_TOKENS:
                raise ValueError(f"more than {MOST_TOKENS:,} words")
        elif not isinstance(event, _FLAT) or dictionaries > 1:
            raise ValueError(f"line {event.start_mark.line + 1} is no `word: id`")
    return scalars


def as_words(tree: Mapping[Any, Any], path: AnyPath) -> dict[str, int]:
    """{word: id} of a dictionary from words to ids, or from ids to words.

    Raises:
        UserError: it is neither.
    """
    if len(tree) > MOST_TOKENS:
        raise UserError(f"{path}: expected at most {MOST_TOKENS:,} words, got {len(tree):,}")
    if all(isinstance(key, int) and isinstance(value, str) for key, value in tree.items()):
        return {word: number for number, word in tree.items()}
    for key, value in tree.items():
        if not isinstance(key, str) or isinstance(value, bool) or not isinstance(value, int):
            raise UserError(
                f"{path}: expected a vocabulary, words with their ids, got {reprlib.repr(key)}:"
                f" {reprlib.repr(value)}; give the files in the order: weights, options, source"
                " vocabulary, target vocabulary"
            )
    return dict(tree)


def _read_bytes(path: AnyPath, most: int) -> bytes:
    size = os.path.getsize(path)
    if size > most:
        raise UserError(f"{path}: refused: expected at most {most:,} bytes, got {size:,}")
    with open(path, "rb") as file:
        return file.read()


def _read_json(path: AnyPath) -> Any:
    try:
        text = _read_bytes(path, MOST_BYTES).decode("utf-8-sig")
        if text.count("[") + text.count("{") > MOST_TOKENS:
            raise ValueError(f"more than {MOST_TOKENS:,} lists and dictionaries")
        return json.loads(text)
    except (ValueError, RecursionError, OSError) as error:
        raise UserError(
            f"{path}: expected JSON, got a damaged or other file ({error}); copy it again"
        ) from None
