"""Gaussian windows that move only to the right (Graves 2013, eqs. 46–51; Bahdanau et al. 2015,
§6.1, compare with them).

    α, β, κ̂ = exp of W s_{i−1} + b, k windows each
    κ_i = κ_{i−1} + κ̂
    φ_ij = Σ_k α_k exp(−β_k (κ_ik − j)²),  j = 1 … T_x
    c_i = Σ_j φ_ij h_j

As in Graves's paper, the weights φ_ij do not sum to one over j. Departure: b_α is initialized with
−ln k, so that the heights of the k windows initially sum to one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.attention import Attention, query_and_value
from rnnsearch_tf.layers.base import Shape, State
from rnnsearch_tf.layers.initializers import initializer

PARTS = ("alpha", "beta", "kappa")
"""Height, width and step of a window, in the order of the columns of W."""


class WindowMemory(NamedTuple):
    """The encoded source sentence as the windows read it.

    Attributes:
        values: float [B, J, 2n]: h_j, or a linear function of h_j.
        positions: float [B, J]: 1, 2, … over the real positions.
        mask: bool [B, J], True at real positions.
    """

    values: tf.Tensor
    positions: tf.Tensor
    mask: tf.Tensor


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class GaussianWindow(Attention):
    """Attention by position only: the weights do not depend on the annotations.

    Args:
        windows: k.
        biases: ``none`` leaves out b.
        initialization: W has the role ``alignment``.

    Call arguments and results: see :class:`Attention`; the weights need not sum to 1.
    """

    windows: int

    def build(self, state_shape: Shape, annotations_shape: Shape | None = None) -> None:
        state_shape, annotations_shape = query_and_value(state_shape, annotations_shape)
        self.output_size = annotations_shape[-1]
        size = 3 * self.windows
        draw = initializer(self.initialization, "alignment", self.weight_seed, columns=self.windows)
        self.W = self.matrix("W", (state_shape[-1], size), draw, [f"W_{part}" for part in PARTS])
        self.b = None
        if self.biased:
            start = np.repeat([-np.log(self.windows), 0.0, 0.0], self.windows)

            def first(shape: Shape, dtype: str) -> tf.Tensor:
                return keras.ops.convert_to_tensor(start, dtype)

            self.b = self.matrix("b", (size,), first, [f"b_{part}" for part in PARTS])
        self.built = True

    def memory(self, annotations: tf.Tensor, mask: tf.Tensor) -> WindowMemory:
        """WindowMemory of annotations [B, J, 2n] and mask [B, J]; padding has no position."""
        positions = tf.cumsum(tf.cast(mask, annotations.dtype), axis=1)
        return WindowMemory(annotations, positions, mask)

    def initial_state(self, memory: WindowMemory) -> State:
        """All windows start before the first word: {"location": κ_0 = 0, [B, k]}."""
        return {
            "location": (
                tf.zeros_like(memory.values[:, 0, :1]) * tf.zeros(self.windows, memory.values.dtype)
            )
        }

    def attend(
        self, query: tf.Tensor, memory: WindowMemory, location: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, State]:
        """(c_i [B, K, 2n], φ_i [B, K, J], {"location": κ_i [B, K, k]}) for s_{i−1} [B, K, n]."""
        total = self.matmul(query, self.W, self.b)
        alpha, beta, step = tf.split(tf.exp(total), 3, axis=-1)  # [B, K, k]
        location += step
        # [B, K, k, J]
        distance = location[..., tf.newaxis] - memory.positions[:, tf.newaxis, tf.newaxis]
        window = tf.reduce_sum(
            alpha[..., tf.newaxis] * tf.exp(-beta[..., tf.newaxis] * distance**2), axis=2
        )
        window *= tf.cast(memory.mask, window.dtype)[:, tf.newaxis]  # [B, K, J]
        return self.batched_matmul(window, memory.values), window, {"location": location}
