"""Layer normalization (Ba et al. 2016), separately for each gate of each product.

    LN(a) = g ∘ (a − mean(a)) / √(variance(a) + ε)

Departures from Ba et al.: the blocks of [W | W_z | W_r] are normalized separately, not together,
and there is no shift; the option ``biases`` adds biases to a unit.
"""

from __future__ import annotations

import tensorflow as tf

EPSILON = 1e-5


def normalized(values: tf.Tensor, gain: tf.Tensor | None, size: int) -> tf.Tensor:
    """Normalize each block of ``size`` values of the last axis; without gain, return the values
    unchanged.

    Args:
        values: float [..., k·size].
        gain: float [k·size], or None.
        size: int, n.

    Returns:
        float [..., k·size].

    Example:
        >>> normalized(tf.constant([[1.0, 3.0, 8.0, 4.0]]), tf.ones(4), 2).numpy().round(2).tolist()
        [[-1.0, 1.0, 1.0, -1.0]]
    """
    if gain is None:
        return values
    shape = tf.shape(values)
    blocks = tf.reshape(values, tf.concat([shape[:-1], [-1, size]], axis=0))  # [..., k, n]
    mean, variance = tf.nn.moments(blocks, axes=[-1], keepdims=True)
    blocks = (blocks - mean) * tf.math.rsqrt(variance + EPSILON)
    result = tf.reshape(blocks, shape) * gain
    result.set_shape(values.shape)
    return result
