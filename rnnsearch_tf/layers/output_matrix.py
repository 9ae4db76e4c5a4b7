"""The output matrix: from the last features of a position to the logits of the vocabulary's words, or of some of them."""

import contextlib
import contextvars

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.base import PaperLayer, tensor
from rnnsearch_tf.layers.initializers import initializer
from rnnsearch_tf.layers.kept import gather
from rnnsearch_tf.layers.product import product


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class OutputMatrix(PaperLayer):
    """logits = W_oᵀ features + b_softmax.

    Args:
        vocabulary_size: V.
        symbol: what the system's paper calls the matrix.
        biases: ``none`` leaves out b_softmax.
        initialization: ``paper``, ``glorot`` or ``uniform``.
        seed: int.
        tied: the matrix is not a weight of this layer but is given with each call.
    """

    def __init__(
        self, vocabulary_size, symbol="W_o", biases="groundhog", initialization="paper", seed=0, tied=False, **keywords
    ):
        super().__init__(**keywords)
        self.vocabulary_size = vocabulary_size
        self.symbol = symbol
        self.biases = biases
        self.initialization = initialization
        self.seed = seed
        self.tied = tied

    def build(self, features_size):
        other = initializer(self.initialization, "other", self.seed)
        self.W_o = None if self.tied else self.matrix(self.symbol, (features_size, self.vocabulary_size), other)
        self.b_softmax = None if self.biases == "none" else self.vector("b_softmax", self.vocabulary_size)
        self.built = True

    def logits(self, features, output_matrix=None):
        """Unnormalized log-probabilities [..., V].

        Args:
            features: float [..., l].
            output_matrix: for a tied layer, the target embedding E [V, l].
        """
        return word_logits(features, self, output_matrix)

    def paper_weights(self):
        weights = {self.symbol: self.W_o, "b_softmax": self.b_softmax}
        return {key: keras.ops.convert_to_numpy(value) for key, value in weights.items() if value is not None}

    def get_config(self):
        own = ("vocabulary_size", "symbol", "biases", "initialization", "seed", "tied")
        return super().get_config() | {name: getattr(self, name) for name in own}


_ONLY = contextvars.ContextVar("only", default=None)


@contextlib.contextmanager
def only_words(words, biases):
    """Inside, logits are those of some words alone: [B, K, S] in place of [B, K, V].

    Args:
        words: int32 [S], their ids.
        biases: float [B, S], added to the logits of each sentence: what is very negative rules a word out.
    """
    token = _ONLY.set((words, biases))
    try:
        yield
    finally:
        _ONLY.reset(token)


def word_logits(features, layer, output_matrix=None):
    """Logits of a layer that has W_o and b_softmax, or of a tied one with the embedding [V, l] given."""
    tied = output_matrix is not None
    matrix, bias = output_matrix if tied else tensor(layer.W_o), tensor(layer.b_softmax)
    if _ONLY.get() is None:
        return product(features, matrix, layer.product_dtype, transpose_right=tied, bias=bias)
    words, biases = _ONLY.get()
    logits = product(features, gather(matrix, words, axis=0 if tied else 1), layer.product_dtype, transpose_right=tied)
    biases = tf.cast(biases, logits.dtype)
    return logits + (biases if bias is None else biases + gather(bias, words))[:, tf.newaxis]
