"""Which word translates which: IBM Model 1 (Brown et al. 1993, section 4.1), from parallel text."""

from __future__ import annotations

import numpy as np


def translation_probabilities(pairs, target_size, iterations=5):
    """t(target word | source word) of IBM Model 1, by expectation maximization from equal
    probabilities.

        each occurrence of a target word f in a pair is shared out among the source words e of it:
        c(f, e) = Σ over occurrences of f  t(f | e) / Σ_e' t(f | e'),    t(f | e) = c(f, e) / Σ_f'
        c(f', e)

    Args:
        pairs: iterable of (source_ids, target_ids), lists of int; the model's empty word is
            whatever stands in every source, such as the end symbol.
        target_size: int, target ids are below it.
        iterations: int, at least 1.

    Returns:
        (source_ids int64 [C], target_ids int64 [C], probabilities float64 [C]) of the C word pairs
        that occur together, by source word, likeliest first. Memory: some 100 bytes for each pair
        of positions of the text.

    Example:
        >>> e, f, t = translation_probabilities([([0, 1], [0, 1]), ([0], [0])], 2, iterations=20)
        >>> [(int(a), int(b)) for a, b, p in zip(e, f, t) if p > 0.9]
        [(0, 0), (1, 1)]
    """
    keys = []
    occurrences = []
    words = 0
    for source, target in pairs:
        # [I, J]
        cells = np.add.outer(
            np.asarray(target, np.int64), np.asarray(source, np.int64) * target_size
        )
        keys.append(cells.ravel())
        occurrences.append(np.repeat(np.arange(words, words + len(target)), len(source)))
        words += len(target)
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
