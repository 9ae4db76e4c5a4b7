"""The bidirectional encoder (Bahdanau et al. 2015, §3.2 and Appendix A.2.1).

    →h_j = unit(E x_j, →h_{j−1}),   ←h_j = unit(E x_j, ←h_{j+1}),   h_j = [→h_j ; ←h_j]

Both directions share the word embedding and start from zero.
"""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.base import Block, PaperLayer, Shape, real_positions
from rnnsearch_tf.layers.initializers import seed_stream
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit

DIRECTIONS = ("forward", "backward")


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Encoder(PaperLayer):
    """Annotations of a source sentence from two recurrent networks; by default the paper's gated
    units.

    Args:
        hidden_size: n, units of each direction.
        bidirectional: also read backward; RNNencdec does not.
        unit: ``gru`` or ``lstm``.
        forget_bias: option of the units, see :class:`RecurrentUnit`.

    Call arguments:
        embeddings: float [B, J, m]: source words.
        mask: bool [B, J], True at real positions. The state does not change at padding, so padding
            has no effect. None: the Keras mask of the embeddings, or all positions are real.
        training: whether a gradient is needed; see :meth:`RecurrentUnit.read`.

    Returns:
        annotations float [B, J, 2n], forward half first; [B, J, n] for one direction. ←h_1 is
        ``annotations[:, 0, n:]``.
    """

    hidden_size: int
    bidirectional: bool = True
    unit: str = "gru"
    forget_bias: float = 0.0

    shapes = {"embeddings": "B J m", "mask": "B J"}

    def __post_init__(self) -> None:
        self.supports_masking = True  # the annotations keep the mask of the words
        seeds = seed_stream(self.weight_seed)
        self.units = [
            RecurrentUnit(
                self.hidden_size,
                self.unit,
                forget_bias=self.forget_bias,
                seed=next(seeds),
                name=direction,
                **self.shared_options(),
            )
            for direction in DIRECTIONS[: 2 if self.bidirectional else 1]
        ]

    def build(self, embeddings_shape: Shape) -> None:
        for unit in self.units:
            unit.build(embeddings_shape[-1])
        self.output_size = len(self.units) * self.hidden_size
        self.built = True

    def compute_output_shape(self, embeddings_shape: Shape) -> Shape:
        return *embeddings_shape[:-1], len(self.units) * self.hidden_size

    def call(
        self, embeddings: tf.Tensor, mask: tf.Tensor | None = None, training: bool = False
    ) -> tf.Tensor:
        zeros = tf.zeros([tf.shape(embeddings)[0], self.hidden_size], embeddings.dtype)
        mask = real_positions(embeddings, mask)

        def read(unit: RecurrentUnit, backward: bool) -> tf.Tensor:
            state = unit.initial_state(zeros)
            return unit.read(embeddings, state, mask, backward, training)["state"]

        return tf.concat([read(unit, unit.name == "backward") for unit in self.units], axis=-1)

    def blocks(self, prefix: str = "encoder.") -> dict[str, Block]:
        """Weights by the paper's letters, prefixed with ``encoder.forward.`` or
        ``encoder.backward.``.
        """
        return {
            key: value
            for unit in self.units
            for key, value in unit.blocks(f"{prefix}{unit.name}.").items()
        }


BiGRUEncoder = Encoder
"""The encoder of the paper: an Encoder with its default options."""
