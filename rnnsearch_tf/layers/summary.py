"""The summary of a source phrase in the RNN Encoder–Decoder (Cho et al. 2014a, Appendix A).

c = tanh(V h_N)
h'_0 = tanh(V' c)
"""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.base import PaperLayer, Shape
from rnnsearch_tf.layers.initializers import initializer, seed_stream


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class SummaryMatrices(PaperLayer):
    """c = tanh(V h_N) and h'_0 = tanh(V' c), each with a bias unless biases is ``none``."""

    hidden_size: int

    def build(self, input_shape: Shape | None = None) -> None:
        n = self.hidden_size
        seeds = seed_stream(self.weight_seed)
        self.V = self.matrix("V", (n, n), initializer(self.initialization, "other", next(seeds)))
        self.V_prime = self.matrix(
            "V_prime", (n, n), initializer(self.initialization, "other", next(seeds))
        )
        self.b_V = self.vector("b_V", n) if self.biased else None
        self.b_V_prime = self.vector("b_V_prime", n) if self.biased else None
        self.output_size = n
        self.built = True

    def context(self, last_state: tf.Tensor) -> tf.Tensor:
        return tf.tanh(self.matmul(last_state, self.V, self.b_V))

    def initial_state(self, context: tf.Tensor) -> tf.Tensor:
        return tf.tanh(self.matmul(context, self.V_prime, self.b_V_prime))
