"""The alignment model (Bahdanau et al. 2015, §3.1 and Appendix A.1.2).

e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j)
α_i = softmax of e_i over the real source positions, the end symbol included
c_i = Σ_j α_ij h_j

Training with the gated unit runs these equations in kernels/gru.py (`attending_gru`), with a
gradient written by hand: change both.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.nests import Nest
from rnnsearch_tf.layers.base import (
    PaperLayer,
    Shape,
    State,
    as_tensor,
    batched_matmul,
    matmul,
    real_positions,
)
from rnnsearch_tf.layers.initializers import Initializer, initializer, seed_stream


class AttentionMemory(NamedTuple):
    """The encoded source sentence as attention reads it, computed once per sentence.

    Attributes:
        values: float [B, J, h]: h_j, or a linear function of h_j, such as C h_j: the vectors that
            the attention weights sum up.
        keys: float [B, J, n']: U_a h_j, compared with the query.
        mask: bool [B, J], True at real positions.
    """

    values: tf.Tensor
    keys: tf.Tensor
    mask: tf.Tensor


class Attention(PaperLayer):
    """Base class of the attention layers.

    Like the attention layers of Keras, it takes query and value as two arguments or as a list:
    ``layer(state, annotations)`` or ``layer([state, annotations])``. A subclass provides::

        build(state_shape, annotations_shape)
        memory(annotations, mask) -> the encoded sentence, computed once
        initial_state(memory) -> {name: [B, ...]}, its own state before the first word
        attend(state, memory, **own_state) -> (context, alignment, its own state afterwards)

    Call arguments:
        state: float [B, K, n]: s_{i−1} of K hypotheses of each sentence, independent of each other.
            An attention with a state of its own (Gaussian windows) starts from the
            initial one, so a call computes first steps only; `attend` carries the state.
        annotations: float [B, J, h]: h_j, shared by the K hypotheses; h = 2n in the paper.
        annotations_mask: bool [B, J], True at real positions; None: the Keras mask of the
            annotations, or all positions are real.
        mask: masks of the two inputs when they are given as a list; the mask of the states is
            passed on.

    Returns:
        (context [B, K, h], alignment [B, K, J]). Padded positions have weight 0.
    """

    shapes = {"state": "B K n", "annotations": "B J h", "annotations_mask": "B J"}

    def call(
        self,
        state: tf.Tensor | list[tf.Tensor],
        annotations: tf.Tensor | None = None,
        annotations_mask: tf.Tensor | None = None,
        mask: list[tf.Tensor | None] | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        state, annotations = query_and_value(state, annotations)
        if annotations_mask is None and mask is not None:
            _, annotations_mask = mask
        memory = self.memory(annotations, real_positions(annotations, annotations_mask))
        # K = 1
        own_state = tf.nest.map_structure(
            lambda values: values[:, tf.newaxis], self.initial_state(memory)
        )
        return self.attend(state, memory, **own_state)[:2]

    def compute_output_shape(
        self, state_shape: Shape, annotations_shape: Shape | None = None
    ) -> tuple[Shape, Shape]:
        state_shape, annotations_shape = query_and_value(state_shape, annotations_shape)
        return (*state_shape[:-1], annotations_shape[-1]), (*state_shape[:-1], annotations_shape[1])

    def compute_mask(self, state: Nest, mask: Nest = None) -> tuple[tf.Tensor | None, None]:
        """The context has the mask of the states, the alignment none."""
        return (mask[0] if isinstance(mask, (list, tuple)) else mask), None

    def initial_state(self, memory: Nest) -> State:
        """State of the attention itself, carried between words: none, unless a subclass has one."""
        return {}


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class BahdanauAttention(Attention):
    """Additive attention with the paper's W_a, U_a and v_a.

    (Keras's ``AdditiveAttention`` has neither W_a nor U_a; it is a different model.)

    Args:
        alignment_size: n', hidden units of the alignment model.

    Call arguments and results: see :class:`Attention`; K may also be the target positions. The
    context of a sentence with only padding is 0.
    """

    alignment_size: int

    def build(self, state_shape: Shape, annotations_shape: Shape | None = None) -> None:
        state_size, annotation_size = (
            shape[-1] for shape in query_and_value(state_shape, annotations_shape)
        )
        seeds = seed_stream(self.weight_seed)
        self.output_size = annotation_size

        def alignment() -> Initializer:
            # two terms: W_a s + U_a h
            return initializer(self.initialization, "alignment", next(seeds), terms=2)

        self.W_a = self.matrix("W_a", (state_size, self.alignment_size), alignment())
        self.U_a = self.matrix("U_a", (annotation_size, self.alignment_size), alignment())
        self.v_a = self.matrix(
            "v_a", (self.alignment_size, 1), initializer(self.initialization, "energy", next(seeds))
        )
        self.built = True

    def memory(self, annotations: tf.Tensor, mask: tf.Tensor) -> AttentionMemory:
        """AttentionMemory, with U_a h_j, of annotations [B, J, 2n] and mask [B, J]."""
        return AttentionMemory(annotations, self.matmul(annotations, self.U_a), mask)

    def state_weights(self) -> State:
        """The weights of :meth:`attend`: {name: tensor}."""
        return {"W_a": as_tensor(self.W_a), "v_a": as_tensor(self.v_a)}

    def attend(
        self, query: tf.Tensor, memory: AttentionMemory
    ) -> tuple[tf.Tensor, tf.Tensor, State]:
        """(c_i [B, K, 2n], α_i [B, K, J], {}) for s_{i−1} [B, K, n] and the result of
        :meth:`memory`.
        """
        query = self.matmul(query, self.W_a)
        return (*additive_attention(query, memory, self.v_a, self.product_dtype), {})


def query_and_value(query: Nest, value: Nest) -> tuple[Any, Any]:
    """(query, value) of a call that takes two arguments or one list of both; the same for their
    shapes.
    """
    return query if value is None else (query, value)


def additive_attention(
    query: tf.Tensor, memory: AttentionMemory, v_a: tf.Tensor, dtype: str | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """One step of additive attention, with the weights as tensors.

    Args:
        query: float [B, K, n']: W_a s_{i−1}.
        memory: AttentionMemory.
        v_a: float [n', 1].
        dtype: operand dtype of the products.

    Returns:
        (context [B, K, 2n], or as wide as the values of the memory; alignment [B, K, J]).
    """
    hidden = alignment_hidden(query, memory.keys)  # [B, K, J, n']
    return weighted_sum(tf.squeeze(matmul(hidden, v_a), axis=-1), memory, dtype)


def weighted_sum(
    energies: tf.Tensor, memory: AttentionMemory, dtype: str | None = None
) -> tuple[tf.Tensor, tf.Tensor]:
    """(c_i [B, K, 2n], α_i [B, K, J]) from the energies e_ij [B, K, J]; for memory and dtype see
    :func:`additive_attention`.
    """
    alignment = masked_softmax(energies, memory.mask[:, tf.newaxis])
    return batched_matmul(alignment, memory.values, dtype), alignment


def alignment_hidden(query: tf.Tensor, projected_annotations: tf.Tensor) -> tf.Tensor:
    """tanh(W_a s_{i−1} + U_a h_j) of W_a s_{i−1} [B, K, n'] and U_a h_j [B, J, n']: [B, K, J,
    n'].
    """
    if query.shape[1] == 1:
        return tf.tanh(query[:, :, tf.newaxis] + projected_annotations[:, tf.newaxis])
    # A sum that broadcasts both operands is slow on a CPU: repeat the query, and broadcast only the
    # annotations.
    batch_size, places, size = tf.unstack(tf.shape(query))
    length = tf.shape(projected_annotations)[1]
    repeated = tf.tile(query, [1, 1, length])  # [B, K, J n']
    hidden = tf.tanh(repeated + tf.reshape(projected_annotations, [batch_size, 1, length * size]))
    return tf.reshape(hidden, [batch_size, places, length, query.shape[-1]])


def masked_softmax(energies: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Softmax over the last axis where mask is True; 0 elsewhere, also if no position is True.

    A finite minimum replaces −∞, which would give NaN for a row with only padding.
    """
    lowest = tf.constant(energies.dtype.min / 2, energies.dtype)
    return tf.nn.softmax(tf.where(mask, energies, lowest)) * tf.cast(mask, energies.dtype)
