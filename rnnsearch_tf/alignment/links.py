"""From attention weights to links, between tokens or between the words that subword pieces form."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rnnsearch_tf.alignment import Link
from rnnsearch_tf.text.characters import WORD_START

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def links(alignment: ArrayLike) -> list[Link]:
    """The links of a sentence pair, without the end symbols.

    Each target word is linked to the source word it attends to most; attention to the end symbol
    is ignored. A word without other attention has no link. If one side has no words, there are no
    links.

    Args:
        alignment: float [I, J], α of eq. (6): one row for each target token, one column for each
            source token, the end symbols last on both sides.

    Returns:
        The links, sorted.

    Example:
        >>> links([[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.0, 0.1, 0.9]])
        [(0, 1), (1, 0)]
    """
    words = np.asarray(alignment, np.float64)[:-1, :-1]  # [words of target, words of source]
    return sorted((int(row.argmax()), i) for i, row in enumerate(words) if row.any())


def word_links(
    alignment: np.ndarray,
    source_tokens: Sequence[str],
    target_tokens: Sequence[str],
    pieces: tuple[bool, bool],
) -> list[Link]:
    """The links between the words of a sentence pair.

    Args:
        alignment: float [target tokens + 1, source tokens + 1].
        pieces: whether the tokens of the source and of the target are SentencePiece pieces.
    """
    shares = [
        word_shares(tokens) if is_pieces else None
        for tokens, is_pieces in zip((source_tokens, target_tokens), pieces)
    ]
    return links(word_alignment(alignment, *shares))


def word_alignment(
    alignment: ArrayLike, source: np.ndarray | None = None, target: np.ndarray | None = None
) -> np.ndarray:
    """The alignment between words, from the alignment between their subword pieces.

        α'_IJ = mean over the pieces i of target word I of  Σ over the pieces j of source word J
        α_ij

    A piece that spans several words is shared among them by its characters.

    Args:
        alignment: float [I, J], end symbols last on both sides.
        source, target: :func:`word_shares` of the pieces of that side; None if its tokens are
            words.

    Returns:
        float64 [target words + 1, source words + 1], end symbols last.

    Example:
        >>> shares = word_shares(["▁a", "▁b", "c"])
        >>> links(word_alignment([[0.4, 0.3, 0.3, 0.0], [0.0, 0.1, 0.1, 0.8]], source=shares))
        [(1, 0)]
    """
    weights = np.asarray(alignment, np.float64)
    if source is not None:
        weights = weights @ source
    if target is not None:
        weights = (target / target.sum(axis=0)).T @ weights
    return weights


def word_shares(pieces: Sequence[str]) -> np.ndarray:
    """The share of each piece that belongs to each word; U+2581 separates words.

    Args:
        pieces: SentencePiece pieces, with U+2581 before each word. A U+2581 that is a piece by
            itself belongs to the next word.

    Returns:
        float64 [pieces + 1, words + 1], the end symbol last, which is a word by itself.

    Example:
        >>> word_shares(["▁th", "e", "▁", "cat"]).astype(int).tolist()
        [[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]]
    """
    words = [*filter(None, "".join(pieces).split(WORD_START))]
    # the number of the word that each character belongs to
    owners = [number for number, word in enumerate(words) for _ in word]
    shares = np.zeros((len(pieces) + 1, len(words) + 1))
    shares[-1, -1] = 1
    position = 0
    for row, piece in zip(shares, pieces):
        length = len(piece.replace(WORD_START, ""))
        end = position + max(length, 1)
        for owner in owners[position:end] or owners[-1:]:
            row[owner] += 1
        position += length
    return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1)


def as_lists(alignment: Iterable[Iterable[float]]) -> list[list[float]]:
    """The matrix as nested lists of rounded numbers, for JSON."""
    return [[round(float(weight), 6) for weight in row] for row in alignment]
