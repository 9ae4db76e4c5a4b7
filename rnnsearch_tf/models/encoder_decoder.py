"""The RNN Encoder–Decoder (Cho et al. 2014a, Appendix A).

    h_t from the words, one direction;  c = tanh(V h_N);  m_x = mean of the e(x_t)
    h'_0 = tanh(V' c);  h'_t from e(y_{t−1}), h'_{t−1} and c;  e(y_0) = 0
    s_t = maxout of O_h h'_t + O_y e(y_{t−1}) + O_c c + O_w m_x;   p(y_t) = softmax(G_l G_r s_t)

Departures: the appendix writes O_y y_{t−1} for a one-hot word; §4.1.1 approximates every such
matrix by an embedding, and so does this model. Like every system here, it reads the end symbol of
the source as the last word.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.nests import Nest
from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.layers import DeepOutput
from rnnsearch_tf.layers.base import Block, State
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit
from rnnsearch_tf.layers.scan import scan
from rnnsearch_tf.layers.summary import SummaryMatrices
from rnnsearch_tf.models.layered import no_alignment
from rnnsearch_tf.models.translation_model import TranslationModel

LETTERS = {"U_o": "O_h", "V_o": "O_y", "W_o": "G", "W_o1": "G_r", "W_o2": "G_l"}
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


def mean_of_words(vectors: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Mean over the real positions of each sentence: float [B, J, m], bool [B, J] → float [B, m];
    zero for a sentence without real positions.
    """
    real = tf.cast(mask, vectors.dtype)[..., tf.newaxis]
    return tf.math.divide_no_nan(tf.reduce_sum(vectors * real, axis=1), tf.reduce_sum(real, axis=1))


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class EncoderDecoder(TranslationModel):
    """The phrase model of Cho et al.; for arguments and results see :class:`TranslationModel`.

    Example:
        >>> from rnnsearch_tf.config import ModelConfig
        >>> sizes = dict(embedding_size=4, hidden_size=5, maxout_size=3, output_rank=4)
        >>> model = EncoderDecoder(ModelConfig(system="encoder_decoder", **sizes), 10, 12)
        >>> ids = tf.constant([[3, 4, 1], [5, 1, 0]])
        >>> model({"source_ids": ids, "target_ids": ids}).shape
        TensorShape([2, 3, 12])
    """

    system = "encoder_decoder"

    def _add_layers(self, seeds: Iterator[int], common: dict[str, Any]) -> None:
        config = self.config
        m = self.config.embedding_size
        n = self.config.hidden_size
        self.encoder = RecurrentUnit(n, "cho", seed=next(seeds), name="encoder", **common)
        self.summary_matrices = SummaryMatrices(
            n, seed=next(seeds), name="summary_matrices", **common
        )
        self.decoder = RecurrentUnit(n, "cho", seed=next(seeds), name="decoder", **common)
        self.output_layer = DeepOutput(
            self.target_vocabulary_size,
            config.maxout_size,
            config.output_rank,
            dropout=config.readout_dropout,
            seed=next(seeds),
            tied=config.tie_target_embeddings,
            context_sizes=(n, m),
            name="deep_output",
            **common,
        )
        self.encoder.build(m)
        self.summary_matrices.build((None, n))
        self.decoder.build(m, n)
        self.output_layer.build((None, None, n), (None, None, m), (None, None, n + m))

    def pre_logits(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        """The factor of G_l at every target position: float [B, I, rank], or [B, I, l]."""
        state, summary = self.start(source_ids, training)
        words = self.previous_words(target_ids, training)  # [B, I, m]

        def advance(inputs: tf.Tensor, state: State) -> State:
            return self.decoder.advance(inputs, state, summary.context_term)

        states = self.drop_hidden(
            scan(advance, self.decoder.inputs(words), state)["state"], training=training
        )
        return self.output_layer.pre_logits(
            states, words, summary.output_term[:, tf.newaxis], training
        )

    def start(self, source_ids: tf.Tensor, training: bool = False) -> tuple[Nest, Summary]:
        """(h'_0 as {"state": [B, n]}, Summary)."""
        words, mask = self.source_words(source_ids, training)
        context = self._context(words, mask)
        # c, m_x
        output_term = self.output_layer.context_term(
            tf.concat([context, mean_of_words(words, mask)], axis=-1)
        )
        state = self.decoder.initial_state(self.summary_matrices.initial_state(context))
        return state, Summary(output_term, self.decoder.context_term(context), mask)

    def step_pre_logits(
        self, previous_ids: tf.Tensor, state: Nest, memory: Summary
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]:
        """See :class:`TranslationModel`; the alignments are zeros."""
        words = self.target_embedding(previous_ids)  # [B, K, m]
        state = self.decoder.advance(
            self.decoder.inputs(words), state, memory.context_term[:, tf.newaxis]
        )
        pre_logits = self.output_layer.pre_logits(
            state["state"], words, memory.output_term[:, tf.newaxis]
        )
        return pre_logits, no_alignment(previous_ids, memory.mask), state

    def source_vectors(self, source_ids: tf.Tensor) -> tf.Tensor:
        """A vector for each source phrase: c, float [B, n]."""
        return self._context(self.source_embedding(source_ids), source_ids != PAD_ID)

    def _context(self, words: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
        zeros = tf.zeros([tf.shape(words)[0], self.config.hidden_size], words.dtype)
        return self.summary_matrices.context(
            self.encoder.read(words, self.encoder.initial_state(zeros), mask)["state"][:, -1]
        )

    def _blocks(self) -> dict[str, Block]:
        decoder = self.decoder.blocks("decoder.") | self.summary_matrices.blocks()
        return self.encoder.blocks("encoder.") | decoder | self.output_layer.blocks()

    def paper_weights(self) -> dict[str, np.ndarray]:
        """See :class:`TranslationModel`; the output layer has the letters of Cho et al.: O_h, O_y,
        O_c, O_w, G_l, G_r.
        """
        weights = super().paper_weights()
        weights["O_c"] = weights["C_o"][: self.config.hidden_size]
        weights["O_w"] = weights["C_o"][self.config.hidden_size :]
        return {LETTERS.get(key, key): value for key, value in weights.items() if key != "C_o"}

    def _stored(self, weights: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
        names = {letter: name for name, letter in LETTERS.items()}
        values = {names.get(key, key): value for key, value in weights.items()}
        values["C_o"] = np.concatenate([values.pop("O_c"), values.pop("O_w")])
        return super()._stored(values)
