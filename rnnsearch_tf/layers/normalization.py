"""Layer normalization (Ba et al. 2016), of the products of a layer.

    LN(a) = g ∘ (a − mean(a)) / √(variance(a) + ε) + shift

Three forms, by the option ``normalized``:

    recurrent    the products of the recurrent units, each gate by itself, without a shift
    all          those of attention, s_0 and deep output too; the gates of a product together, the
                 candidate by itself; after the bias of the product; with a shift (Nematus)
    together     as all, but the candidate with the gates of its product, and ε = 1e-9 (Marian); U
                 of the unit gru, which reads another state than U_z and U_r, stays by itself

Departure of the first from Ba et al.: they normalize all blocks of [W | W_z | W_r] together, with a
shift.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import tensorflow as tf

from rnnsearch_tf.errors import UsageError

if TYPE_CHECKING:
    from rnnsearch_tf.layers.base import PaperLayer
    from rnnsearch_tf.runtime.backend import keras

EPSILON = 1e-5

EPSILONS = {"all": EPSILON, "together": 1e-9}
"""ε of the forms with a shift."""


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


def normalized_parts(
    values: tf.Tensor,
    gain: tf.Tensor,
    shift: tf.Tensor,
    sizes: Sequence[int],
    epsilon: float = EPSILON,
) -> tf.Tensor:
    """Normalize parts of these sizes of the last axis, each by itself.

    Args:
        values, gain, shift: float [..., sum of the sizes], the latter two without leading axes.
        sizes: sizes of the parts.
        epsilon: ε.

    Returns:
        float [..., sum of the sizes].

    Example:
        >>> values = tf.constant([[1.0, 3.0, 8.0, 4.0]])
        >>> normalized_parts(values, tf.ones(4), tf.ones(4), [2, 2]).numpy().round(2).tolist()
        [[0.0, 2.0, 2.0, 0.0]]
    """
    parts = []
    for part in tf.split(values, sizes, axis=-1):
        mean, variance = tf.nn.moments(part, axes=[-1], keepdims=True)
        parts.append((part - mean) * tf.math.rsqrt(variance + epsilon))
    return tf.concat(parts, axis=-1) * gain + shift


def check_form(layer: PaperLayer) -> None:
    """Check the option ``normalized`` of a layer that is not recurrent.

    Raises:
        UsageError: the layer normalizes, in a form that only recurrent units have.
    """
    if layer.layer_normalization and layer.normalized not in EPSILONS:
        raise UsageError(
            f"{type(layer).__name__}: normalized: expected {' or '.join(EPSILONS)}, got"
            f" {layer.normalized}, which only recurrent units have; leave it out"
        )


def add_normalization(layer: PaperLayer, name: str, width: int) -> None:
    """Add the weights of :func:`normalized_product` to a layer: NAME_gain and NAME_shift."""
    for kind, first in (("gain", "ones"), ("shift", "zeros")):
        setattr(layer, f"{name}_{kind}", layer.matrix(f"{name}_{kind}", (width,), first))


def normalized_product(
    layer: PaperLayer, values: tf.Tensor, name: str, bias: keras.Variable | None = None
) -> tf.Tensor:
    """LN(values @ NAME + bias) with a matrix of a layer; its attribute ``normalized`` is the form.

    float [..., a] → [..., b].
    """
    total = layer.matmul(values, getattr(layer, name), bias)
    gain, shift = getattr(layer, f"{name}_gain"), getattr(layer, f"{name}_shift")
    return normalized_parts(total, gain, shift, [total.shape[-1]], EPSILONS[layer.normalized])
