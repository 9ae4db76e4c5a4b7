"""Luong's global attention (Luong, Pham, Manning 2015, §3 and §3.1).

e_j = score(s_t, h_j)    dot: s_tᵀ h_j;  general: s_tᵀ W_a h_j;  concat: v_aᵀ tanh(W_a [s_t ; h_j])
α = softmax of e over the real source positions,  c_t = Σ_j α_j h_j
ŝ_t = tanh(W_c [c_t ; s_t])
"""

from __future__ import annotations

from collections.abc import Iterator

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
class ScoredAttention(Attention):
    """Maps decoder states to contexts c_t by one of the three scores.

    Args:
        hidden_size: n, of states.
        score: ``dot``, ``general`` or ``concat``.
        alignment_size: n', hidden units of ``concat``; unused by the other scores.
        biases: ``all`` adds a bias b_a inside the tanh of ``concat``; otherwise there is none.

    Call arguments and results: see :class:`Attention`; s_t is of K hypotheses of each sentence or
    of K target positions. The context of a sentence with only padding is 0.
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
                f"{type(self).__name__}: alignment_size: expected a whole number with score=concat,"
                " got None; give a size"
            )

    def build(self, state_shape: Shape, annotations_shape: Shape | None = None) -> None:
        h = query_and_value(state_shape, annotations_shape)[1][-1]
        self._add_weights(h, seed_stream(self.weight_seed))
        self.output_size = h
        self.built = True

    def _add_weights(self, h: int, seeds: Iterator[int]) -> None:
        """W_a, v_a and b_a, for annotations of h units."""
        n = self.hidden_size
        size = self.alignment_size or n  # n', which concat always has

        def draw(role: str) -> Initializer:
            return initializer(self.initialization, role, next(seeds))

        concat = self.score == "concat"
        # concat: rows :n of W_a are for the decoder's state, rows n: for the annotation. general:
        # all rows are for the annotation.
        rows, columns = (n + h, size) if concat else (n, h)
        self.W_a: keras.Variable = None  # with dot
        if self.score != "dot":
            self.W_a = self.matrix("W_a", (rows, columns), draw("alignment"))
        self.v_a = self.matrix("v_a", (size, 1), draw("energy")) if concat else None
        self.b_a = self.vector("b_a", size) if concat and self.biases == "all" else None

    def memory(self, annotations: tf.Tensor, mask: tf.Tensor) -> AttentionMemory:
        """AttentionMemory of annotations [B, J, h] and mask [B, J], computed once per sentence."""
        if self.score == "dot":
            projected = annotations
        elif self.score == "general":
            projected = self.matmul(annotations, self.W_a, transpose=True)  # W_a h_j
        else:
            # [B, J, n']
            projected = self.matmul(annotations, self.W_a[self.hidden_size :], self.b_a)
        return AttentionMemory(annotations, projected, mask)

    def attend(
        self, state: tf.Tensor, memory: AttentionMemory
    ) -> tuple[tf.Tensor, tf.Tensor, State]:
        """(c_t [B, K, h], alignment [B, K, J], {}) for s_t [B, K, n] and the result of
        :meth:`memory`.
        """
        if self.score == "concat":
            query = self.matmul(state, self.W_a[: self.hidden_size])
            return *additive_attention(query, memory, self.v_a, self.product_dtype), {}
        energies = tf.matmul(state, memory.keys, transpose_b=True)  # [B, K, J]
        return *weighted_sum(energies, memory, self.product_dtype), {}


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class LuongAttention(ScoredAttention):
    """Maps decoder states to attentional states ŝ_t, which it returns in place of contexts.

    Args:
        hidden_size: n, of states and attentional states.
        score, alignment_size, biases: see :class:`ScoredAttention`.
        attentional_bias: add a bias b_c to ŝ_t = tanh(W_c [c_t ; s_t] + b_c).
        attentional_activation: ``tanh``, or ``linear``: ŝ_t = W_c [c_t ; s_t].

    Call arguments: see :class:`ScoredAttention`.

    Returns:
        (attentional states [B, I, n], alignment [B, I, J]).
    """

    attentional_bias: bool = False
    attentional_activation: str = "tanh"

    def build(self, state_shape: Shape, annotations_shape: Shape | None = None) -> None:
        n = self.hidden_size
        h = query_and_value(state_shape, annotations_shape)[1][-1]
        seeds = seed_stream(self.weight_seed)
        draw = initializer(self.initialization, "other", next(seeds))
        self.W_c = self.matrix("W_c", (h + n, n), draw)
        self._add_weights(h, seeds)
        self.b_c = self.vector("b_c", n) if self.attentional_bias else None
        self.output_size = n
        self.built = True

    def compute_output_shape(
        self, state_shape: Shape, annotations_shape: Shape | None = None
    ) -> tuple[Shape, Shape]:
        _, alignment_shape = super().compute_output_shape(state_shape, annotations_shape)
        return (*alignment_shape[:-1], self.hidden_size), alignment_shape

    def attend(
        self, state: tf.Tensor, memory: AttentionMemory
    ) -> tuple[tf.Tensor, tf.Tensor, State]:
        """(ŝ_t [B, K, n], alignment [B, K, J], {}) for s_t [B, K, n] and the result of
        :meth:`memory`.
        """
        context, alignment, _ = super().attend(state, memory)
        both = tf.concat([context, state], axis=-1)  # [B, K, h + n]
        attentional = self.matmul(both, self.W_c, self.b_c)
        if self.attentional_activation == "tanh":
            attentional = tf.tanh(attentional)
        return attentional, alignment, {}
