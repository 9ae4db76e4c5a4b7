"""The decoder's recurrence (Bahdanau et al. 2015, Appendix A.2.2), one step and all steps.

One step attends, then updates:

    c_i = Σ_j α_ij h_j                attend
    s_i = unit(E y, s_{i−1}, c_i)     update

The unit uses c_i only in C c_i = Σ_j α_ij C h_j. So C is multiplied with all annotations once per
sentence, in one large product, and each step sums the results (:meth:`Decoder.project_context`).

The option ``decoder_order`` determines the word y, y_i or y_{i−1}; the model implements it by the
``inputs`` that it passes. Training computes all target positions in one loop; search computes one
position at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.nests import Nest
from rnnsearch_tf.layers.attention import Attention, BahdanauAttention
from rnnsearch_tf.layers.base import (
    PaperLayer,
    Shape,
    State,
    cast_weights,
    real_positions,
)
from rnnsearch_tf.layers.fixed_context import FixedContext
from rnnsearch_tf.layers.gaussian_window import GaussianWindow
from rnnsearch_tf.layers.initializers import initializer, seed_stream
from rnnsearch_tf.layers.kernels import KERNELS
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit
from rnnsearch_tf.layers.scan import scan

ATTENTIONS: dict[str, Callable[..., Attention]] = {
    "content": BahdanauAttention,
    "gaussian_window": GaussianWindow,
}


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Decoder(PaperLayer):
    """The recurrent decoder without its output layer; by default that of the paper.

    Args:
        hidden_size: n.
        alignment_size: n', hidden units of the alignment model; or the number of Gaussian windows.
        attention: ``content``, ``gaussian_window``, or None for the fixed context of RNNencdec.
        unit: ``gru`` or ``lstm``.
        forget_bias: option of the unit, see :class:`RecurrentUnit`.

    Call arguments:
        embeddings: float [B, I, m]: the input word at each target position.
        annotations: float [B, J, 2n]: h_j; with a fixed context [B, J, n].
        annotations_mask: bool [B, J], True at real positions; None: the Keras mask of the
            annotations, or all positions are real.

    The Keras mask of the words, if they have one, is passed on to states and contexts. It does not
    change the results.

    Returns:
        (states [B, I, n], contexts [B, I, 2n], alignments [B, I, J]): s_i, c_i and α_i.
    """

    hidden_size: int
    alignment_size: int | None = None
    attention: str | None = "content"
    unit: str = "gru"
    forget_bias: float = 0.0

    shapes = {"embeddings": "B I m", "annotations": "B J h", "annotations_mask": "B J"}

    def __post_init__(self) -> None:
        seeds = seed_stream(self.weight_seed)
        shared = self.shared_options()
        self.recurrent_unit = RecurrentUnit(
            self.hidden_size,
            self.unit,
            forget_bias=self.forget_bias,
            seed=next(seeds),
            name="unit",
            **shared,
        )
        if self.attention is None:
            self.alignment_model = FixedContext(name="attention", dtype=self.dtype_policy)
        else:
            self.alignment_model = ATTENTIONS[self.attention](
                self.alignment_size, seed=next(seeds), name="attention", **shared
            )

    def build(self, embeddings_shape: Shape, annotations_shape: Shape) -> None:
        annotation_size = annotations_shape[-1]
        n = self.hidden_size
        backward = self.attention is not None  # ←h_1; otherwise →h_{T_x}
        if backward and annotation_size % 2:
            raise UsageError(
                "Decoder: annotations: expected an even width, of an encoder that reads both ways,"
                f" got {annotation_size}; use one"
            )
        first_size = annotation_size // 2 if backward else annotation_size
        self.W_s = self.matrix(
            "W_s",
            (first_size, n),
            initializer(self.initialization, "other", next(seed_stream(self.weight_seed + 1))),
        )
        self.b_s = self.vector("b_s", n) if self.biased else None
        self.recurrent_unit.build(embeddings_shape[-1], annotation_size)
        self.alignment_model.build((None, None, n), annotations_shape)
        self.output_size = n
        self.built = True

    def compute_output_shape(
        self, embeddings_shape: Shape, annotations_shape: Shape
    ) -> tuple[Shape, ...]:
        return tuple(
            (*embeddings_shape[:-1], size)
            for size in (self.hidden_size, annotations_shape[-1], annotations_shape[1])
        )

    def compute_mask(
        self, embeddings: tf.Tensor, mask: tf.Tensor | None = None
    ) -> tuple[tf.Tensor | None, tf.Tensor | None, None]:
        """States and contexts have the mask of the target words; the alignments have none."""
        return mask, mask, None

    def initial_state(self, annotations: tf.Tensor, memory: Nest) -> State:
        """The state before the first word: s_0 = tanh(W_s ←h_1); for RNNencdec tanh(W_s →h_{T_x}).

        Args:
            annotations: float [B, J, 2n]; for RNNencdec [B, J, n].
            memory: from ``alignment_model.memory``.

        Returns:
            Dictionary of float [B, ...]: ``state`` (s_0), and further state of the unit and of the
            attention.
        """
        if self.attention is None:
            first = annotations[:, -1]
        else:
            first = annotations[:, 0, annotations.shape[-1] // 2 :]
        s_0 = tf.tanh(self.matmul(first, self.W_s, self.b_s))
        return self.recurrent_unit.initial_state(s_0) | self.alignment_model.initial_state(memory)

    def inputs(self, embeddings: tf.Tensor) -> tf.Tensor:
        """The unit's inputs from the word: E y [..., m] → [W e | W_z e | W_r e] + b [..., 3n]; 4n
        for an LSTM.
        """
        return self.recurrent_unit.inputs(embeddings)

    def project_context(self, annotations: tf.Tensor) -> tf.Tensor:
        """The values that attention sums for the unit, from h_j [..., 2n]: C h_j, C_z h_j and
        C_r h_j side by side, [..., 3n].
        """
        return self.recurrent_unit.context_term(annotations)

    def cast_values(self, values: tf.Tensor) -> tf.Tensor:
        """Cast the values of a memory to the operand dtype of the products of :meth:`attend`; the
        fixed context has no products.
        """
        return cast_weights(values, self.product_dtype if self.attention else None)

    def attend(self, state: State, memory: Nest) -> tuple[tf.Tensor, tf.Tensor, State]:
        """(Σ_j α_ij · value j of the memory [B, K, …], alignment [B, K, J], state) for the state of
        K hypotheses of each sentence.
        """
        attention_state = {
            name: values for name, values in state.items() if name not in ("state", "cell")
        }
        context, alignment, attention_state = self.alignment_model.attend(
            state["state"], memory, **attention_state
        )
        return context, alignment, state | attention_state

    def update(self, state: State, inputs: tf.Tensor, projected_context: tf.Tensor) -> State:
        """The state after a word.

        Args:
            state: from :meth:`attend`.
            inputs: float [B, K, 3n or 4n], from :meth:`inputs`.
            projected_context: :meth:`project_context` of c_i.
        """
        return state | self.recurrent_unit.advance(inputs + projected_context, state)

    def call(
        self,
        embeddings: tf.Tensor,
        annotations: tf.Tensor,
        annotations_mask: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        memory = self.alignment_model.memory(
            annotations, real_positions(annotations, annotations_mask)
        )
        return self.all_steps(
            self.inputs(embeddings), self.initial_state(annotations, memory), memory
        )

    def all_steps(
        self, inputs: tf.Tensor, state: State, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """All steps with given words (training).

        State and memory are arguments, since the model's hidden_dropout drops components of the
        annotations that attention reads, but not of those from which s_0 is computed.

        Args:
            inputs: float [B, I, 3n or 4n], from :meth:`inputs`.
            state: from :meth:`initial_state`.
            memory: from ``alignment_model.memory``.

        Returns:
            (states [B, I, n], contexts [B, I, 2n], alignments [B, I, J]): s_i, c_i and α_i.
        """
        if self.attention is None:  # one context for all positions
            inputs += self.recurrent_unit.context_term(memory.values)[:, tf.newaxis]
            states = self.recurrent_unit.all_steps(inputs, state)["state"]
            return states, *self.alignment_model.attend(states, memory)[:2]
        projected = memory._replace(values=self.project_context(memory.values))
        kernel = KERNELS.get((self.unit, self.attention))
        if kernel is None:
            states, alignments = self._scan(inputs, state, projected)
        else:
            weights = self.recurrent_unit.state_weights() | self.alignment_model.state_weights()
            states, alignments = kernel(inputs, state, weights, projected, self.product_dtype)
        return states, self.batched_matmul(alignments, memory.values), alignments

    def _scan(self, inputs: tf.Tensor, state: State, memory: Nest) -> tuple[tf.Tensor, tf.Tensor]:
        """(states, alignments) of :meth:`attend` and :meth:`update` at every position, with
        TensorFlow's gradient.
        """

        def step(inputs: tf.Tensor, carried: tuple[State, tf.Tensor]) -> tuple[State, tf.Tensor]:
            # K = 1
            state, inputs = tf.nest.map_structure(lambda x: x[:, tf.newaxis], (carried[0], inputs))
            projected_context, alignment, state = self.attend(state, memory)
            state = self.update(state, inputs, projected_context)
            return tf.nest.map_structure(lambda x: x[:, 0], (state, alignment))

        states, alignments = scan(step, inputs, (state, tf.zeros_like(memory.mask, inputs.dtype)))
        return states["state"], alignments
