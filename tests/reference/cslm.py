"""Feed-forward n-gram language model in NumPy, float64, one sentence: Cho et al. 2014a, §4.1.2."""

import numpy as np


def decode(weights, source_ids, target_ids, options):
    """(logits (I, V), alignments (I, J) of zeros); the source plays no part."""
    before = options["ngram_order"] - 1
    size = weights["E_target"].shape[1]
    rows = []
    for i in range(len(target_ids)):
        x = np.zeros(before * size)
        for k in range(1, before + 1):  # y_{i-k}
            if i - k >= 0:
                x[(before - k) * size : (before - k + 1) * size] = weights["E_target"][
                    target_ids[i - k]
                ]
        first = np.maximum(0, x @ weights["W_1"] + weights.get("b_1", 0))
        second = np.maximum(0, first @ weights["W_2"] + weights.get("b_2", 0))
        rows.append(second @ weights["W_o"] + weights.get("b_softmax", 0))
    return np.array(rows), np.zeros((len(target_ids), len(source_ids)))
