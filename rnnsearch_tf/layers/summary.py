"""What a whole phrase becomes in the RNN Encoder–Decoder (Cho et al. 2014a, Appendix A).

    c = tanh(V h_N)
    h'_0 = tanh(V' c)
"""

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.base import HiddenLayer, tensor
from rnnsearch_tf.layers.initializers import Seeds, initializer
from rnnsearch_tf.layers.product import product


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class SummaryMatrices(HiddenLayer):
    """c = tanh(V h_N) and h'_0 = tanh(V' c), each with a bias unless biases is ``none``."""

    def build(self, input_shape=None):
        n, seeds = self.hidden_size, Seeds(self.seed)
        biased = self.biases != "none"
        self.V = self.matrix("V", (n, n), initializer(self.initialization, "other", seeds.next()))
        self.V_prime = self.matrix("V_prime", (n, n), initializer(self.initialization, "other", seeds.next()))
        self.b_V = self.vector("b_V", n) if biased else None
        self.b_V_prime = self.vector("b_V_prime", n) if biased else None
        self.output_size, self.built = n, True

    def context(self, last_state):
        return tf.tanh(product(last_state, tensor(self.V), self.product_dtype, bias=tensor(self.b_V)))

    def initial_state(self, context):
        return tf.tanh(product(context, tensor(self.V_prime), self.product_dtype, bias=tensor(self.b_V_prime)))

    def paper_weights(self):
        weights = {name: getattr(self, name) for name in ("V", "V_prime", "b_V", "b_V_prime")}
        return {key: keras.ops.convert_to_numpy(value) for key, value in weights.items() if value is not None}
