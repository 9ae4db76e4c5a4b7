"""The RNN Encoder–Decoder (Cho et al. 2014a, Appendix A).

    h_t from the words, one direction;  c = tanh(V h_N);  m_x = mean of the e(x_t)
    h'_0 = tanh(V' c);  h'_t from e(y_{t−1}), h'_{t−1} and c;  e(y_0) = 0
    s_t = maxout of O_h h'_t + O_y e(y_{t−1}) + O_c c + O_w m_x;   p(y_t) = softmax(G_l G_r s_t)

Departure: the appendix writes O_y y_{t−1} for a one-hot word; §4.1.1 approximates every such
matrix by an embedding, and so does this model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.layers.base import PaperLayer, State, letters_of
from rnnsearch_tf.layers.output import DeepOutput
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit
from rnnsearch_tf.models.translation_model import TranslationModel, no_alignment
from rnnsearch_tf.runtime.backend import keras

LETTERS = {"U_o": "O_h", "V_o": "O_y", "C_o": "O_c", "W_o": "G", "W_o1": "G_r", "W_o2": "G_l"}
"""{letter of the output layer: that of Cho et al.}."""


class Summary(NamedTuple):
    """The encoded source phrase.

    Attributes:
        output_term: float [B, 2l]: O_c c + O_w m_x, a term of the output layer.
        context_term: float [B, 3n]: [C c | C_z c | C_r c].
        mask: bool [B, J], True at real positions.
    """

    output_term: tf.Tensor
    context_term: tf.Tensor
    mask: tf.Tensor


class SummaryMatrices(PaperLayer):
    """c = tanh(V h_N), h'_0 = tanh(V' c), and the term O_w m_x of the output."""

    def build(self, hidden_size: int, embedding_size: int, maxout_size: int) -> None:
        n = hidden_size
        self.V = self.matrix("V", n, n)
        self.V_prime = self.matrix("V_prime", n, n)
        self.O_w = self.matrix("O_w", embedding_size, 2 * maxout_size, terms=4)
        self.b_V = self.bias("b_V", n)
        self.b_V_prime = self.bias("b_V_prime", n)

    def context(self, last_state: tf.Tensor) -> tf.Tensor:
        return tf.tanh(self.matmul(last_state, self.V, self.b_V))

    def initial_state(self, context: tf.Tensor) -> tf.Tensor:
        return tf.tanh(self.matmul(context, self.V_prime, self.b_V_prime))

    def words_term(self, vectors: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        """O_w m_x [B, 2l] of vectors [B, J, m], with the mean over the real positions [B, J]; zero
        for a sentence without any.
        """
        real = tf.cast(mask, vectors.dtype)[..., tf.newaxis]
        total = tf.reduce_sum(vectors * real, axis=1)
        return self.matmul(tf.math.divide_no_nan(total, tf.reduce_sum(real, axis=1)), self.O_w)


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class EncoderDecoder(TranslationModel):
    """The phrase model of Cho et al.; for arguments and results see :class:`TranslationModel`."""

    system = "encoder_decoder"

    def _add_layers(self, common: dict[str, Any]) -> None:
        config = self.config
        m, n = config.embedding_size, config.hidden_size
        self.encoder = RecurrentUnit(n, "cho", name="encoder", **common)
        self.summary_matrices = SummaryMatrices(name="summary_matrices", **common)
        self.decoder = RecurrentUnit(n, "cho", name="decoder", **common)
        self.output_layer = DeepOutput(
            self.target_vocabulary_size,
            config.maxout_size,
            config.output_rank,
            config.readout_dropout,
            config.tie_target_embeddings,
            terms=4,
            name="deep_output",
            **common,
        )
        self.output_layer.symbol = LETTERS[self.output_layer.symbol]
        self.encoder.build(m)
        self.summary_matrices.build(n, m, config.maxout_size)
        self.decoder.build(m, n)
        self.output_layer.build((None, None, n), (None, None, m), (None, None, n))

    def attended_features(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """(what G_l is multiplied with, float [B, I, rank] or [B, I, l]; zeros)."""
        state, summary = self.start(source_ids, training)
        words = self.previous_words(target_ids, training)  # [B, I, m]
        states, _ = self.decoder.read(words, state, context_term=summary.context_term)
        states = self.drop_hidden(states, training=training)
        output_term = summary.output_term[:, tf.newaxis]
        features = self.output_layer.features(states, words, output_term, training)
        return features, no_alignment(target_ids, source_ids)

    def start(self, source_ids: tf.Tensor, training: bool = False) -> tuple[State, Summary]:
        """(h'_0 as {"state": [B, n]}, Summary)."""
        words, mask = self.source_words(source_ids, training)
        context = self._context(words, mask)
        output_term = self.output_layer.context_term(context)
        output_term += self.summary_matrices.words_term(words, mask)
        state = self.decoder.initial_state(self.summary_matrices.initial_state(context))
        return state, Summary(output_term, self.decoder.context_term(context), mask)

    def step_features(
        self, previous_ids: tf.Tensor, state: State, memory: Summary
    ) -> tuple[tf.Tensor, tf.Tensor, State]:
        """See :class:`TranslationModel`; the alignments are zeros."""
        words = self.target_embedding(previous_ids)  # [B, K, m]
        inputs = self.decoder.inputs(words)
        state = self.decoder.advance(inputs, state, memory.context_term[:, tf.newaxis])
        output_term = memory.output_term[:, tf.newaxis]
        features = self.output_layer.features(state["state"], words, output_term)
        return features, no_alignment(previous_ids, memory.mask), state

    def source_vectors(self, source_ids: tf.Tensor) -> tf.Tensor:
        """A vector for each source phrase: c, float [B, n]."""
        return self._context(self.source_embedding(source_ids), source_ids != PAD_ID)

    def _context(self, words: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        _, last = self.encoder.read(words, mask=mask)
        return self.summary_matrices.context(last["state"])

    def letters(self) -> dict[str, keras.Variable]:
        """The output layer has the letters of Cho et al.: O_h, O_y, O_c, O_w, G_l, G_r."""
        output = letters_of(self.output_layer).items()
        return (
            super().letters()
            | letters_of(self.encoder, "encoder.")
            | letters_of(self.decoder, "decoder.")
            | letters_of(self.summary_matrices)
            | {LETTERS.get(letter, letter): weight for letter, weight in output}
        )
