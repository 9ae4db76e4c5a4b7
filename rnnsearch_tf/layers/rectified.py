"""Two rectified layers over the words before a position (Cho et al. 2014a, §4.1.2)."""

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.base import PaperLayer, tensor
from rnnsearch_tf.layers.initializers import Seeds, initializer
from rnnsearch_tf.layers.product import product


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RectifiedLayers(PaperLayer):
    """max(0, W_2ᵀ max(0, W_1ᵀ x + b_1) + b_2).

    The paper names no letters; W_1 and W_2 are this project's.

    Args:
        first_size, second_size: units of the two layers.
        biases: ``none`` leaves out b_1 and b_2.
        initialization: see ``initializers.py``.
        seed: int.

    Call arguments:
        words: float [..., input_size].

    Returns:
        float [..., second_size].
    """

    def __init__(self, first_size, second_size, biases="groundhog", initialization="paper", seed=0, **keywords):
        super().__init__(**keywords)
        self.first_size = first_size
        self.second_size = second_size
        self.biases = biases
        self.initialization = initialization
        self.seed = seed

    def build(self, input_size):
        seeds, biased = Seeds(self.seed), self.biases != "none"
        other = lambda: initializer(self.initialization, "other", seeds.next())  # noqa: E731
        self.W_1 = self.matrix("W_1", (input_size, self.first_size), other())
        self.b_1 = self.vector("b_1", self.first_size) if biased else None
        self.W_2 = self.matrix("W_2", (self.first_size, self.second_size), other())
        self.b_2 = self.vector("b_2", self.second_size) if biased else None
        self.output_size, self.built = self.second_size, True

    def call(self, words):
        first = tf.nn.relu(product(words, tensor(self.W_1), self.product_dtype, bias=tensor(self.b_1)))
        return tf.nn.relu(product(first, tensor(self.W_2), self.product_dtype, bias=tensor(self.b_2)))

    def paper_weights(self):
        weights = {"W_1": self.W_1, "b_1": self.b_1, "W_2": self.W_2, "b_2": self.b_2}
        return {key: keras.ops.convert_to_numpy(value) for key, value in weights.items() if value is not None}

    def get_config(self):
        own = ("first_size", "second_size", "biases", "initialization", "seed")
        return super().get_config() | {name: getattr(self, name) for name in own}
