"""Word translation probabilities: IBM Model 1 (Brown et al. 1993, section 4.1)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np


def translation_probabilities(
    pairs: Iterable[tuple[Sequence[int], Sequence[int]]], target_size: int, iterations: int = 5
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """t(target word | source word) of IBM Model 1, by expectation maximization from uniform
    probabilities.

        each occurrence of a target word f is shared among the source words e of its pair:
        c(f, e) = Σ over occurrences of f  t(f | e) / Σ_e' t(f | e'),
        t(f | e) = c(f, e) / Σ_f' c(f', e)

    Args:
        pairs: (source ids, target ids) of each pair. An id in every source, such as the end
            symbol, acts as the model's empty word.
        target_size: upper bound of the target ids, exclusive.
        iterations: EM iterations, at least 1.

    Returns:
        (source_ids int64 [C], target_ids int64 [C], probabilities float64 [C]) of the C word pairs
        that occur together, sorted by source word, then by falling probability. Memory: about 100
        bytes for each pair of positions of the text.

    Example:
        >>> e, f, t = translation_probabilities([([0, 1], [0, 1]), ([0], [0])], 2, iterations=20)
        >>> [(int(a), int(b)) for a, b, p in zip(e, f, t) if p > 0.9]
        [(0, 0), (1, 1)]
    """
    keys = []
    occurrences = []
    words = 0
    for source_ids, target_ids in pairs:
        # [I, J]
        cells = np.add.outer(
            np.asarray(target_ids, np.int64), np.asarray(source_ids, np.int64) * target_size
        )
        keys.append(cells.ravel())
        positions = np.arange(words, words + len(target_ids))
        occurrences.append(np.repeat(positions, len(source_ids)))
        words += len(target_ids)
    if not words:
        nothing = np.zeros(0, np.int64)
        return nothing, nothing, np.zeros(0)
    cells, cell = np.unique(np.concatenate(keys), return_inverse=True)  # [C], [positions]
    occurrence = np.concatenate(occurrences)
    source = cells // target_size
    target = cells % target_size
    probabilities = np.ones(len(cells))
    for _ in range(iterations):
        shares = probabilities[cell]
        shares /= np.bincount(occurrence, shares)[occurrence]
        counts = np.bincount(cell, shares)
        probabilities = counts / np.bincount(source, counts)[source]
    order = np.lexsort((target, -probabilities, source))
    return source[order], target[order], probabilities[order]
