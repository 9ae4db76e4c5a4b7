"""Deep recurrent encoder and decoder: the deep LSTM of Sutskever et al., and the stack with skip
connections.

    encoder    the states of all layers after the whole source
    decoder    starts from these states; reads the previous word (none at the first position)
    output     p(y_t) = softmax(W of the decoder's top layer, or of all layers)

The source may be read in reverse, its end symbol still last (Sutskever et al. 2014, §2).
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.layers.base import letters_of
from rnnsearch_tf.layers.output import OutputMatrix
from rnnsearch_tf.layers.recurrent_stack import LayerStates, RecurrentStack
from rnnsearch_tf.models.translation_model import TranslationModel, no_alignment
from rnnsearch_tf.runtime.backend import Nest, keras


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

    def _add_layers(self, common: dict[str, Any]) -> None:
        config = self.config
        options: dict[str, Any] = common | dict(
            dropout=config.hidden_dropout,
            skips=self.skips,
            unit=self.unit or config.unit,
            peepholes=config.peepholes,
            forget_bias=config.forget_bias,
        )
        sizes = config.layers, config.hidden_size
        self.encoder = RecurrentStack(*sizes, name="encoder", **options)
        self.decoder = RecurrentStack(*sizes, name="decoder", **options)
        self.output_layer = OutputMatrix(
            self.target_vocabulary_size,
            self.symbol,
            config.tie_target_embeddings,
            name="output_matrix",
            **common,
        )
        self.encoder.build(config.embedding_size)
        fed = config.hidden_size if config.input_feeding else 0  # of Luong's attention
        self.decoder.build(config.embedding_size + fed)
        self.output_layer.build(self.decoder.output_sizes)

    def attended_features(
        self, source_ids: tf.Tensor, target_ids: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """(the output of the decoder at every target position, float [B, I, l]; zeros)."""
        _, last, _ = self.read(source_ids, training)
        words = self.previous_words(target_ids, training)  # [B, I, m]
        outputs, _ = self.decoder(words, last, training=training)
        features = self.drop_hidden(outputs, training=training)
        return features, no_alignment(target_ids, source_ids)

    def start(self, source_ids: tf.Tensor) -> tuple[Nest, Nest]:
        """(last states of the encoder, mask [B, J], used only for the source length)."""
        _, last, mask = self.read(source_ids)
        return last, mask

    def source_vectors(self, source_ids: tf.Tensor) -> tf.Tensor:
        """A vector for each source sentence: the hidden states of all layers after its last word,
        float [B, layers · n].
        """
        _, last, _ = self.read(source_ids)
        return tf.concat([layer["state"] for layer in last], axis=-1)

    def step_features(
        self, previous_ids: tf.Tensor, state: Nest, memory: Nest
    ) -> tuple[tf.Tensor, tf.Tensor, Nest]:
        """See :class:`TranslationModel`; the alignments are zeros."""
        output, state = self.decoder.advance(self.target_embedding(previous_ids), state)
        return output, no_alignment(previous_ids, memory), state

    def read(
        self, source_ids: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, LayerStates, tf.Tensor]:
        """(outputs of the encoder [B, J, l], its state after the last word, mask [B, J])."""
        if self.config.reverse_source:
            source_ids = reverse_words(source_ids, source_ids != PAD_ID)
        words, mask = self.source_words(source_ids, training)
        return *self.encoder(words, None, mask, training=training), mask

    def letters(self) -> dict[str, keras.Variable]:
        """Weights of layer 1 of the encoder are ``encoder.1.W`` and so on."""
        stacks = self.encoder.letters("encoder.") | self.decoder.letters("decoder.")
        return super().letters() | stacks | letters_of(self.output_layer)


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class DeepLSTM(LayeredModel):
    """The deep LSTM of Sutskever, Vinyals, Le 2014: the top layer of the decoder predicts. The
    paper has 4 layers of 1000 cells.
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
