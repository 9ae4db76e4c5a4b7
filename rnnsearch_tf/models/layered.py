"""Deep recurrent encoder and decoder: the deep LSTM of Sutskever et al., and the stack with skip
connections.

    encoder    the states of all layers after the whole source
    decoder    starts from these states; reads the previous word (none at the first position)
    output     p(y_t) = softmax(W of the decoder's top layer, or of all layers)

The source may be read in reverse, its end symbol still last (Sutskever et al. 2014, §2).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.nests import Nest
from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.layers.base import Block
from rnnsearch_tf.layers.output import OutputMatrix
from rnnsearch_tf.layers.recurrent_stack import LayerStates, RecurrentStack
from rnnsearch_tf.models.translation_model import TranslationModel


class LayeredModel(TranslationModel):
    """Two :class:`RecurrentStack` and an output matrix; for arguments and results see
    :class:`TranslationModel`.

    Departure from figure 1 of Sutskever et al., in which the decoder first reads the end symbol of
    the source: here the encoder reads that symbol, and the decoder first reads no word (zeros).
    """

    embedding_bias = False
    skips = False
    unit: str | None = None  # of every layer; None: that of the option
    symbol = "W_o"  # the paper's letter of the output matrix

    def _add_layers(self, seeds: Iterator[int], common: dict[str, Any]) -> None:
        config = self.config
        stack: dict[str, Any] = common | dict(
            unit=self.unit or config.unit,
            peepholes=config.peepholes,
            forget_bias=config.forget_bias,
            dropout=config.hidden_dropout,
            skips=self.skips,
        )
        sizes = config.layers, config.hidden_size
        self.encoder = RecurrentStack(*sizes, seed=next(seeds), name="encoder", **stack)
        self.decoder = RecurrentStack(*sizes, seed=next(seeds), name="decoder", **stack)
        self.output_layer = OutputMatrix(
            self.target_vocabulary_size,
            self.symbol,
            seed=next(seeds),
            tied=config.tie_target_embeddings,
            name="output_matrix",
            **common,
        )
        self.encoder.build(config.embedding_size)
        self.decoder.build(self._decoder_input_size())
        self.output_layer.build(*self.decoder.output_sizes)

    def _decoder_input_size(self) -> int:
        return self.config.embedding_size

    def pre_logits(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tf.Tensor:
        """The factor of the output matrix at every target position: float [B, I, l]."""
        states, _ = self.read(source_ids, training)
        words = self.previous_words(target_ids, training)  # [B, I, m]
        states = self.decoder(words, last_states(states), training=training)
        return self.drop_hidden(self.decoder.output(states), training=training)

    def start(self, source_ids: tf.Tensor) -> tuple[Nest, Nest]:
        """Encode the source: (last states of the encoder, mask [B, J], used only for the source
        length).
        """
        states, mask = self.read(source_ids)
        return last_states(states), mask

    def source_vectors(self, source_ids: tf.Tensor) -> tf.Tensor:
        """A vector for each source sentence: the hidden states of all layers after its last word,
        float [B, layers · n].
        """
        states, _ = self.read(source_ids)
        return tf.concat([layer["state"] for layer in last_states(states)], axis=-1)

    def step_pre_logits(
        self, previous_ids: tf.Tensor, state: Nest, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]:
        """See :class:`TranslationModel`; the alignments are zeros."""
        state = self.decoder.advance(self.target_embedding(previous_ids), state)
        return self.decoder.output(state), no_alignment(previous_ids, memory), state

    def read(self, source_ids: tf.Tensor, training: bool = False) -> tuple[LayerStates, tf.Tensor]:
        """(encoder states at every position, a tuple of dictionaries of [B, J, n]; mask [B, J])."""
        if self.config.reverse_source:
            source_ids = reverse_words(source_ids, source_ids != PAD_ID)
        words, mask = self.source_words(source_ids, training)
        states = self.encoder(
            words, self.encoder.zero_state(tf.shape(words)[0]), mask, training=training
        )
        return states, mask

    def _blocks(self) -> dict[str, Block]:
        """Weights of layer 1 of the encoder are ``encoder.1.W`` and so on; for the letters see
        :class:`RecurrentUnit`.
        """
        decoder = self.decoder.blocks("decoder.")
        return self.encoder.blocks("encoder.") | decoder | self.output_layer.blocks()


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class DeepLSTM(LayeredModel):
    """The deep LSTM of Sutskever, Vinyals, Le 2014: the top layer of the decoder predicts. The
    paper has 4 layers of 1000 cells.

    Example:
        >>> from rnnsearch_tf.config import ModelConfig
        >>> sizes = dict(embedding_size=4, hidden_size=5, layers=2, reverse_source=True)
        >>> model = DeepLSTM(ModelConfig(system="deep_lstm", **sizes), 10, 12)
        >>> ids = tf.constant([[3, 4, 1], [5, 1, 0]])
        >>> model({"source_ids": ids, "target_ids": ids}).shape
        TensorShape([2, 3, 12])
    """

    system = "deep_lstm"
    unit = "lstm"


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class StackedNetwork(LayeredModel):
    """A stack with skip connections (Graves 2013, §2): every layer reads the word, and the output
    layer reads every layer: ŷ_t = b_y + Σ_k W_{h^k y} h^k_t.

    The matrices W_{h^k y} are stacked vertically in ``W_hy``.
    """

    system = "stacked"
    skips = True
    symbol = "W_hy"


def last_states(states: LayerStates) -> LayerStates:
    """The states [B, T, n] after the last real position; the state does not change at padding."""
    return tf.nest.map_structure(lambda values: values[:, -1], states)


def no_alignment(previous_ids: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Zeros [B, K, J] in place of an alignment: previous_ids [B, K], mask [B, J]."""
    return tf.zeros(tf.concat([tf.shape(previous_ids), tf.shape(mask)[1:]], axis=0))


def reverse_words(values: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """Reverse the words before the end symbol in rows of ids [B, J] or vectors [B, J, n]; the end
    symbol and padding keep their places.

    Example:
        >>> ids = tf.constant([[5, 6, 7, 1, 0], [8, 1, 0, 0, 0]])
        >>> reverse_words(ids, ids != PAD_ID).numpy().tolist()
        [[7, 6, 5, 1, 0], [8, 1, 0, 0, 0]]
    """
    words = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1, keepdims=True) - 1
    position = tf.range(tf.shape(values)[1])
    mirrored = words - 1 - position  # [B, J]
    # tf.reverse_sequence of ids has no GPU kernel
    return tf.gather(values, tf.where(mirrored >= 0, mirrored, position), batch_dims=1)
