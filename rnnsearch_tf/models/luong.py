"""Deep recurrent encoder and decoder with the attention of Luong et al.

    s_t = RNN([y_{t−1}], s_{t−1});  with input feeding RNN([y_{t−1} ; ŝ_{t−1}], s_{t−1})
    ŝ_t = tanh(W_c [c_t ; s_t]),    p(y_t) = softmax(W_s ŝ_t)

Unlike in RNNsearch, the query of the attention is the state at the same position. Without input
feeding, no state depends on an earlier alignment, and training attends at all positions at once.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.attention import AttentionMemory
from rnnsearch_tf.layers.base import Block
from rnnsearch_tf.layers.luong_attention import LuongAttention
from rnnsearch_tf.layers.scan import scan
from rnnsearch_tf.models.layered import LayeredModel, last_states, reverse_words


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class LuongModel(LayeredModel):
    """The deep encoder and decoder of :class:`LayeredModel` with attention between them.

    The decoder starts from the last states of the encoder; ŝ_0 is zero. Dropout (readout_dropout)
    applies to ŝ_t before the output layer, not to the ŝ_t that is fed back.

    Example:
        >>> from rnnsearch_tf.config import ModelConfig
        >>> config = ModelConfig(
        ...     system="luong", embedding_size=4, hidden_size=5, input_feeding=True
        ... )
        >>> model = LuongModel(config, 10, 12)
        >>> ids = tf.constant([[3, 4, 1], [5, 1, 0]])
        >>> model({"source_ids": ids, "target_ids": ids}).shape
        TensorShape([2, 3, 12])
    """

    system = "luong"
    has_attention = True
    symbol = "W_s"

    def _add_layers(self, seeds: Iterator[int], common: dict[str, Any]) -> None:
        config = self.config
        super()._add_layers(seeds, common)
        self.attention = LuongAttention(
            config.hidden_size,
            config.attention_score,
            config.alignment_size,
            seed=next(seeds),
            name="attention",
            **common,
        )
        self.drop_readout = self._dropout(
            "drop_readout", config.readout_dropout, config.hidden_size, seeds
        )
        states = (None, None, config.hidden_size)
        self.attention.build(states, states)
        next(seeds)  # unused; the dropout layers that follow keep their seeds

    def _decoder_input_size(self) -> int:
        fed = self.config.hidden_size if self.config.input_feeding else 0
        return self.config.embedding_size + fed

    def pre_logits(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        """ŝ_t at every target position: float [B, I, n]."""
        return self.attended_pre_logits(source_ids, target_ids, training)[0]

    def attended_pre_logits(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """(:meth:`pre_logits`, the alignments [B, I, J])."""
        state, memory = self.start(source_ids, training)
        words = self.previous_words(target_ids, training)  # [B, I, m]
        if self.config.input_feeding:
            attentional, alignments = self._feed(words, state, memory, training)
        else:
            states = self.decoder(words, state["layers"], training=training)
            attentional, alignments, _ = self.attention.attend(
                self.drop_hidden(self.decoder.output(states), training=training), memory
            )
        return self.drop_readout(attentional, training=training), alignments

    def _feed(
        self, words: tf.Tensor, state: dict[str, Any], memory: AttentionMemory, training: bool
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """ŝ_t [B, I, n] and alignments [B, I, J] with input feeding: a scan of :meth:`_advance`
        with K = 1. Dropout is drawn before the scan.
        """
        layer_factors = self.decoder.dropout_factors(words, training)  # [B, I, layers, n]
        # [B, I, n]
        state_factors = self.drop_hidden(tf.ones_like(layer_factors[:, :, 0]), training=training)
        inputs = tuple(values[:, :, tf.newaxis] for values in (words, layer_factors, state_factors))
        state = tf.nest.map_structure(lambda leaf: leaf[:, tf.newaxis], state)
        no_alignment = tf.zeros_like(memory.mask, words.dtype)[:, tf.newaxis]
        states, alignments = scan(
            lambda now, before: self._advance(now[0], before[0], memory, *now[1:]),
            inputs,
            (state, no_alignment),
        )
        return states["attentional"][:, :, 0], alignments[:, :, 0]

    def start(
        self, source_ids: tf.Tensor, training: bool = False
    ) -> tuple[dict[str, Any], AttentionMemory]:
        """(last states of the encoder, with ŝ_0 for input feeding; AttentionMemory)."""
        states, mask = self.read(source_ids, training)
        annotations = self.encoder.output(states)
        if self.config.reverse_source:
            # so that position j of the alignment is word j
            annotations = reverse_words(annotations, mask)
        state: dict[str, Any] = {"layers": last_states(states)}
        if self.config.input_feeding:
            state["attentional"] = tf.zeros_like(state["layers"][-1]["state"])
        return state, self.attention.memory(self.drop_hidden(annotations, training=training), mask)

    def step_pre_logits(
        self, previous_ids: tf.Tensor, state: dict[str, Any], memory: AttentionMemory
    ) -> tuple[tf.Tensor, tf.Tensor, dict[str, Any]]:
        """See :class:`TranslationModel`."""
        state, alignment = self._advance(self.target_embedding(previous_ids), state, memory)
        after = state if self.config.input_feeding else {"layers": state["layers"]}
        return state["attentional"], alignment, after

    def _advance(
        self,
        words: tf.Tensor,
        state: dict[str, Any],
        memory: AttentionMemory,
        layer_factors: tf.Tensor | None = None,
        state_factors: tf.Tensor | float = 1.0,
    ) -> tuple[dict[str, Any], tf.Tensor]:
        """One position of K hypotheses of each sentence.

        Args:
            words: float [B, K, m]: embeddings of y_{t−1}.
            state: ``layers`` and, with input feeding, ``attentional``: ŝ_{t−1} [B, K, n].
            memory: AttentionMemory.
            layer_factors, state_factors: dropout factors between the layers [B, K, layers, n] and
                below attention [B, K, n].

        Returns:
            (state with ŝ_t as ``attentional``, alignment [B, K, J]).
        """
        if self.config.input_feeding:
            words = tf.concat([words, state["attentional"]], axis=-1)
        layers = self.decoder.advance(words, state["layers"], layer_factors)
        attentional, alignment, _ = self.attention.attend(
            self.decoder.output(layers) * state_factors, memory
        )
        return {"layers": layers, "attentional": attentional}, alignment

    def _blocks(self) -> dict[str, Block]:
        return super()._blocks() | self.attention.blocks()
