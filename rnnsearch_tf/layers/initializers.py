"""Initial distributions of the paper's Appendix B.1, by the role a weight plays.

Every matrix asks for its initializer by role:

    role        ``paper``                                        ``glorot``
    recurrent   orthogonal: left singular vectors of a Gaussian  same
      small     0.01 times that (Cho et al. 2014a, §4.1.1)       orthogonal
    alignment   N(0, 0.001²)   (W_a, U_a)                        Glorot uniform
    energy      0              (v_a)                             Glorot uniform
    peephole    0                                                0
    other       N(0, 0.01²)                                      Glorot uniform; embeddings N(0, 1/m)
    bias        0                                                0

``uniform`` (Sutskever et al. 2014, §3.4) draws all of them between −0.08 and 0.08;
``small uniform``, which is ``paper`` for the CSLM (Cho et al. 2014a, §4.1.2), between −0.01 and 0.01.
"""

import numpy as np

from rnnsearch_tf.backend import keras


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Orthogonal(keras.initializers.Initializer):
    """Square blocks of left singular vectors of a Gaussian matrix (Appendix B.1; Saxe et al. 2014).

    A shape [n, k·n] gives k independent orthogonal n × n blocks side by side, and
    [d, n, k·n] the same for each of d directions.

    Args:
        seed: int or None; with a seed the same matrices every time.
        scale: factor on the orthogonal blocks.
    """

    def __init__(self, seed=None, scale=1.0):
        self.seed = seed
        self.scale = scale

    def __call__(self, shape, dtype=None):
        generator = np.random.default_rng(self.seed)
        *leading, size, width = shape
        if width % size:
            raise ValueError(f"Orthogonal: expected a last axis that is a multiple of {size}, got shape {shape}")
        count = int(np.prod(leading, initial=1))
        blocks = [
            np.concatenate([_left_singular_vectors(generator, size) for _ in range(width // size)], axis=1)
            for _ in range(count)
        ]
        return keras.ops.convert_to_tensor(self.scale * np.reshape(blocks, shape), dtype=dtype)

    def get_config(self):
        return {"seed": self.seed, "scale": self.scale}


def _left_singular_vectors(generator, size):
    return np.linalg.svd(generator.normal(size=(size, size)))[0]


def initializer(kind, role, seed, size=None):
    """The initializer of one weight.

    Args:
        kind: ``paper``, ``glorot`` or ``uniform`` (option model.initialization), or ``small uniform``.
        role: recurrent, small recurrent, alignment, energy, embedding, bias, peephole or other, as in the table above.
        seed: int; give each weight its own.
        size: embedding size m, for role embedding.

    Returns:
        keras.initializers.Initializer.
    """
    if kind == "uniform":
        return keras.initializers.RandomUniform(-0.08, 0.08, seed=seed)
    if kind == "small uniform":
        return keras.initializers.RandomUniform(-0.01, 0.01, seed=seed)
    if role in ("recurrent", "small recurrent"):
        return Orthogonal(seed, scale=0.01 if (kind, role) == ("paper", "small recurrent") else 1.0)
    if role in ("bias", "peephole"):
        return keras.initializers.get("zeros")
    if kind == "glorot":
        if role == "embedding":
            return keras.initializers.RandomNormal(stddev=size**-0.5, seed=seed)
        return keras.initializers.GlorotUniform(seed=seed)
    if role == "energy":
        return keras.initializers.Zeros()
    return keras.initializers.RandomNormal(stddev=0.001 if role == "alignment" else 0.01, seed=seed)


class Seeds:
    """A stream of seeds, a different one for each weight, the same each time for one start.

    Args:
        seed: int, where the stream starts.
    """

    def __init__(self, seed):
        self._generator = np.random.default_rng(seed)

    def next(self) -> int:
        return int(self._generator.integers(2**31 - 1))
