"""Weight initialization: Appendix B.1 of Bahdanau et al. 2015, and an initialization that learns
faster.

The initializer of a weight depends on its role:

    role        ``paper``                                        ``variance_preserving``
    recurrent   orthogonal                                       same
      small     0.01 times that (Cho et al. 2014a, §4.1.1)       orthogonal
    alignment   N(0, 0.001²)   (W_a, U_a)                        Glorot uniform
    energy      0              (v_a)                             Glorot uniform
    embedding   N(0, 0.01²)                                      N(0, 1)
      small     N(0, 0.01²)                                      N(0, 1/m)
    other       N(0, 0.01²)                                      Glorot uniform
    bias        0                                                0

Glorot uniform (Glorot and Bengio 2010, eq. 16) of a matrix that maps a values to b values is
U(±√(6 / (a + b))). If the input of a unit is the sum of k products, W e + U h + C c, the variance
of each is divided by k, so that the sum has the variance of one: limit √(6 / (a + b) / k).

A word vector with components of variance 1 affects the units that read it as much as their own
states do. An embedding that is scaled by √m (``embedding.py``), or that is also the output matrix,
is stored with variance 1/m: role small embedding.

``uniform`` (Sutskever et al. 2014, §3.4) draws every weight between −0.08 and 0.08;
``small uniform``, the paper's choice for the CSLM (Cho et al. 2014a, §4.1.2), between −0.01 and
0.01. ``keras.utils.set_random_seed`` determines the numbers.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras

KINDS = ("paper", "variance_preserving", "uniform", "small uniform")

Initializer: TypeAlias = Callable[..., tf.Tensor]
"""Function (shape, dtype) → initial values of a weight, as ``add_weight`` takes it."""


def initializer(
    kind: str, role: str, rows: Sequence[int], columns: int = 1, terms: int = 1
) -> Initializer:
    """The initializer of one weight.

    Args:
        kind: one of KINDS.
        role: recurrent, small recurrent, alignment, energy, embedding, small embedding, bias or
            other, as in the table above.
        rows: input sizes of the matrices that are stacked in this weight; mostly one.
        columns: output size.
        terms: number of products in the sum to which the product of this weight belongs.
    """
    if kind in ("uniform", "small uniform"):
        limit = 0.08 if kind == "uniform" else 0.01
        return keras.initializers.RandomUniform(-limit, limit)
    if role == "bias":
        return keras.initializers.Zeros()
    if role in ("recurrent", "small recurrent"):
        small = (kind, role) == ("paper", "small recurrent")
        return keras.initializers.Orthogonal(0.01 if small else 1.0)
    if kind == "variance_preserving":
        if role in ("embedding", "small embedding"):
            return keras.initializers.RandomNormal(
                stddev=1.0 if role == "embedding" else columns**-0.5
            )
        return glorot(rows, columns, terms)
    if role == "energy":
        return keras.initializers.Zeros()
    return keras.initializers.RandomNormal(stddev=0.001 if role == "alignment" else 0.01)


def glorot(rows: Sequence[int], columns: int, terms: int) -> Initializer:
    """Glorot uniform for each of the matrices that are stacked in a weight; see
    :func:`initializer`.
    """

    def draw(shape: tuple[int, ...], dtype: str) -> tf.Tensor:
        parts = []
        for size in rows:
            limit = (6 / (size + columns) / terms) ** 0.5
            part = (size, *shape[1:])
            parts.append(keras.initializers.RandomUniform(-limit, limit)(part, dtype=dtype))
        return tf.concat(parts, axis=0)

    return draw
