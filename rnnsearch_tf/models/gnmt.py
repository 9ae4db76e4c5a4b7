"""GNMT (Wu et al. 2016) as tensorflow/nmt has it.

    h^1_t = RNN([y_{t−1} ; c_{t−1}], h^1_{t−1}),   c_t = Σ_j α_tj h_j,  α_t from score(h^1_t, h_j)
    h^k_t = RNN([h^{k−1}_t ; c], h^k_{t−1}),       c = c_{t−1} (``upper_context: previous``), or c_t
    p(y_t) = softmax(W_s h^L_t)

with c_0 = 0. The encoder of the paper has the option ``encoder_directions: first``, its residual
layers ``residual`` and ``first_residual: 3``, its attention ``attention_score: concat``.

With ``upper_context: previous``, all layers read c_{t−1} to predict y_t. As in tensorflow/nmt, the
alignment of y_t is nevertheless α_t, which attention computes from h^1_t at the same step; c_0 has
no alignment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.attention import AttentionMemory
from rnnsearch_tf.layers.base import PaperLayer
from rnnsearch_tf.layers.gnmt_decoder import GNMTDecoder
from rnnsearch_tf.layers.luong_attention import ScoredAttention
from rnnsearch_tf.layers.scan import scan
from rnnsearch_tf.models.luong import LuongModel


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class GNMT(LuongModel):
    """Encoder, bridge and scores of :class:`LuongModel`, with attention from the decoder's first
    layer to all of its layers.

    Dropout (hidden_dropout) applies to the annotations and to what leaves each layer of the
    decoder, on its way to attention, the next layer or the output layer; residual layers add what
    was not dropped.

    Example:
        >>> from rnnsearch_tf.config import ModelConfig
        >>> sizes = dict(embedding_size=4, hidden_size=5, layers=3, encoder_directions="first")
        >>> model = GNMT(ModelConfig(system="gnmt", unit="lstm", **sizes), 10, 12)
        >>> ids = tf.constant([[3, 4, 1], [5, 1, 0]])
        >>> model({"source_ids": ids, "target_ids": ids}).shape
        TensorShape([2, 3, 12])
    """

    system = "gnmt"

    def _add_attention(self, seeds: Iterator[int], common: dict[str, Any]) -> None:
        config = self.config
        self.attention = ScoredAttention(
            config.hidden_size,
            config.attention_score,
            config.alignment_size,
            seed=next(seeds),
            name="attention",
            **common,
        )

    def _decoder(self, seed: int, **stack: Any) -> PaperLayer:
        return GNMTDecoder(hidden_size=self.config.hidden_size, seed=seed, name="decoder", **stack)

    def _decoder_input_sizes(self) -> tuple[int, ...]:
        context_size = self.encoder.output_size or self.config.hidden_size
        return self.config.embedding_size, context_size

    def attended_pre_logits(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """(output of the decoder's top layer at every target position, float [B, I, n]; the
        alignments [B, I, J]).
        """
        state, memory = self.start(source_ids, training)
        words = self.previous_words(target_ids, training)  # [B, I, m]
        factors = self.decoder.dropout_factors(words, training)  # [B, I, L, n]
        first, contexts, alignments = self._read_first(words, state, memory, factors[:, :, 0])
        if self.config.upper_context == "previous":
            # c_0 … c_{I−1}
            contexts = tf.concat([state["context"][:, tf.newaxis], contexts[:, :-1]], axis=1)
        outputs = self.decoder(first, contexts, state["layers"][1:], factors, training=training)
        return self.drop_hidden(outputs, training=training), alignments

    def _read_first(
        self,
        words: tf.Tensor,
        state: dict[str, Any],
        memory: AttentionMemory,
        factors: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """h^1_t [B, I, n], c_t [B, I, h] and α_t [B, I, J]: a scan of :meth:`_advance_first` with K
        = 1, for words [B, I, m] and dropout factors [B, I, n].
        """
        inputs = words[:, :, tf.newaxis], factors[:, :, tf.newaxis]
        before = state["layers"][0], state["context"], tf.zeros_like(memory.mask, words.dtype)
        first, contexts, alignments = scan(
            lambda now, before: self._advance_first(now[0], before[0], before[1], memory, now[1]),
            inputs,
            tf.nest.map_structure(lambda leaf: leaf[:, tf.newaxis], before),
        )
        return first["state"][:, :, 0], contexts[:, :, 0], alignments[:, :, 0]

    def start(
        self, source_ids: tf.Tensor, training: bool = False
    ) -> tuple[dict[str, Any], AttentionMemory]:
        """(last states of the encoder, and c_0; AttentionMemory)."""
        state, memory = super().start(source_ids, training)
        return state | {"context": tf.zeros_like(memory.values[:, 0])}, memory

    def step_pre_logits(
        self, previous_ids: tf.Tensor, state: dict[str, Any], memory: AttentionMemory
    ) -> tuple[tf.Tensor, tf.Tensor, dict[str, Any]]:
        """See :class:`TranslationModel`."""
        words = self.target_embedding(previous_ids)  # [B, K, m]
        first, *upper = state["layers"]
        first, context, alignment = self._advance_first(words, first, state["context"], memory)
        previous = self.config.upper_context == "previous"
        output, upper = self.decoder.upper(
            first["state"], state["context"] if previous else context, upper
        )
        return output, alignment, {"layers": (first, *upper), "context": context}

    def _advance_first(
        self,
        words: tf.Tensor,
        state: dict[str, tf.Tensor],
        context: tf.Tensor,
        memory: AttentionMemory,
        factors: tf.Tensor | float = 1.0,
    ) -> tuple[dict[str, tf.Tensor], tf.Tensor, tf.Tensor]:
        """The first layer and attention at one position of K hypotheses of each sentence.

        Args:
            words: float [B, K, m]: embeddings of y_{t−1}.
            state: of the first layer, [B, K, n].
            context: float [B, K, h]: c_{t−1}.
            memory: AttentionMemory.
            factors: dropout factors below attention [B, K, n].

        Returns:
            (state of the first layer, c_t [B, K, h], α_t [B, K, J]).
        """
        state = self.decoder.first(words, context, state)
        context, alignment, _ = self.attention.attend(state["state"] * factors, memory)
        return state, context, alignment
