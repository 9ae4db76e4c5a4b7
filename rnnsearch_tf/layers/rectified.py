"""Two rectified layers over the words before a position (Cho et al. 2014a, §4.1.2)."""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.base import PaperLayer
from rnnsearch_tf.layers.initializers import Initializer, initializer, seed_stream


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RectifiedLayers(PaperLayer):
    """max(0, W_2ᵀ max(0, W_1ᵀ x + b_1) + b_2).

    The paper has no letters for the weights; W_1 and W_2 are this project's.

    Args:
        first_size, second_size: units of the two layers.
        biases: ``none`` leaves out b_1 and b_2.

    Call arguments:
        words: float [..., input_size].

    Returns:
        float [..., second_size].
    """

    first_size: int
    second_size: int

    def build(self, input_size: int) -> None:
        seeds = seed_stream(self.weight_seed)

        def other() -> Initializer:
            return initializer(self.initialization, "other", next(seeds))

        self.W_1 = self.matrix("W_1", (input_size, self.first_size), other())
        self.b_1 = self.vector("b_1", self.first_size) if self.biased else None
        self.W_2 = self.matrix("W_2", (self.first_size, self.second_size), other())
        self.b_2 = self.vector("b_2", self.second_size) if self.biased else None
        self.output_size = self.second_size
        self.built = True

    def call(self, words: tf.Tensor) -> tf.Tensor:
        first = tf.nn.relu(self.matmul(words, self.W_1, self.b_1))
        return tf.nn.relu(self.matmul(first, self.W_2, self.b_2))
