"""Guided alignment: the cost of attention that differs from the links of a word aligner (Chen et
al. 2016).

    D(A, α)_i = − Σ_j A_ij log α_ij

A_ij is 1 / (number of source words that target word i is linked to) at its links and 0 elsewhere; α
is the model's alignment. A target word without links costs nothing. Departure: the weights of
Gaussian windows, which do not sum to one over j, are first divided by their sum.
"""

from __future__ import annotations

import tensorflow as tf

SMALLEST_WEIGHT = 1e-30
"""Lower limit of α_ij, which avoids log 0."""


def guided_alignment_losses(alignments: tf.Tensor, links: tf.Tensor) -> tf.Tensor:
    """D(A, α)_i of every target word.

    Args:
        alignments: float [B, I, J]: α.
        links: float [B, I, J]: A; 0 at padding.

    Returns:
        float [B, I], in nats, of the alignments' dtype.
    """
    alignments = tf.math.divide_no_nan(
        alignments, tf.reduce_sum(alignments, axis=-1, keepdims=True)
    )
    return -tf.reduce_sum(
        tf.cast(links, alignments.dtype) * tf.math.log(tf.maximum(alignments, SMALLEST_WEIGHT)),
        axis=-1,
    )
