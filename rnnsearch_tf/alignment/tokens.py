"""From the word links of a line to token links, and to the matrix of a batch; see data/links.py for
the numbering of words.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.text.characters import WORD_START

if TYPE_CHECKING:
    from rnnsearch_tf.text.pipeline import Text

_LINK = re.compile(r"(\d{1,9})-(\d{1,9})")


class WordLinks:
    """Reads the word links of a corpus and converts them to token links.

    Args:
        texts: (source Text, target Text).
    """

    def __init__(self, texts: tuple[Text, Text]):
        self._numbers = [_numbers(text) for text in texts]

    def read(self, line: str, where: str, pair: Sequence[np.ndarray]) -> np.ndarray:
        """Parse a line of word links.

        Args:
            line: links such as ``0-0 1-2``.
            where: file and line, for errors.
            pair: (source, target) ids, the end symbol last.

        Returns:
            int32 [links, 2]: (source word, target word).

        Raises:
            UserError: a word is not a link, or a link names a word that does not exist.
        """
        matches = []
        for word in line.split():
            match = _LINK.fullmatch(word)
            if match is None:
                raise UserError(
                    f"{where}: expected links `1-2` of words, separated by spaces, got {word!r};"
                    " correct the line"
                )
            matches.append(match.groups())
        links = np.array(matches, np.int32).reshape(-1, 2)
        for side, last, words in zip(
            ("source", "target"), links.max(axis=0, initial=-1), map(_words, pair, self._numbers)
        ):
            if last >= words:
                raise UserError(
                    f"{where}: expected links of the {words} {side} words, from 0, got one of word"
                    f" {last}; number the tokens of the {side} side, or with SentencePiece the"
                    " words between spaces, as rnnsearch align does"
                )
        return links

    def token_links(self, links: np.ndarray, ids: Sequence[np.ndarray]) -> np.ndarray:
        """Link all tokens of two linked words.

        Args:
            links: int32 [links, 2], of words.
            ids: (source ids, target ids), the end symbol last.

        Returns:
            int32 [links, 2], of tokens.
        """
        if all(numbers is None for numbers in self._numbers):
            return links
        tokens = [_tokens_of_words(each, numbers) for each, numbers in zip(ids, self._numbers)]
        products = (
            itertools.product(tokens[0][j], tokens[1][i])
            for j, i in links.tolist()
            if j < len(tokens[0]) and i < len(tokens[1])
        )
        return np.array(list(itertools.chain.from_iterable(products)), np.int32).reshape(-1, 2)


def alignment_matrix(
    links: Sequence[np.ndarray], source_length: int, target_length: int
) -> np.ndarray:
    """A of a batch: the share of each source token in the links of a target token.

    Args:
        links: int32 [links, 2] for each pair: (source token, target token).
        source_length, target_length: J and I of the batch.

    Returns:
        float32 [B, I, J]; a row sums to 1, or is 0 if the target token has no links.

    Example:
        >>> alignment_matrix([np.array([[0, 1], [2, 1]])], 3, 2).tolist()
        [[[0.0, 0.0, 0.0], [0.5, 0.0, 0.5]]]
    """
    matrix = np.zeros((len(links), target_length, source_length), np.float32)
    for row, pairs in zip(matrix, links):
        row[pairs[:, 1], pairs[:, 0]] = 1
    return matrix / np.maximum(matrix.sum(axis=-1, keepdims=True), 1)


_Numbers = Callable[[np.ndarray], np.ndarray]
"""From ids [n] without the end symbol to the rising number of each token's word, from 0.
"""


def _numbers(text: Text) -> _Numbers | None:
    """The numbering of a side's words; None if tokens are words.

    Raises:
        UserError: a piece of SentencePiece has several words, whose links cannot be told apart.
    """
    tokens = text.vocabulary.tokens
    if text.config.tokenization == "sentencepiece":
        joined = next((token for token in tokens if WORD_START in token[1:]), None)
        if joined is not None:
            raise UserError(
                f"guided alignment: expected SentencePiece pieces within words, got {joined!r};"
                " train a model with split_by_whitespace=true"
            )
        begins = np.array([token.startswith(WORD_START) for token in tokens])
        return lambda ids: np.cumsum(begins[ids]) - 1
    return None


def _words(side: np.ndarray, numbers: _Numbers | None) -> int:
    """The number of words on one side of a pair."""
    if numbers is None:
        return len(side) - 1
    return int(numbers(side[:-1]).max(initial=-1)) + 1


def _tokens_of_words(ids: np.ndarray, numbers: _Numbers | None) -> list[np.ndarray]:
    """The token positions of each word."""
    words = np.arange(len(ids) - 1) if numbers is None else numbers(ids[:-1])
    return [np.flatnonzero(words == word) for word in range(words.max(initial=-1) + 1)]
