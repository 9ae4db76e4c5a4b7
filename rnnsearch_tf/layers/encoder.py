"""The bidirectional encoder (Bahdanau et al. 2015, §3.2 and Appendix A.2.1).

    →h_j = unit(E x_j, →h_{j−1}),   ←h_j = unit(E x_j, ←h_{j+1}),   h_j = [→h_j ; ←h_j]

Both directions share the word embedding and start from zero.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rnnsearch_tf.layers.base import PaperLayer, Shape, letters_of
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit
from rnnsearch_tf.runtime.backend import keras


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Encoder(PaperLayer):
    """Annotations of a source sentence from two recurrent networks; by default the paper's gated
    units.

    Args:
        hidden_size: n, units of each direction.
        bidirectional: also read backward; RNNencdec does not.
        unit: ``gru`` or ``lstm``.
        forget_bias: option of the units, see :class:`RecurrentUnit`.
        keywords: biases (``groundhog``: those of the authors' program, or ``none``), initialization
            (``paper``, ``variance_preserving`` or ``uniform``), and Keras's name, dtype, trainable.

    Call arguments:
        embeddings: float [B, J, m]: source words.
        mask: bool [B, J], True at real positions. The state does not change at padding, so padding
            has no effect. None: the Keras mask of the embeddings, or all positions are real.

    Returns:
        annotations float [B, J, 2n], forward half first; [B, J, n] for one direction. ←h_1 is
        ``annotations[:, 0, n:]``.
    """

    def __init__(
        self,
        hidden_size: int,
        bidirectional: bool = True,
        unit: str = "gru",
        forget_bias: float = 0.0,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.supports_masking = True  # the annotations keep the mask of the words
        self.hidden_size = self.size("hidden_size", hidden_size)
        self.bidirectional = bidirectional
        self.unit = unit
        self.forget_bias = forget_bias
        options = self.shared_options() | {"unit": unit, "forget_bias": forget_bias}
        self.forward = RecurrentUnit(hidden_size, name="forward", **options)
        self.backward = None
        if bidirectional:
            self.backward = RecurrentUnit(hidden_size, name="backward", **options)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "hidden_size": self.hidden_size,
            "bidirectional": self.bidirectional,
            "unit": self.unit,
            "forget_bias": self.forget_bias,
        }

    def build(self, embeddings_shape: Shape) -> None:
        self.forward.build(embeddings_shape[-1])
        if self.backward is not None:
            self.backward.build(embeddings_shape[-1])

    def call(self, embeddings: tf.Tensor, mask: tf.Tensor | None = None) -> tf.Tensor:
        mask = None if mask is None else tf.cast(mask, tf.bool)
        forward, _ = self.forward.read(embeddings, mask=mask)
        if self.backward is None:
            return forward
        backward, _ = self.backward.read(embeddings, mask=mask, backward=True)
        return tf.concat([forward, backward], axis=-1)

    def letters(self) -> dict[str, keras.Variable]:
        """{``encoder.forward.W`` and so on: weight}."""
        backward = {} if self.backward is None else letters_of(self.backward, "encoder.backward.")
        return letters_of(self.forward, "encoder.forward.") | backward


BiGRUEncoder = Encoder
"""The encoder of the paper: an Encoder with its default options."""
