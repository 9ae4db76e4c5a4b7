"""Alignments: from the attention matrix to Pharaoh links, and to plain numbers."""

from __future__ import annotations

import numpy as np


def pharaoh(alignment, threshold=None) -> str:
    """Links ``source-target``, from 0, the end symbols left out.

    Every target word is linked to the source word it attends to most; the end
    symbol's share of the attention is not looked at. A sentence without words
    on one side has no links.

    Args:
        alignment: float [I, J], α of eq. (6): one row a target token, one column a source
            token, the end symbols last on both sides.
        threshold: link to every source word with at least this weight instead.

    Returns:
        The links, by source position, then target position, separated by spaces.

    Example:
        >>> pharaoh([[0.1, 0.8, 0.1], [0.7, 0.2, 0.1], [0.0, 0.1, 0.9]])
        '0-1 1-0'
    """
    return " ".join(f"{source}-{target}" for source, target in links(alignment, threshold))


def links(alignment, threshold=None) -> list:
    """The pairs (source position, target position) behind `pharaoh`, sorted."""
    words = np.asarray(alignment, dtype=np.float64)  # [I, J]
    words = words[:-1, :-1] if words.ndim == 2 else np.zeros((0, 0))  # [words of target, words of source]
    if 0 in words.shape:
        return []
    if threshold is not None:
        return sorted((int(j), int(i)) for i, j in np.argwhere(words >= threshold))
    return sorted((int(j), i) for i, j in enumerate(words.argmax(axis=1)))


def as_numbers(alignment, digits=4) -> list:
    """The matrix as nested lists, rounded, for JSON."""
    return [[round(float(weight), digits) for weight in row] for row in alignment]
