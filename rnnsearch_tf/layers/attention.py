"""What the decoder reads of the source at one target position: the attentions of the systems.

The alignment model (Bahdanau et al. 2015, §3.1 and Appendix A.1.2):

    e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j)
    α_i = softmax of e_i over the real source positions, the end symbol included
    c_i = Σ_j α_ij h_j

Luong's global attention (Luong, Pham, Manning 2015, §3 and §3.1):

    e_j = score(s_t, h_j)
    dot: s_tᵀ h_j;  general: s_tᵀ W_a h_j;  concat: v_aᵀ tanh(W_a [s_t ; h_j])
    α = softmax of e over the real source positions,  c_t = Σ_j α_j h_j
    ŝ_t = tanh(W_c [c_t ; s_t])

Gaussian windows that move only to the right (Graves 2013, eqs. 46–51; Bahdanau et al. 2015, §6.1,
compare with them), k of them:

    α, β, κ̂ = exp of W s_{i−1} + b
    κ_i = κ_{i−1} + κ̂
    φ_ij = Σ_k α_k exp(−β_k (κ_ik − j)²),  j = 1 … T_x
    c_i = Σ_j φ_ij h_j

No attention (RNNencdec, Bahdanau et al. 2015, Appendix A.2.2): c_i = →h_{T_x} for every i.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import tensorflow as tf

from rnnsearch_tf.layers.base import PaperLayer, Shape, State
from rnnsearch_tf.runtime.backend import keras


class AttentionMemory(NamedTuple):
    """The encoded source sentence as attention reads it, computed once per sentence.

    Attributes:
        values: float [B, J, h]: h_j, or a linear function of h_j, such as C h_j: the vectors that
            the attention weights sum up.
        keys: float [B, J, n']: what is compared with the query, such as U_a h_j; the positions
            1, 2, … [B, J, 1] of Gaussian windows.
        mask: bool [B, J], True at real positions.
    """

    values: tf.Tensor
    keys: tf.Tensor
    mask: tf.Tensor


class Attention(PaperLayer):
    """Base class of the attentions. A subclass provides::

        build(state_shape, annotations_shape)
        memory(annotations, mask) -> AttentionMemory
        attend(query, memory, **own_state) -> (context, alignment, its own state afterwards)

    The query is of K hypotheses of each sentence, or of K target positions, independent of each
    other. Padded positions have weight 0; the context of a sentence with only padding is 0.
    """

    def initial_state(self, memory: AttentionMemory) -> State:
        """State of the attention itself before the first word: none, unless a subclass has one."""
        return {}


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class BahdanauAttention(Attention):
    """Additive attention with the paper's W_a, U_a and v_a.

    (Keras's ``AdditiveAttention`` has neither W_a nor U_a; it is a different model.)

    Args:
        alignment_size: n', hidden units of the alignment model.
        keywords: biases (``groundhog``: those of the authors' program, or ``none``), initialization
            (``paper``, ``variance_preserving`` or ``uniform``), and Keras's name, dtype, trainable.

    Call arguments:
        state: float [B, K, n]: s_{i−1}.
        annotations: float [B, J, h]: h_j, shared by the K hypotheses; h = 2n in the paper.
        annotations_mask: bool [B, J], True at real positions; None: the Keras mask of the
            annotations, or all positions are real.

    Returns:
        (context [B, K, h], alignment [B, K, J]); the context has the Keras mask of the states.
    """

    def __init__(self, alignment_size: int, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.alignment_size = self.size("alignment_size", alignment_size)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"alignment_size": self.alignment_size}

    def build(self, state_shape: Shape, annotations_shape: Shape) -> None:
        size = self.alignment_size
        self.W_a = self.matrix("W_a", state_shape[-1], size, "alignment", terms=2)
        self.U_a = self.matrix("U_a", annotations_shape[-1], size, "alignment", terms=2)
        self.v_a = self.vector("v_a", size, "energy")

    def call(
        self,
        state: tf.Tensor,
        annotations: tf.Tensor,
        annotations_mask: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor]:
        if annotations_mask is None:
            annotations_mask = tf.fill(tf.shape(annotations)[:2], True)
        memory = self.memory(annotations, tf.cast(annotations_mask, tf.bool))
        return self.attend(state, memory)[:2]

    def compute_mask(
        self, state: tf.Tensor, previous_mask: tf.Tensor | None = None
    ) -> tuple[tf.Tensor | None, None]:
        return previous_mask, None

    def memory(self, annotations: tf.Tensor, mask: tf.Tensor) -> AttentionMemory:
        """AttentionMemory, with U_a h_j, of annotations [B, J, 2n] and mask [B, J]."""
        return AttentionMemory(annotations, self.matmul(annotations, self.U_a), mask)

    def attend(
        self, query: tf.Tensor, memory: AttentionMemory
    ) -> tuple[tf.Tensor, tf.Tensor, State]:
        """(c_i [B, K, 2n], α_i [B, K, J], {}) for s_{i−1} [B, K, n] and the result of
        :meth:`memory`.
        """
        energies = additive_energies(self.matmul(query, self.W_a), memory.keys, self.v_a)
        alignment = masked_softmax(energies, memory.mask[:, tf.newaxis])
        return self.batched_matmul(alignment, memory.values), alignment, {}


class LuongAttention(Attention):
    """Maps decoder states s_t to attentional states ŝ_t, which it returns in place of contexts.

    Args:
        hidden_size: n, of states and attentional states.
        score: ``dot``, ``general`` or ``concat``.
        alignment_size: n', hidden units of ``concat``; unused by the other scores.
        keywords: see :class:`PaperLayer`.
    """

    def __init__(self, hidden_size: int, score: str, alignment_size: int, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.hidden_size = hidden_size
        self.score = score
        self.alignment_size = alignment_size

    def build(self, state_shape: Shape, annotations_shape: Shape) -> None:
        n, size = self.hidden_size, self.alignment_size
        h = annotations_shape[-1]
        self.W_c = self.matrix("W_c", h + n, n)
        # concat: rows :n of W_a are for the decoder's state, rows n: for the annotation
        if self.score == "concat":
            self.W_a = self.matrix("W_a", n + h, size, "alignment")
            self.v_a = self.vector("v_a", size, "energy")
        if self.score == "general":
            self.W_a = self.matrix("W_a", n, h, "alignment")

    def memory(self, annotations: tf.Tensor, mask: tf.Tensor) -> AttentionMemory:
        """AttentionMemory of annotations [B, J, h] and mask [B, J]."""
        keys = annotations
        if self.score == "general":
            keys = self.matmul(annotations, self.W_a, transpose=True)  # W_a h_j
        elif self.score == "concat":
            keys = self.matmul(annotations, self.W_a[self.hidden_size :])  # [B, J, n']
        return AttentionMemory(annotations, keys, mask)

    def attend(
        self, query: tf.Tensor, memory: AttentionMemory
    ) -> tuple[tf.Tensor, tf.Tensor, State]:
        """(ŝ_t [B, K, n], alignment [B, K, J], {}) for s_t [B, K, n] and the result of
        :meth:`memory`.
        """
        if self.score == "concat":
            projected = self.matmul(query, self.W_a[: self.hidden_size])
            energies = additive_energies(projected, memory.keys, self.v_a)
        else:
            energies = tf.matmul(query, memory.keys, transpose_b=True)  # [B, K, J]
        alignment = masked_softmax(energies, memory.mask[:, tf.newaxis])
        context = self.batched_matmul(alignment, memory.values)  # [B, K, h]
        both = tf.concat([context, query], axis=-1)
        return tf.tanh(self.matmul(both, self.W_c)), alignment, {}


class GaussianWindow(Attention):
    """Attention by position only.

    As in Graves's paper, the weights φ_ij do not sum to one over j. Departure: −ln k is added to
    the initial b_α, so that the heights of the k windows begin with the sum one.

    Args:
        windows: k.
        keywords: see :class:`PaperLayer`.
    """

    def __init__(self, windows: int, **keywords: Any) -> None:
        super().__init__(**keywords)
        self.windows = windows

    def build(self, state_shape: Shape, annotations_shape: Shape) -> None:
        k = self.windows
        parts = ("alpha", "beta", "kappa")  # height, width and step of a window
        self.W = [self.matrix(f"W_{part}", state_shape[-1], k, "alignment") for part in parts]
        self.b = None
        if self.biases != "none":
            self.b = [self.vector(f"b_{part}", k) for part in parts]
            self.b[0].assign(self.b[0] - math.log(k))

    def memory(self, annotations: tf.Tensor, mask: tf.Tensor) -> AttentionMemory:
        """AttentionMemory of annotations [B, J, 2n] and mask [B, J]; padding has no position."""
        positions = tf.cumsum(tf.cast(mask, annotations.dtype), axis=1)
        return AttentionMemory(annotations, positions[..., tf.newaxis], mask)

    def initial_state(self, memory: AttentionMemory) -> State:
        """All windows start before the first word: {"location": κ_0 = 0, [B, k]}."""
        return {"location": tf.repeat(tf.zeros_like(memory.keys[:, 0]), self.windows, axis=1)}

    def attend(
        self, query: tf.Tensor, memory: AttentionMemory, location: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, State]:
        """(c_i [B, K, 2n], φ_i [B, K, J], {"location": κ_i [B, K, k]}) for s_{i−1} [B, K, n]."""
        total = self.matmul(query, self.W, self.b)
        alpha, beta, step = tf.split(tf.exp(total), 3, axis=-1)  # [B, K, k]
        location += step
        # [B, K, J, k]
        distance = location[:, :, tf.newaxis] - memory.keys[:, tf.newaxis]
        heights = alpha[:, :, tf.newaxis] * tf.exp(-beta[:, :, tf.newaxis] * distance**2)
        window = tf.reduce_sum(heights, axis=-1)  # [B, K, J]
        window *= tf.cast(memory.mask, window.dtype)[:, tf.newaxis]
        return self.batched_matmul(window, memory.values), window, {"location": location}


class FixedContext(Attention):
    """c_i = →h_{T_x} for every i; its alignments are zero and it has no weights."""

    def build(self, state_shape: Shape, annotations_shape: Shape) -> None:
        """Nothing to build."""

    def memory(self, annotations: tf.Tensor, mask: tf.Tensor) -> AttentionMemory:
        """AttentionMemory of the forward states [B, J, n], with the last one alone as value: the
        state does not change at padding on the right, so it is →h_{T_x}.
        """
        last = annotations[:, -1][:, tf.newaxis]
        return AttentionMemory(last, last, mask)

    def attend(
        self, query: tf.Tensor, memory: AttentionMemory
    ) -> tuple[tf.Tensor, tf.Tensor, State]:
        """(c_i [B, K, n], zeros [B, K, J], {})."""
        zeros = tf.zeros_like(query[..., :1])  # [B, K, 1]
        alignment = zeros + tf.zeros_like(memory.mask, query.dtype)[:, tf.newaxis]
        return zeros + tf.cast(memory.values, query.dtype), alignment, {}


def additive_energies(query: tf.Tensor, keys: tf.Tensor, v_a: keras.Variable) -> tf.Tensor:
    """e_ij = v_aᵀ tanh(query + key): [B, K, n'] and [B, J, n'] → [B, K, J]."""
    hypotheses, size = query.shape[1:]
    length = tf.shape(keys)[1]
    if hypotheses == 1:
        hidden = tf.tanh(query + keys)  # [B, J, n']
    else:
        # A sum that broadcasts both operands is slow on a CPU: repeat the query, and broadcast only
        # the keys.
        repeated = tf.tile(query, [1, 1, length])  # [B, K, J n']
        hidden = tf.tanh(repeated + tf.reshape(keys, [-1, 1, length * size]))
    energies = tf.linalg.matvec(tf.reshape(hidden, [-1, size]), tf.convert_to_tensor(v_a))
    energies = tf.reshape(energies, [-1, hypotheses or tf.shape(query)[1], length])
    return tf.ensure_shape(energies, [*query.shape[:2], keys.shape[1]])


def masked_softmax(energies: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Softmax over the last axis where mask is True; 0 elsewhere, also if no position is True.

    A finite minimum replaces −∞, which would give NaN for a row with only padding.
    """
    lowest = tf.constant(energies.dtype.min / 2, energies.dtype)
    return tf.nn.softmax(tf.where(mask, energies, lowest)) * tf.cast(mask, energies.dtype)
