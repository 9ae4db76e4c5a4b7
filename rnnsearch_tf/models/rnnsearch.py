"""RNNsearch (Bahdanau, Cho, Bengio 2015), assembled from the layers.

    source ids → E x_j → Encoder → annotations h_j
    s_0 = tanh(W_s ←h_1)
    for each target position: attend, update the state, read out y_i (DeepOutput)

``decoder_order`` determines which word the update reads and which state the readout reads:

    option                state                           readout of y_i         from
    look_generate_update  s_i = f(s_{i−1}, y_i, c_i)      s_{i−1}, y_{i−1}, c_i  authors' program
    paper                 s_i = f(s_{i−1}, y_{i−1}, c_i)  s_{i−1}, y_{i−1}, c_i  Appendix A.2.2
    look_update_generate  s_i = f(s_{i−1}, y_{i−1}, c_i)  s_i, y_{i−1}, c_i      eq. (4)
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.nests import Nest
from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.layers import Decoder, DeepOutput, Encoder
from rnnsearch_tf.layers.base import Block, State
from rnnsearch_tf.models.translation_model import TranslationModel


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNSearch(TranslationModel):
    """Encoder, attention, decoder and deep output; for arguments and results see
    :class:`TranslationModel`.

    Example:
        >>> sizes = dict(
        ...     embedding_size=4, hidden_size=5, alignment_size=5, maxout_size=3, output_rank=None
        ... )
        >>> model = RNNSearch(source_vocabulary_size=10, target_vocabulary_size=12, **sizes)
        >>> ids = tf.constant([[3, 4, 1], [5, 1, 0]])
        >>> model({"source_ids": ids, "target_ids": ids}).shape
        TensorShape([2, 3, 12])
    """

    system = "rnnsearch"
    has_attention = True
    bidirectional = True  # whether the encoder also reads backward

    def _attention(self) -> str | None:
        """The attention of the decoder, see :class:`~rnnsearch_tf.layers.Decoder`."""
        return self.config.attention

    def _add_layers(self, seeds: Iterator[int], common: dict[str, Any]) -> None:
        config = self.config
        m = self.config.embedding_size
        n = self.config.hidden_size
        unit = common | dict(unit=config.unit, forget_bias=config.forget_bias)
        self.encoder = Encoder(
            n, bidirectional=self.bidirectional, seed=next(seeds), name="encoder", **unit
        )
        self.decoder = Decoder(
            n,
            config.windows if config.attention == "gaussian_window" else config.alignment_size,
            self._attention(),
            seed=next(seeds),
            name="decoder",
            **unit,
        )
        self.output_layer = DeepOutput(
            self.target_vocabulary_size,
            config.maxout_size,
            config.output_rank,
            dropout=config.readout_dropout,
            seed=next(seeds),
            tied=config.tie_target_embeddings,
            name="deep_output",
            **common,
        )
        context_size = 2 * n if self.bidirectional else n
        words, states, contexts = ((None, None, size) for size in (m, n, context_size))
        self.encoder.build(words)
        self.encoder.shapes = {}  # this model passes valid arguments
        self.decoder.build(words, contexts)
        self.output_layer.build(states, words, contexts)

    # Training: all target positions at once.

    def pre_logits(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        """The factor of the output matrix at every target position: float [B, I, l or rank]."""
        return self.attended_pre_logits(source_ids, target_ids, training)[0]

    def attended_pre_logits(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """(:meth:`pre_logits`, the alignments α_i [B, I, J])."""
        state, memory = self._encode(source_ids, training)
        previous = self.previous_words(target_ids, training)  # y_{i−1}: [B, I, m]
        if self.config.decoder_order == "look_generate_update":
            first, later = tf.split(previous, [1, -1], axis=1)
            words = tf.concat([later, tf.zeros_like(first)], axis=1)  # y_i; the last is unused
        else:
            words = previous
        states, contexts, alignments = self.decoder.all_steps(
            self.decoder.inputs(words), state, memory
        )
        if self.config.decoder_order != "look_update_generate":
            earlier, _ = tf.split(states, [-1, 1], axis=1)
            states = tf.concat([state["state"][:, tf.newaxis], earlier], axis=1)  # s_{i−1}
        states = self.drop_hidden(states, training=training)
        return (
            self.output_layer.pre_logits(
                states, previous, self.output_layer.context_term(contexts), training
            ),
            alignments,
        )

    # Search: one target position at a time.

    def start(self, source_ids: tf.Tensor) -> tuple[State, Nest]:
        """Encode the source: the state before the first word and the memory of the attention.

        Instead of multiplying the context of every hypothesis by C and C_o at every word, the
        annotations are multiplied once, and attention sums the results.

        Args:
            source_ids: int32 [B, J].

        Returns:
            (state, memory): ``state`` is a dictionary of float [B, ...], whose ``state`` is the
            last updated s. With look_generate_update, the update by y_{i−1} is still pending;
            ``projected_context`` is kept for it. ``memory`` is that of the attention, with the
            values [C h_j | C_o h_j].
        """
        state, memory = self._encode(source_ids)
        projected = self.decoder.project_context(memory.values)
        if self.config.decoder_order == "look_generate_update":
            state["projected_context"] = tf.zeros(
                [tf.shape(source_ids)[0], projected.shape[-1]], projected.dtype
            )
        projected = tf.concat([projected, self.output_layer.context_term(memory.values)], axis=-1)
        return state, memory._replace(values=self.decoder.cast_values(projected))

    def step_pre_logits(
        self, previous_ids: tf.Tensor, state: State, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, State]:
        """See :class:`TranslationModel`."""
        # [B, K, m]
        order = self.config.decoder_order
        previous = self.target_embedding(previous_ids)
        inputs = self.decoder.inputs(previous)
        if order == "look_generate_update":
            # Training makes this update at the end of step i − 1; search knows y_{i−1} only now.
            before = {name: value for name, value in state.items() if name != "projected_context"}
            updated = self.decoder.update(before, inputs, state["projected_context"])
            first = (previous_ids == PAD_ID)[..., tf.newaxis]
            state = tf.nest.map_structure(
                lambda old, new: tf.where(first, old, new), before, updated
            )
        both, alignment, after = self.decoder.attend(state, memory)
        readout = self.output_layer.hidden_size
        projected_context, context_term = tf.split(
            both, [both.shape[-1] - readout, readout], axis=-1
        )
        if order == "look_generate_update":
            after = {**after, "projected_context": projected_context}
        else:
            after = self.decoder.update(after, inputs, projected_context)
        read = after if order == "look_update_generate" else state
        return self.output_layer.pre_logits(read["state"], previous, context_term), alignment, after

    def _encode(self, source_ids: tf.Tensor, training: bool = False) -> tuple[State, Nest]:
        """(first state, memory) of a batch of source sentences."""
        words, mask = self.source_words(source_ids, training)
        annotations = self.encoder(words, mask, training=training)
        memory = self.decoder.alignment_model.memory(
            self.drop_hidden(annotations, training=training), mask
        )
        return self.decoder.initial_state(annotations, memory), memory

    def _blocks(self) -> dict[str, Block]:
        """Encoder weights are ``encoder.forward.U`` and so on; the biases, if any, are b, b_s, b_o
        and b_softmax.
        """
        return self.encoder.blocks() | self.decoder.blocks() | self.output_layer.blocks()


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNEncDec(RNNSearch):
    """RNNencdec (§4.2 and A.2): RNNsearch with one context for the whole sentence; it has the same
    arguments and results.

        c_i = →h_{T_x} for every i,   s_0 = tanh(W_s →h_{T_x})

    It has no backward encoder and no alignment model; the alignments of a search are zeros. The
    RNN Encoder–Decoder of Cho et al. 2014a, which Bahdanau et al. name as the model, has another
    unit, c = tanh(V h) and another output layer: see the system ``encoder_decoder``.

    Example:
        >>> from rnnsearch_tf.config import ModelConfig
        >>> sizes = dict(embedding_size=4, hidden_size=5, maxout_size=3, output_rank=None)
        >>> model = RNNEncDec(ModelConfig(system="rnnencdec", **sizes), 10, 12)
        >>> model.encoder.bidirectional, model.has_attention
        (False, False)
    """

    system = "rnnencdec"
    has_attention = False
    bidirectional = False

    def _attention(self) -> None:
        return None
