"""From attention weights to what the command writes: Pharaoh links, or the weights."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rnnsearch_runtime.text import WORD_START

if TYPE_CHECKING:
    import numpy as np


def pharaoh(
    alignment: np.ndarray,
    source: Sequence[str] | None = None,
    target: Sequence[str] | None = None,
) -> str:
    """Links of a sentence pair, ``0-0 1-2``: each target word is linked to the source word that it
    attends to most. Attention to the end symbol is ignored.

    Args:
        alignment: float [I, J], end symbols last on both sides.
        source, target: SentencePiece pieces of that side, which are joined to words: the weights
            are summed over the pieces of a source word, averaged over those of a target word.
            None: its tokens are words.

    Example:
        >>> import numpy as np
        >>> pharaoh(np.array([[0.4, 0.3, 0.3, 0], [0, 0.1, 0.1, 0.8]]), ["▁a", "▁b", "c"])
        '1-0'
    """
    import numpy as np

    weights = alignment[:-1].astype(np.float64)
    if not weights.size:
        return ""
    weights = weights @ _shares(source) if source is not None else weights[:, :-1]
    if target is not None:
        shares = _shares(target)[:-1]
        weights = (shares / shares.sum(axis=0)).T @ weights
    if not weights.size:
        return ""
    return " ".join(
        f"{j}-{i}" for j, i in sorted((int(j), i) for i, j in enumerate(weights.argmax(axis=1)))
    )


def _shares(pieces: Sequence[str]) -> np.ndarray:
    """The share of each piece that belongs to each word, float64 [pieces + 1, words]; the last row,
    that of the end symbol, is zero. A U+2581 by itself belongs to the next word.
    """
    import numpy as np

    words = list(filter(None, "".join(pieces).split(WORD_START)))
    # the number of the word that each character belongs to
    owners = [number for number, word in enumerate(words) for _ in word]
    shares = np.zeros((len(pieces) + 1, len(words)))
    position = 0
    for row, piece in zip(shares, pieces):
        length = len(piece.replace(WORD_START, ""))
        for owner in owners[position : position + max(length, 1)] or owners[-1:]:
            row[owner] += 1
        position += length
    return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1)


def as_lists(alignment: np.ndarray) -> list[list[float]]:
    """The matrix as lists of numbers with 4 digits, for JSON."""
    return [[round(float(weight), 4) for weight in row] for row in alignment]
