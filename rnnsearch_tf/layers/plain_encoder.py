"""The encoder with any unit, in one direction or both; see ``encoder.py`` for the paper's, in one loop."""

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.base import PaperLayer, real_positions
from rnnsearch_tf.layers.encoder import DIRECTIONS
from rnnsearch_tf.layers.initializers import Seeds
from rnnsearch_tf.layers.recurrent_stack import over_positions
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class PlainEncoder(PaperLayer):
    """Annotations of a source sentence.

    Args:
        hidden_size: n, units of each direction.
        bidirectional: read backward too; RNNencdec does not.
        unit: ``gru`` or ``lstm``.
        layer_normalization, forget_bias: of the units, see :class:`RecurrentUnit`.
        biases, initialization, seed: as everywhere.

    Call arguments:
        embeddings: float [B, J, m]: source words.
        mask: bool [B, J]. A padded position keeps the state as it was. None: as of :class:`BiGRUEncoder`.

    Returns:
        annotations float [B, J, 2n], forward half first; [B, J, n] of one direction.
    """

    def __init__(
        self, hidden_size, bidirectional=True, unit="gru", layer_normalization=False, forget_bias=0.0, biases="groundhog",
        initialization="paper", seed=0, **keywords,
    ):
        super().__init__(**keywords)
        self.hidden_size = hidden_size
        self.bidirectional = bidirectional
        self.unit = unit
        self.layer_normalization = layer_normalization
        self.forget_bias = forget_bias
        self.biases = biases
        self.initialization = initialization
        self.seed = seed
        seeds = Seeds(seed)
        self.units = [
            RecurrentUnit(
                hidden_size, unit, layer_normalization, forget_bias=forget_bias, biases=biases, initialization=initialization,
                seed=seeds.next(), dtype=self.dtype_policy, name=direction,
            )
            for direction in DIRECTIONS[: 2 if bidirectional else 1]
        ]

    def build(self, embeddings_shape):
        for unit in self.units:
            unit.build(embeddings_shape[-1])
        self.output_size = len(self.units) * self.hidden_size
        self.built = True

    def call(self, embeddings, mask=None):
        annotations, mask = [], real_positions(embeddings, mask)
        for unit in self.units:
            turn = (lambda x: tf.reverse(x, [1])) if unit.name == "backward" else tf.identity
            zero = tf.zeros([tf.shape(embeddings)[0], self.hidden_size], embeddings.dtype)
            states = over_positions(unit, unit.inputs(turn(embeddings)), unit.first(zero), turn(mask))
            annotations.append(turn(states["state"]))
        return tf.concat(annotations, axis=-1)

    def compute_mask(self, embeddings, mask=None):
        """The annotations have the mask of the words."""
        return mask

    def paper_weights(self):
        """Weights by the paper's letters, behind ``encoder.forward.`` and ``encoder.backward.``."""
        weights = {}
        for unit in self.units:
            weights |= unit.paper_weights(f"encoder.{unit.name}.")
        return weights

    def get_config(self):
        own = ("hidden_size", "bidirectional", "unit", "layer_normalization", "forget_bias", "biases", "initialization", "seed")
        return super().get_config() | {name: getattr(self, name) for name in own}
