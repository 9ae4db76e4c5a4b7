"""The output matrix: from the last features of a position to the logits of the vocabulary's words, or of some of them."""

import contextlib
import contextvars
import itertools

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.base import PaperLayer, product, tensor, with_leading_axes
from rnnsearch_tf.layers.initializers import initializer
from rnnsearch_tf.layers.kept import cast, gather, parts


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class OutputMatrix(PaperLayer):
    """logits = W_oᵀ features + b_softmax.

    Args:
        vocabulary_size: V.
        symbol: what the system's paper calls the matrix.
        tied: the matrix is not a weight of this layer but is given with each call.
        biases: ``none`` leaves out b_softmax.
    """

    vocabulary_size: int
    symbol: str = "W_o"
    tied: bool = False

    def build(self, *features_sizes):
        """The sizes of the features [..., l]; where several layers' stand side by side, each has a matrix of its own."""
        other = initializer(self.initialization, "other", self.seed, rows=features_sizes, terms=len(features_sizes))
        self.W_o = None if self.tied else self.matrix(self.symbol, (sum(features_sizes), self.vocabulary_size), other)
        self.b_softmax = self.vector("b_softmax", self.vocabulary_size) if self.biased else None
        self.output_size, self.built = self.vocabulary_size, True

    def logits(self, features, output_matrix=None):
        """Unnormalized log-probabilities [..., V].

        Args:
            features: float [..., l].
            output_matrix: for a tied layer, the target embedding E [V, l].
        """
        return word_logits(features, self, output_matrix)


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


FEW = 16
"""Rows up to which a search is of one sentence, so that all cores but one have nothing to do."""

MOST = 4
"""Products that one is the sum of, on as many cores or more."""

ALIGNED = 32
"""Rows of a matrix that always end where TensorFlow may begin a slice without a copy."""


def _alone_in_parts(features, matrix, dtype, bias, whole):
    """``whole(features)``; of few rows as a sum of products that each take some rows of the matrix, a core each."""
    rows = tf.reshape(features, [-1, matrix.shape[0]])
    matrix = matrix if dtype is None else cast(matrix, dtype)
    size, number = matrix.shape[0], min(parts(), MOST)
    unit = ALIGNED if size >= ALIGNED * number else 1
    cuts = [*(size // unit * part // number * unit for part in range(number)), size]

    def sum_of_parts():
        first, *others = (product(rows[:, a:b], matrix[a:b], dtype) for a, b in itertools.pairwise(cuts) if a < b)
        return tf.add_n([first if bias is None else first + bias, *others])

    logits = tf.cond(tf.shape(rows)[0] <= FEW, sum_of_parts, lambda: whole(rows))
    return with_leading_axes(logits, features, matrix.shape[1])


def word_logits(features, layer, output_matrix=None):
    """Logits of a layer that has W_o and b_softmax, or of a tied one with the embedding [V, l] given."""
    tied = output_matrix is not None
    matrix, bias = output_matrix if tied else tensor(layer.W_o), tensor(layer.b_softmax)
    if _ONLY.get() is None:
        whole = lambda rows: product(rows, matrix, layer.product_dtype, transpose_right=tied, bias=bias)  # noqa: E731
        return whole(features) if tied or parts() == 1 else _alone_in_parts(features, matrix, layer.product_dtype, bias, whole)
    words, biases = _ONLY.get()
    logits = product(features, gather(matrix, words, axis=0 if tied else 1), layer.product_dtype, transpose_right=tied)
    biases = tf.cast(biases, logits.dtype)
    return logits + (biases if bias is None else biases + gather(bias, words))[:, tf.newaxis]
