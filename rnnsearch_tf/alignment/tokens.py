"""From the links of a line to those of its tokens, and to a matrix of a batch; which words a line
numbers, links.py says.
"""

from __future__ import annotations

import itertools
import re

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.text.characters import WORD_START

_LINK = re.compile(r"(\d{1,9})-(\d{1,9})")


class WordLinks:
    """Reads the links of a corpus, and makes links of tokens of them.

    Args:
        texts: (source Text, target Text).
    """

    def __init__(self, texts):
        self._begins = [_begins(text) for text in texts]

    def read(self, line: str, where: str, pair) -> np.ndarray:
        """The links of a line, int32 [links, 2]: (source word, target word).

        Args:
            line: ``0-0 1-2``.
            where: file and line, for errors.
            pair: (source, target), each its ids, the end symbol last, or its text as SentencePiece
                meets it.

        Raises:
            UserError: a word is no link, or links a word that does not exist.
        """
        found = [_LINK.fullmatch(word) for word in line.split()]
        if None in found:
            wrong = line.split()[found.index(None)]
            raise UserError(
                f"{where}: expected links `1-2` of words, separated by spaces, got {wrong!r};"
                " correct the line"
            )
        links = np.array([match.groups() for match in found], np.int32).reshape(-1, 2)
        for side, last, words in zip(
            ("source", "target"), links.max(axis=0, initial=-1), map(_words, pair, self._begins)
        ):
            if last >= words:
                raise UserError(
                    f"{where}: expected links of the {words} {side} words, from 0, got one of word"
                    f" {last}; number the tokens that the {side} side is cut into, or under"
                    " SentencePiece the words between spaces, as rnnsearch align does"
                )
        return links

    def of_tokens(self, links, ids) -> np.ndarray:
        """Links of tokens, int32 [links, 2]: those of all tokens of two words that are linked.

        Args:
            links: int32 [links, 2], of words.
            ids: (source ids, target ids), the end symbol last.
        """
        if all(begins is None for begins in self._begins):
            return links
        tokens = [_tokens_of_words(each, begins) for each, begins in zip(ids, self._begins)]
        together = (itertools.product(tokens[0][j], tokens[1][i]) for j, i in links.tolist())
        return np.array(list(itertools.chain.from_iterable(together)), np.int32).reshape(-1, 2)


def alignment_matrix(links, source_length: int, target_length: int) -> np.ndarray:
    """A of a batch: the share of each source token in the links of a target token.

    Args:
        links: list of int32 [links, 2]: (source token, target token) of each pair.
        source_length, target_length: J and I of the batch.

    Returns:
        float32 [B, I, J]; a row sums to 1, or is 0 where a target token has no links.

    Example:
        >>> alignment_matrix([np.array([[0, 1], [2, 1]])], 3, 2).tolist()
        [[[0.0, 0.0, 0.0], [0.5, 0.0, 0.5]]]
    """
    matrix = np.zeros((len(links), target_length, source_length), np.float32)
    for row, pairs in zip(matrix, links):
        row[pairs[:, 1], pairs[:, 0]] = 1
    return matrix / np.maximum(matrix.sum(axis=-1, keepdims=True), 1)


def _begins(text):
    """Whether each id begins a word, bool [V]; None where tokens are words."""
    if text.config.tokenization != "sentencepiece":
        return None
    return np.array([piece.startswith(WORD_START) for piece in text.vocabulary.tokens])


def _words(side, begins) -> int:
    """How many words one side of a pair has."""
    if isinstance(side, str):
        return len(side.split())
    return len(side) - 1 if begins is None else int(begins[side[:-1]].sum())


def _tokens_of_words(ids, begins) -> list:
    """The positions of each word's tokens."""
    words = np.arange(len(ids) - 1) if begins is None else np.cumsum(begins[ids[:-1]]) - 1
    return [np.flatnonzero(words == word) for word in range(words[-1] + 1 if len(words) else 0)]
