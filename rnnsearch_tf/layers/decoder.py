"""The decoder's recurrence (Bahdanau et al. 2015, Appendix A.2.2): attention and the unit.

    c_i = Σ_j α_ij h_j
    s_i = unit(E y, s_{i−1}, c_i)

The order determines which word the update reads, and which state the output reads:

    order                 state                           output y_i from        as in
    look_generate_update  s_i = f(s_{i−1}, y_i, c_i)      s_{i−1}, y_{i−1}, c_i  authors' program
    paper                 s_i = f(s_{i−1}, y_{i−1}, c_i)  s_{i−1}, y_{i−1}, c_i  Appendix A.2.2
    look_update_generate  s_i = f(s_{i−1}, y_{i−1}, c_i)  s_i, y_{i−1}, c_i      eq. (4)

(Some copies of the paper print the first one in A.2.2.)

Every position starts with the word y_{i−1}. So with look_generate_update it first makes the update
that the position before has left, s_{i−1} = f(s_{i−2}, y_{i−1}, c_{i−1}), except the first.

The unit uses c_i only in C c_i = Σ_j α_ij C h_j. So C is multiplied with all annotations once per
sentence, in one large product, and each position sums the results.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from rnnsearch_tf.layers.attention import (
    AttentionMemory,
    BahdanauAttention,
    FixedContext,
    GaussianWindow,
)
from rnnsearch_tf.layers.base import PaperLayer, Shape, State
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit
from rnnsearch_tf.layers.scan import scan


class Attended(NamedTuple):
    """What the output layer gets at a target position, float [B, K, ...].

    Attributes:
        state: the state that the output reads.
        values: Σ_j α_ij · value j of the memory.
        alignment: α_i, over J.
    """

    state: tf.Tensor
    values: tf.Tensor
    alignment: tf.Tensor


class Decoder(PaperLayer):
    """The recurrent decoder without its output layer.

    Args:
        hidden_size: n.
        alignment_size: n', hidden units of the alignment model; or the number of Gaussian windows.
        attention: ``content``, ``gaussian_window``, or None for the fixed context of RNNencdec.
        order: as in the table above.
        unit: ``gru`` or ``lstm``.
        forget_bias: option of the unit, see :class:`RecurrentUnit`.
        keywords: see :class:`PaperLayer`.
    """

    def __init__(
        self,
        hidden_size: int,
        alignment_size: int,
        attention: str | None,
        order: str,
        unit: str = "gru",
        forget_bias: float = 0.0,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.hidden_size = hidden_size
        self.attention = attention
        self.order = order
        shared = self.shared_options()
        self.recurrent_unit = RecurrentUnit(
            hidden_size, unit, forget_bias=forget_bias, name="unit", **shared
        )
        if attention is None:
            self.alignment_model = FixedContext(name="attention", **shared)
        else:
            kind = BahdanauAttention if attention == "content" else GaussianWindow
            self.alignment_model = kind(alignment_size, name="attention", **shared)

    def build(self, embeddings_shape: Shape, annotations_shape: Shape) -> None:
        n = self.hidden_size
        width = annotations_shape[-1]
        self.W_s = self.matrix("W_s", width if self.attention is None else width // 2, n)
        self.b_s = self.bias("b_s", n)
        self.recurrent_unit.build(embeddings_shape[-1], width)
        self.alignment_model.build((None, None, n), annotations_shape)

    def initial_state(self, annotations: tf.Tensor, memory: AttentionMemory) -> State:
        """The state before the first word: s_0 = tanh(W_s ←h_1); for RNNencdec tanh(W_s →h_{T_x}).

        Args:
            annotations: float [B, J, 2n]; for RNNencdec [B, J, n].
            memory: from ``alignment_model.memory``.

        Returns:
            Dictionary of tensors [B, ...]: ``state`` (s_0) and, if there are any, the cell of an
            LSTM, the location of Gaussian windows, and for look_generate_update C c_{i−1} of the
            update that is left, and whether there is none yet.
        """
        if self.attention is None:
            read_last = annotations[:, -1]
        else:
            read_last = annotations[:, 0, annotations.shape[-1] // 2 :]
        s_0 = tf.tanh(self.matmul(read_last, self.W_s, self.b_s))
        state = self.recurrent_unit.initial_state(s_0) | self.alignment_model.initial_state(memory)
        if self.order == "look_generate_update":
            terms = len(self.recurrent_unit.C)
            state["context_term"] = tf.zeros_like(tf.tile(s_0, [1, terms]))
            state["is_first"] = tf.ones_like(s_0[:, :1], tf.bool)
        return state

    def advance(
        self, word: tf.Tensor, state: State, memory: AttentionMemory
    ) -> tuple[Attended, State]:
        """One target position of K hypotheses of each sentence.

        Args:
            word: float [B, K, 3n or 4n]: E y_{i−1} as ``recurrent_unit.inputs``.
            state: dictionary of tensors [B, K, ...], from :meth:`initial_state` or this method.
            memory: AttentionMemory, whose values begin with C h_j.

        Returns:
            (Attended, the state afterwards).
        """
        unit: State = {name: state[name] for name in ("state", "cell") if name in state}
        location = {name: state[name] for name in ("location",) if name in state}
        late = self.order == "look_generate_update"
        if late:
            updated = self.recurrent_unit.advance(word, unit, state["context_term"])
            unit = {name: tf.where(state["is_first"], unit[name], updated[name]) for name in unit}
        values, alignment, location = self.alignment_model.attend(unit["state"], memory, **location)
        context_term = values[..., : word.shape[-1]]
        if late:
            after = {"context_term": context_term, "is_first": tf.zeros_like(state["is_first"])}
            return Attended(unit["state"], values, alignment), unit | location | after
        updated = self.recurrent_unit.advance(word, unit, context_term)
        read = updated if self.order == "look_update_generate" else unit
        return Attended(read["state"], values, alignment), updated | location

    def with_values(self, memory: AttentionMemory, values: tf.Tensor) -> AttentionMemory:
        """A memory with other values, in the operand dtype of the sum over them; the fixed context
        has no sum.
        """
        dtype = None if self.attention is None else self.product_dtype
        return memory._replace(values=values if dtype is None else tf.cast(values, dtype))

    def all_steps(
        self, embeddings: tf.Tensor, state: State, memory: AttentionMemory
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """:meth:`advance` at every target position, with given words.

        State and memory are arguments, since the model's hidden_dropout drops components of the
        annotations that attention reads, but not of those from which s_0 is computed.

        Args:
            embeddings: float [B, I, m].
            state: from :meth:`initial_state`.
            memory: from ``alignment_model.memory``.

        Returns:
            (states [B, I, n], contexts [B, I, 2n], alignments [B, I, J]): what the output layer
            reads, s_{i−1} or s_i, c_i and α_i.
        """
        projected = self.with_values(memory, self.recurrent_unit.context_term(memory.values))
        words = self.recurrent_unit.inputs(embeddings)
        # K = 1
        state = {name: values[:, tf.newaxis] for name, values in state.items()}
        alignment = tf.zeros_like(memory.mask, words.dtype)[:, tf.newaxis]

        def step(word: tf.Tensor, state: State) -> tuple[tuple[tf.Tensor, tf.Tensor], State]:
            attended, state = self.advance(word, state, projected)
            return (attended.state, attended.alignment), state

        like = state["state"], alignment
        outputs, _ = scan(step, words[:, :, tf.newaxis], state, like, self.weights)
        states, alignments = (values[:, :, 0] for values in outputs)
        if self.attention is None:  # one context for all positions
            return states, tf.repeat(memory.values, tf.shape(states)[1], axis=1), alignments
        return states, self.batched_matmul(alignments, memory.values), alignments
