"""Deep recurrent encoder and decoder with the attention of Luong et al.

    s_t = RNN([y_{t−1}], s_{t−1});  with input feeding RNN([y_{t−1} ; ŝ_{t−1}], s_{t−1})
    ŝ_t = tanh(W_c [c_t ; s_t]),    p(y_t) = softmax(W_s ŝ_t)

Unlike in RNNsearch, the query of the attention is the state at the same position. Without input
feeding, no state depends on an earlier alignment, and training attends at all positions at once.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rnnsearch_tf.layers.attention import AttentionMemory, LuongAttention
from rnnsearch_tf.layers.base import letters_of
from rnnsearch_tf.layers.scan import scan
from rnnsearch_tf.models.layered import LayeredModel, reverse_words
from rnnsearch_tf.runtime.backend import keras


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class LuongModel(LayeredModel):
    """The deep encoder and decoder of :class:`LayeredModel` with attention between them.

    The decoder starts from the last states of the encoder; ŝ_0 is zero. Dropout (readout_dropout)
    applies to ŝ_t before the output layer, not to the ŝ_t that is fed back.
    """

    system = "luong"
    has_attention = True
    symbol = "W_s"

    def _add_layers(self, common: dict[str, Any]) -> None:
        config = self.config
        n = config.hidden_size
        super()._add_layers(common)
        self.attention = LuongAttention(
            n, config.attention_score, config.alignment_size, name="attention", **common
        )
        self.attention.build((None, None, n), (None, None, n))
        self.drop_readout = self._dropout("drop_readout", config.readout_dropout)

    def attended_features(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """(ŝ_t at every target position, float [B, I, n]; the alignments [B, I, J])."""
        state, memory = self.start(source_ids, training)
        words = self.previous_words(target_ids, training)  # [B, I, m]
        if self.config.input_feeding:
            attentional, alignments = self._feed(words, state, memory, training)
        else:
            outputs, _ = self.decoder(words, state["layers"], training=training)
            outputs = self.drop_hidden(outputs, training=training)
            attentional, alignments, _ = self.attention.attend(outputs, memory)
        return self.drop_readout(attentional, training=training), alignments

    def _feed(
        self, words: tf.Tensor, state: dict[str, Any], memory: AttentionMemory, training: bool
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """ŝ_t [B, I, n] and alignments [B, I, J] with input feeding: a scan of :meth:`advance` with
        K = 1. Dropout is drawn before the scan.
        """
        layer_factors = self.decoder.dropout_factors(words, training)  # [B, I, layers, n]
        # [B, I, n]
        state_factors = self.drop_hidden(tf.ones_like(layer_factors[:, :, 0]), training=training)
        inputs = tuple(values[:, :, tf.newaxis] for values in (words, layer_factors, state_factors))
        state = tf.nest.map_structure(lambda leaf: leaf[:, tf.newaxis], state)

        def step(
            now: tuple[tf.Tensor, ...], state: dict[str, Any]
        ) -> tuple[tuple[tf.Tensor, tf.Tensor], dict[str, Any]]:
            word, *factors = now
            state, alignment = self.advance(word, state, memory, *factors)
            return (state["attentional"], alignment), state

        like = state["attentional"], tf.zeros_like(memory.mask, words.dtype)[:, tf.newaxis]
        weights = self.decoder.weights + self.attention.weights
        outputs, _ = scan(step, inputs, state, like, weights)
        attentional, alignments = (values[:, :, 0] for values in outputs)
        return attentional, alignments

    def start(
        self, source_ids: tf.Tensor, training: bool = False
    ) -> tuple[dict[str, Any], AttentionMemory]:
        """(last states of the encoder, with ŝ_0 for input feeding; AttentionMemory)."""
        annotations, last, mask = self.read(source_ids, training)
        if self.config.reverse_source:
            # so that position j of the alignment is word j
            annotations = reverse_words(annotations, mask)
        state: dict[str, Any] = {"layers": last}
        if self.config.input_feeding:
            state["attentional"] = tf.zeros_like(last[-1]["state"])
        return state, self.attention.memory(self.drop_hidden(annotations, training=training), mask)

    def step_features(
        self, previous_ids: tf.Tensor, state: dict[str, Any], memory: AttentionMemory
    ) -> tuple[tf.Tensor, tf.Tensor, dict[str, Any]]:
        """See :class:`TranslationModel`."""
        state, alignment = self.advance(self.target_embedding(previous_ids), state, memory)
        after = state if self.config.input_feeding else {"layers": state["layers"]}
        return state["attentional"], alignment, after

    def advance(
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
        output, layers = self.decoder.advance(words, state["layers"], layer_factors)
        attentional, alignment, _ = self.attention.attend(output * state_factors, memory)
        return {"layers": layers, "attentional": attentional}, alignment

    def letters(self) -> dict[str, keras.Variable]:
        return super().letters() | letters_of(self.attention)
