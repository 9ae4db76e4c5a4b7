"""Weight initialization: Appendix B.1 of Bahdanau et al. 2015, and an initialization that learns
faster.

The initializer of a matrix depends on its role:

    role        ``paper``                                        ``variance_preserving``
    recurrent   orthogonal: left singular vectors of a Gaussian  same
      small     0.01 times that (Cho et al. 2014a, §4.1.1)       orthogonal
    alignment   N(0, 0.001²)   (W_a, U_a)                        Glorot uniform
    energy      0              (v_a)                             Glorot uniform
    embedding   N(0, 0.01²)                                      N(0, 1)
      small     N(0, 0.01²)                                      N(0, 1/m)
    other       N(0, 0.01²)                                      Glorot uniform
    peephole    0                                                0
    bias        0                                                0

Glorot uniform (Glorot and Bengio 2010, eq. 16) of a matrix that maps a values to b values is
U(±√(6 / (a + b))). Several matrices of a paper may be stored as one weight, [W | W_z | W_r];
each of them has its own limit, from its own sizes. If the input of a unit is the sum of k products,
W e + U h + C c, the variance of each is divided by k, so that the sum has the variance of one:
limit √(6 / (a + b) / k).

A word vector with components of variance 1 affects the units that read it as much as their own
states do. An embedding that is scaled by √m (``embedding.py``), or that is also the output matrix,
is stored with variance 1/m: role small.

``uniform`` (Sutskever et al. 2014, §3.4) draws every weight between −0.08 and 0.08;
``small uniform``, the paper's choice for the CSLM (Cho et al. 2014a, §4.1.2), between −0.01 and
0.01.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TypeAlias

import numpy as np
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras

Initializer: TypeAlias = Callable[..., tf.Tensor]
"""Function (shape, dtype) → initial values of a weight, as ``add_weight`` takes it."""


def orthogonal(seed: int, scale: float = 1.0) -> Initializer:
    """Initializer of square blocks of left singular vectors of a Gaussian matrix (Appendix B.1;
    Saxe et al. 2014).

    A shape [n, k·n] gives k independent orthogonal n × n blocks side by side, all times `scale`.
    """

    def draw(shape: tuple[int, ...], dtype: str | None = None) -> tf.Tensor:
        generator = np.random.default_rng(seed)
        size, width = shape
        blocks = [
            np.linalg.svd(generator.normal(size=(size, size)))[0] for _ in range(width // size)
        ]
        return keras.ops.convert_to_tensor(scale * np.concatenate(blocks, axis=1), dtype=dtype)

    return draw


def glorot_blocks(
    seed: int, rows: Sequence[int] | None = None, columns: int | None = None, terms: int = 1
) -> Initializer:
    """Initializer: Glorot uniform for each of several matrices that are stored as one weight.

    Args:
        seed: int; the same seed gives the same matrices.
        rows: list of int, input sizes of the matrices that are stacked vertically; they sum up to
            the first axis of the weight. None: one matrix.
        columns: int, output size of each of the matrices side by side; it divides the second axis
            of the weight. None: one matrix.
        terms: number of products in the sum to which the products of these matrices belong.
    """

    def draw(shape: tuple[int, ...], dtype: str | None = None) -> tf.Tensor:
        generator = np.random.default_rng(seed)
        below = []
        for size in rows or shape[:1]:
            limit = np.sqrt(6 / (size + (columns or shape[1])) / terms)
            below.append(generator.uniform(-limit, limit, size=(size, shape[1])))
        return keras.ops.convert_to_tensor(np.concatenate(below), dtype=dtype)

    return draw


def initializer(
    kind: str,
    role: str,
    seed: int,
    rows: Sequence[int] | None = None,
    columns: int | None = None,
    terms: int = 1,
) -> Initializer:
    """The initializer of one weight.

    Args:
        kind: ``paper``, ``variance_preserving`` or ``uniform`` (option model.initialization), or
            ``small uniform``.
        role: recurrent, small recurrent, alignment, energy, embedding, small embedding, bias,
            peephole or other, as in the table above.
        seed: int; give each weight its own.
        rows, columns, terms: the matrices that are stored as this one weight, see
            :func:`glorot_blocks`.

    Returns:
        A function of (shape, dtype), as ``add_weight`` takes it.
    """
    if kind == "uniform":
        return keras.initializers.RandomUniform(-0.08, 0.08, seed=seed)
    if kind == "small uniform":
        return keras.initializers.RandomUniform(-0.01, 0.01, seed=seed)
    if role in ("recurrent", "small recurrent"):
        return orthogonal(seed, scale=0.01 if (kind, role) == ("paper", "small recurrent") else 1.0)
    if role in ("bias", "peephole"):
        return keras.initializers.get("zeros")
    if kind == "variance_preserving":
        if role == "embedding":
            return keras.initializers.RandomNormal(stddev=1.0, seed=seed)
        if role == "small embedding":
            assert columns, "expected the size of the embedding"
            return keras.initializers.RandomNormal(stddev=columns**-0.5, seed=seed)
        return glorot_blocks(seed, rows, columns, terms)
    if role == "energy":
        return keras.initializers.Zeros()
    return keras.initializers.RandomNormal(stddev=0.001 if role == "alignment" else 0.01, seed=seed)


def seed_stream(seed: int) -> Iterator[int]:
    """Endless stream of seeds, one for each weight; the same ``seed`` gives the same stream."""
    generator = np.random.default_rng(seed)
    while True:
        yield int(generator.integers(2**31 - 1))
