"""Luong's global attention (Luong, Pham, Manning 2015, §3 and §3.1).

e_j = score(s_t, h_j)    dot: s_tᵀ h_j;  general: s_tᵀ W_a h_j;  concat: v_aᵀ tanh(W_a [s_t ; h_j])
α = softmax of e over the real source positions,  c_t = Σ_j α_j h_j
ŝ_t = tanh(W_c [c_t ; s_t])
"""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers.attention import (
    Attention,
    AttentionMemory,
    additive_attention,
    query_and_value,
    weighted_sum,
)
from rnnsearch_tf.layers.base import Shape, State
from rnnsearch_tf.layers.initializers import Initializer, initializer, seed_stream


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class LuongAttention(Attention):
    """Maps decoder states to attentional states ŝ_t, which it returns in place of contexts.

    Args:
        hidden_size: n, of states and attentional states.
        score: ``dot``, ``general`` or ``concat``.
        alignment_size: n', hidden units of ``concat``; unused by the other scores.

    Call arguments: see :class:`Attention`; s_t is of K hypotheses of each sentence or of K target
    positions. The context of a sentence with only padding is 0.

    Returns:
        (attentional states [B, K, n], alignment [B, K, J]).
    """

    hidden_size: int
    score: str = "general"
    alignment_size: int | None = None

    limits = Attention.limits | {"score": {"choices": ("dot", "general", "concat")}}
    shapes = {
        "state": "B K hidden_size",
        "annotations": "B J h",
        "annotations_mask": "B J",
    }

    def __post_init__(self) -> None:
        if self.score == "concat" and self.alignment_size is None:
            raise UsageError(
                "LuongAttention: alignment_size: expected a whole number with score=concat, got"
                " None; give a size"
            )

    def build(self, state_shape: Shape, annotations_shape: Shape | None = None) -> None:
        n = self.hidden_size
        h = query_and_value(state_shape, annotations_shape)[1][-1]
        size = self.alignment_size or n  # n', which concat always has
        concat = self.score == "concat"
        seeds = seed_stream(self.weight_seed)

        def draw(role: str) -> Initializer:
            return initializer(self.initialization, role, next(seeds))

        self.W_c = self.matrix("W_c", (h + n, n), draw("other"))
        # concat: rows :n of W_a are for the decoder's state, rows n: for the annotation. general:
        # all rows are for the annotation.
        rows, columns = (n + h, size) if concat else (n, h)
        self.W_a: keras.Variable = None  # with dot
        if self.score != "dot":
            self.W_a = self.matrix("W_a", (rows, columns), draw("alignment"))
        self.v_a = self.matrix("v_a", (size, 1), draw("energy")) if concat else None
        self.output_size = n
        self.built = True

    def compute_output_shape(
        self, state_shape: Shape, annotations_shape: Shape | None = None
    ) -> tuple[Shape, Shape]:
        _, alignment_shape = super().compute_output_shape(state_shape, annotations_shape)
        return (*alignment_shape[:-1], self.hidden_size), alignment_shape

    def memory(self, annotations: tf.Tensor, mask: tf.Tensor) -> AttentionMemory:
        """AttentionMemory of annotations [B, J, h] and mask [B, J], computed once per sentence."""
        if self.score == "dot":
            projected = annotations
        elif self.score == "general":
            projected = self.matmul(annotations, self.W_a, transpose=True)  # W_a h_j
        else:
            projected = self.matmul(annotations, self.W_a[self.hidden_size :])  # [B, J, n']
        return AttentionMemory(annotations, projected, mask)

    def attend(
        self, state: tf.Tensor, memory: AttentionMemory
    ) -> tuple[tf.Tensor, tf.Tensor, State]:
        """(ŝ_t [B, K, n], alignment [B, K, J], {}) for s_t [B, K, n] and the result of
        :meth:`memory`.
        """
        context, alignment = self._context(state, memory)
        both = tf.concat([context, state], axis=-1)  # [B, K, h + n]
        return tf.tanh(self.matmul(both, self.W_c)), alignment, {}

    def _context(self, state: tf.Tensor, memory: AttentionMemory) -> tuple[tf.Tensor, tf.Tensor]:
        """(c_t [B, K, h], alignment [B, K, J])."""
        if self.score == "concat":
            query = self.matmul(state, self.W_a[: self.hidden_size])
            return additive_attention(query, memory, self.v_a, self.product_dtype)
        energies = tf.matmul(state, memory.keys, transpose_b=True)  # [B, K, J]
        return weighted_sum(energies, memory, self.product_dtype)
