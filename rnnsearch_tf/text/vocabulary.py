"""The vocabulary of a model: token to id and back.

File format: UTF-8, one token a line; the line number, counted from 0, is the id. The first three
lines are the special tokens ``<pad>``, ``</s>`` and ``<unk>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

import tensorflow as tf

from rnnsearch_tf.config import SPECIAL_TOKENS, UNKNOWN_ID
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.files.reading import read_lines


class Vocabulary(tf.Module):
    """A list of tokens, and the table of their ids, which an export tracks.

    A word in the text that is spelled like a special token is an unknown word: no text can produce
    padding or an early end. ``<unk>`` in tokenized text thus stays ``<unk>``.

    Args:
        tokens: the tokens in the order of their ids.
        where: name of the list in errors.

    Attributes:
        size: number of tokens, including the special ones.

    Raises:
        UserError: the list is not a valid vocabulary.

    Example:
        >>> vocabulary = Vocabulary(["<pad>", "</s>", "<unk>", "chat"])
        >>> vocabulary.ids(tf.constant(["chat", "chien", "</s>"])).numpy().tolist()
        [3, 2, 2]
    """

    def __init__(self, tokens: Iterable[str], where: AnyPath = "vocabulary") -> None:
        super().__init__(name="vocabulary")
        tokens = list(tokens)
        _check(tokens, where)
        self.size = len(tokens)
        self._text = "\n".join(tokens)  # a list attribute would be wrapped and tracked item by item
        self._words = tf.constant(tokens)
        specials = len(SPECIAL_TOKENS)
        ids = tf.range(specials, self.size)
        initializer = tf.lookup.KeyValueTensorInitializer(self._words[specials:], ids)
        self._id_of = tf.lookup.StaticHashTable(initializer, UNKNOWN_ID)

    @property
    def tokens(self) -> list[str]:
        """All tokens in the order of their ids."""
        return self._text.split("\n")

    def ids(self, tokens: tf.Tensor | tf.RaggedTensor) -> tf.Tensor | tf.RaggedTensor:
        """Look up ids: string of any shape, or ragged -> int32 of the same shape."""
        return self._id_of.lookup(tokens)

    def words(self, ids: tf.Tensor) -> tf.Tensor:
        """Look up tokens: integers of any shape -> string of the same shape; an id out of range
        gives ``<unk>``.
        """
        ids = tf.convert_to_tensor(ids)
        inside = (ids >= 0) & (ids < self.size)
        return tf.gather(self._words, tf.where(inside, ids, UNKNOWN_ID))

    def save(self, path: AnyPath) -> None:
        """Write the vocabulary file."""
        write_file(path, self._text + "\n")

    @classmethod
    def load(cls, path: AnyPath) -> Vocabulary:
        """Read a vocabulary file.

        Raises:
            UserError: the file is missing, is not UTF-8, lacks a special token, or has an empty
                line, a token with a space or a duplicate; the message names file and line.
        """
        return cls(read_lines(path), path)

    @classmethod
    def build(
        cls,
        counts: Mapping[str, int],
        size: int,
        where: AnyPath = "training text",
    ) -> Vocabulary:
        """Make a vocabulary of the most frequent tokens of a text.

        Order: the special tokens, then by falling frequency, then by code points. It has at most
        `size` entries, the special tokens included.

        Raises:
            UserError: there is no token; `where` names the text.
        """
        counts = {word: count for word, count in counts.items() if word not in SPECIAL_TOKENS}
        if not counts:
            raise UserError(f"{where}: expected text, got no words at all; check the file")
        return cls([*SPECIAL_TOKENS, *by_frequency(counts)[: size - len(SPECIAL_TOKENS)]])

    def extended(self, counts: Mapping[str, int], number: int) -> Vocabulary:
        """A copy of this vocabulary, followed by the most frequent words of another text that it
        lacks, `number` at most, in the order of :meth:`build`.

        Example:
            >>> vocabulary = Vocabulary([*SPECIAL_TOKENS, "chat"])
            >>> vocabulary.extended({"chat": 9, "chien": 2, "loup": 5}, 1).tokens[3:]
            ['chat', 'loup']
        """
        known = set(self.tokens)
        new = [word for word in by_frequency(counts) if word not in known]
        return Vocabulary([*self.tokens, *new[:number]])


def by_frequency(counts: Mapping[str, int]) -> list[str]:
    """The words by falling frequency, then by code points."""
    return sorted(counts, key=lambda word: (-counts[word], word))


def _check(tokens: Sequence[str], where: AnyPath) -> None:
    """Raise UserError unless the tokens are the lines of a vocabulary file."""
    for number, special in enumerate(SPECIAL_TOKENS, start=1):
        if tokens[number - 1 : number] != [special]:
            found = repr(tokens[number - 1]) if number <= len(tokens) else "the end of the file"
            raise UserError(
                f"{where}:{number}: expected the special token {special}, got {found}; "
                f"the first three lines of a vocabulary are {', '.join(SPECIAL_TOKENS)}"
            )
    seen: dict[str, int] = {}
    for number, token in enumerate(tokens, start=1):
        if not token or re.search(r"[ \t\r\v\f]", token):
            raise UserError(
                f"{where}:{number}: expected one token without spaces, got {token!r}; correct the"
                " line"
            )
        if token in seen:
            raise UserError(
                f"{where}:{number}: expected each token once, got {token!r} again after line"
                f" {seen[token]}; take one out"
            )
        seen[token] = number
    if len(tokens) == len(SPECIAL_TOKENS):
        raise UserError(f"{where}: expected words after the special tokens, got none; add some")
