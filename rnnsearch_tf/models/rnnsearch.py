"""RNNsearch (Bahdanau, Cho, Bengio 2015), assembled from the layers.

    source ids → E x_j → Encoder → annotations h_j
    s_0 = tanh(W_s ←h_1)
    for each target position: Decoder.advance (attend, update the state), DeepOutput (y_i)

``layers/decoder.py`` has the three orders of these.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rnnsearch_tf.layers.attention import AttentionMemory
from rnnsearch_tf.layers.base import State, letters_of
from rnnsearch_tf.layers.decoder import Decoder
from rnnsearch_tf.layers.encoder import Encoder
from rnnsearch_tf.layers.output import DeepOutput
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runtime.backend import keras


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
        >>> model((ids, ids)).shape
        TensorShape([2, 3, 12])
    """

    system = "rnnsearch"
    has_attention = True

    def _add_layers(self, common: dict[str, Any]) -> None:
        config = self.config
        m, n = config.embedding_size, config.hidden_size
        unit = common | dict(unit=config.unit, forget_bias=config.forget_bias)
        windows = config.attention == "gaussian_window"
        self.encoder = Encoder(n, bidirectional=self.has_attention, name="encoder", **unit)
        self.decoder = Decoder(
            n,
            config.windows if windows else config.alignment_size,
            config.attention if self.has_attention else None,
            config.decoder_order,
            name="decoder",
            **unit,
        )
        self.output_layer = DeepOutput(
            self.target_vocabulary_size,
            config.maxout_size,
            config.output_rank,
            config.readout_dropout,
            config.tie_target_embeddings,
            name="deep_output",
            **common,
        )
        context_size = 2 * n if self.has_attention else n
        words, states, contexts = ((None, None, size) for size in (m, n, context_size))
        self.encoder.build(words)
        self.decoder.build(words, contexts)
        self.output_layer.build(states, words, contexts)

    def attended_features(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """(what the output matrix is multiplied with, float [B, I, l or rank]; the alignments α_i
        [B, I, J]).
        """
        state, memory = self._encode(source_ids, training)
        words = self.previous_words(target_ids, training)
        states, contexts, alignments = self.decoder.all_steps(words, state, memory)
        states = self.drop_hidden(states, training=training)
        context_terms = self.output_layer.context_term(contexts)
        features = self.output_layer.features(states, words, context_terms, training)
        return features, alignments

    def start(self, source_ids: tf.Tensor) -> tuple[State, AttentionMemory]:
        """(first state, memory with the values [C h_j | C_o h_j]; see ``layers/decoder.py``)."""
        state, memory = self._encode(source_ids)
        h = memory.values
        terms = self.decoder.recurrent_unit.context_term(h), self.output_layer.context_term(h)
        return state, self.decoder.with_values(memory, tf.concat(terms, axis=-1))

    def step_features(
        self, previous_ids: tf.Tensor, state: State, memory: AttentionMemory
    ) -> tuple[tf.Tensor, tf.Tensor, State]:
        """See :class:`TranslationModel`."""
        words = self.target_embedding(previous_ids)  # [B, K, m]
        inputs = self.decoder.recurrent_unit.inputs(words)
        attended, state = self.decoder.advance(inputs, state, memory)
        context_term = attended.values[..., inputs.shape[-1] :]
        features = self.output_layer.features(attended.state, words, context_term)
        return features, attended.alignment, state

    def _encode(
        self, source_ids: tf.Tensor, training: bool = False
    ) -> tuple[State, AttentionMemory]:
        """(first state, memory with the values h_j) of a batch of source sentences."""
        words, mask = self.source_words(source_ids, training)
        annotations = self.encoder(words, mask)
        dropped = self.drop_hidden(annotations, training=training)
        memory = self.decoder.alignment_model.memory(dropped, mask)
        return self.decoder.initial_state(annotations, memory), memory

    def letters(self) -> dict[str, keras.Variable]:
        """Encoder weights are ``encoder.forward.U`` and so on."""
        decoder = letters_of(self.decoder) | letters_of(self.output_layer)
        return super().letters() | self.encoder.letters() | decoder


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RNNEncDec(RNNSearch):
    """RNNencdec (A.2.2): RNNsearch with one context for the whole sentence; it has the same
    arguments and results.

        c_i = →h_{T_x} for every i,   s_0 = tanh(W_s →h_{T_x}), as in the authors' program

    It has no backward encoder and no alignment model; its alignments are zeros. The RNN
    Encoder–Decoder of Cho et al. 2014a, which Bahdanau et al. name as the model, has another unit,
    c = tanh(V h) and another output layer: see the system ``encoder_decoder``.
    """

    system = "rnnencdec"
    has_attention = False
