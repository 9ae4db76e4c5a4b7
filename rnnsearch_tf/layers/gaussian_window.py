"""Windows that only move right (Graves 2013, eqs. 46–51; Bahdanau et al. 2015, §6.1, compare with it).

    α, β, κ̂ = exp of W s_{i−1} + b, k windows each
    κ_i = κ_{i−1} + κ̂
    φ_ij = Σ_k α_k exp(−β_k (κ_ik − j)²),  j = 1 … T_x
    c_i = Σ_j φ_ij h_j

As in Graves's paper the weights φ_ij do not sum to one over j. Departure: b_α begins at
−ln k, so that the heights of the k windows together begin at one.
"""

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.attention import Attention
from rnnsearch_tf.layers.base import tensor
from rnnsearch_tf.layers.initializers import initializer
from rnnsearch_tf.layers.product import batched_product, product

PARTS = ("alpha", "beta", "kappa")
"""Height, width and step of a window, in the order of the columns of W."""


class WindowMemory(NamedTuple):
    """What the windows slide over.

    Attributes:
        annotations: float [B, J, 2n]: h_j.
        positions: float [B, J]: 1, 2, … over the real positions.
        mask: bool [B, J], True at real positions.
    """

    annotations: tf.Tensor
    positions: tf.Tensor
    mask: tf.Tensor


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class GaussianWindow(Attention):
    """Attention by position alone: the annotations have no say in where it looks.

    Args:
        windows: k.
        biases: ``none`` leaves out b.
        initialization: see ``initializers.py``; W has the role ``alignment``.
        seed: int.

    Call arguments and results: as of :class:`Attention`; a window's weights need not sum up to 1.
    """

    def __init__(self, windows, biases="groundhog", initialization="paper", seed=0, **keywords):
        super().__init__(**keywords)
        self.windows = windows
        self.biases = biases
        self.initialization = initialization
        self.seed = seed

    def build(self, state_shape, annotations_shape):
        self.output_size = annotations_shape[-1]
        size = 3 * self.windows
        draw = initializer(self.initialization, "alignment", self.seed, columns=self.windows)
        self.W = self.matrix("W", (state_shape[-1], size), draw)
        self.b = None
        if self.biases != "none":
            start = np.repeat([-np.log(self.windows), 0.0, 0.0], self.windows)
            self.b = self.matrix("b", (size,), lambda shape, dtype: keras.ops.convert_to_tensor(start, dtype))
        self.built = True

    def memory(self, annotations, mask):
        """WindowMemory of annotations [B, J, 2n] and mask [B, J]; padding does not count as a position."""
        positions = tf.cumsum(tf.cast(mask, annotations.dtype), axis=1)
        return WindowMemory(annotations, positions, mask)

    def first(self, memory):
        """All windows stand before the first word: {"location": κ_0 = 0, [B, k]}."""
        return {"location": tf.zeros_like(memory.annotations[:, 0, :1]) * tf.zeros(self.windows, memory.annotations.dtype)}

    def look(self, query, memory, location):
        """(c_i [B, K, 2n], φ_i [B, K, J], {"location": κ_i [B, K, k]}) for s_{i−1} [B, K, n]."""
        total = product(query, tensor(self.W), self.product_dtype, bias=tensor(self.b))
        alpha, beta, step = tf.split(tf.exp(total), 3, axis=-1)  # [B, K, k]
        location += step
        distance = location[..., tf.newaxis] - memory.positions[:, tf.newaxis, tf.newaxis]  # [B, K, k, J]
        window = tf.reduce_sum(alpha[..., tf.newaxis] * tf.exp(-beta[..., tf.newaxis] * distance**2), axis=2)
        window *= tf.cast(memory.mask, window.dtype)[:, tf.newaxis]  # [B, K, J]
        return batched_product(window, memory.annotations, self.product_dtype), window, {"location": location}

    def paper_weights(self):
        """W_alpha, W_beta, W_kappa, and their biases b_alpha, b_beta, b_kappa."""
        weights = {}
        for letter, value in (("W", self.W), ("b", self.b)):
            if value is not None:
                blocks = np.split(keras.ops.convert_to_numpy(value), 3, axis=-1)
                weights |= {f"{letter}_{part}": block for part, block in zip(PARTS, blocks)}
        return weights

    def get_config(self):
        own = {name: getattr(self, name) for name in ("windows", "biases", "initialization", "seed")}
        return super().get_config() | own
