"""The feed-forward language model with which Cho et al. 2014a, §4.1.2, compare their model (CSLM,
Schwenk 2007).

    x_i = [E y_{i−n+1} ; … ; E y_{i−1}]        the n − 1 previous words, zeros before the first
    p(y_i | previous words) = softmax(W_o max(0, W_2 max(0, W_1 x_i + b_1) + b_2) + b_softmax)

It reads only the target side: the probability of a sentence does not depend on the source. The
paper has no letters for the weights of the two rectified layers; W_1 and W_2 are this project's.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.layers.base import PaperLayer, letters_of
from rnnsearch_tf.layers.output import OutputMatrix
from rnnsearch_tf.models.translation_model import TranslationModel, no_alignment
from rnnsearch_tf.runtime.backend import Nest, keras


class RectifiedLayers(PaperLayer):
    """max(0, max(0, x W_1 + b_1) W_2 + b_2): float [..., input_size] → [..., second_size]."""

    def build(self, input_size: int, first_size: int, second_size: int) -> None:
        self.W_1 = self.matrix("W_1", input_size, first_size)
        self.b_1 = self.bias("b_1", first_size)
        self.W_2 = self.matrix("W_2", first_size, second_size)
        self.b_2 = self.bias("b_2", second_size)

    def call(self, words: tf.Tensor) -> tf.Tensor:
        first = tf.nn.relu(self.matmul(words, self.W_1, self.b_1))
        return tf.nn.relu(self.matmul(first, self.W_2, self.b_2))


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class CSLM(TranslationModel):
    """n-gram language model of target sentences; for arguments and results see
    :class:`TranslationModel`.

    Source ids are accepted, as in all systems, but not used. The end symbol is predicted like a
    word.
    """

    system = "cslm"
    reads_source = False
    embedding_bias = False
    paper_initialization = "small uniform"

    def _add_layers(self, common: dict[str, Any]) -> None:
        config = self.config
        self.rectified = RectifiedLayers(name="rectified", **common)
        self.output_layer = OutputMatrix(
            self.target_vocabulary_size, name="output_matrix", **common
        )
        width = (config.ngram_order - 1) * config.embedding_size
        self.rectified.build(width, config.hidden_size, config.second_hidden_size)
        self.output_layer.build(config.second_hidden_size)

    def attended_features(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """(what the output matrix is multiplied with, float [B, I, l]; zeros)."""
        words = self.drop_words(self.target_embedding(target_ids), training=training)  # [B, I, m]
        before = self.config.ngram_order - 1
        padded = tf.pad(words, [[0, 0], [before, 0], [0, 0]])  # [B, before + I, m]
        length = tf.shape(target_ids)[1]
        # [B, I, before · m], y_{i−1} last
        history = tf.concat([padded[:, k : k + length] for k in range(before)], axis=-1)
        features = self.drop_hidden(self.rectified(history), training=training)
        return features, no_alignment(target_ids, source_ids)

    def start(self, source_ids: tf.Tensor) -> tuple[Nest, tf.Tensor]:
        """No previous words; the mask [B, J] is used only for the source length."""
        none = tf.fill([tf.shape(source_ids)[0], self.config.ngram_order - 1], PAD_ID)
        return {"words": none}, source_ids != PAD_ID

    def step_features(
        self, previous_ids: tf.Tensor, state: Nest, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]:
        """See :class:`TranslationModel`; the alignments are zeros."""
        # [B, K, n − 1]
        words = tf.concat([state["words"][..., 1:], previous_ids[..., tf.newaxis]], axis=-1)
        vectors = self.target_embedding(words)  # [B, K, n − 1, m]
        width = (self.config.ngram_order - 1) * self.config.embedding_size
        history = tf.reshape(vectors, tf.concat([tf.shape(previous_ids), [width]], axis=0))
        return self.rectified(history), no_alignment(previous_ids, memory), {"words": words}

    def letters(self) -> dict[str, keras.Variable]:
        return super().letters() | letters_of(self.rectified) | letters_of(self.output_layer)
