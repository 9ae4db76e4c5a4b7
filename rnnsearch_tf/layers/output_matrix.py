"""The output matrix: from the last features of a position to the logits of the vocabulary's words, or of some of them."""

import itertools
from typing import NamedTuple

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.hoisting import cast
from rnnsearch_tf.layers.base import PaperLayer, product, ready, tensor, with_leading_axes
from rnnsearch_tf.layers.initializers import initializer


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
        return word_logits(features, output_weights(self, output_matrix), self.product_dtype)


class OutputWeights(NamedTuple):
    """The weights of an output layer, for all V words of the vocabulary or for S of them."""

    matrix: tf.Tensor  # [l, V], or the embedding [V, l] of a tied layer
    bias: tf.Tensor | None  # [V]
    tied: bool
    products: int  # products that :func:`split_k_matmul` should make of one; 1: the product is not split


def output_weights(layer, output_matrix=None, words=None, products=1):
    """The OutputWeights of a layer with W_o and b_softmax, or of a tied one with the embedding [V, l] given.

    Args:
        layer: OutputMatrix or DeepOutput.
        output_matrix: for a tied layer, the target embedding E [V, l].
        words: int32 [S], ids of the words to compute; None: all. Made before a loop, the columns are gathered once.
        products: see OutputWeights.
    """
    tied = output_matrix is not None
    matrix, bias = output_matrix if tied else tensor(layer.W_o), tensor(layer.b_softmax)
    if words is not None:
        matrix = ready(tf.gather(matrix, words, axis=0 if tied else 1), layer.product_dtype)
        bias = None if bias is None else tf.gather(bias, words)
    return OutputWeights(matrix, bias, tied, products)


def word_logits(features, weights, dtype=None):
    """Logits [..., V] of features [..., l], of all words or of those that the OutputWeights hold."""
    matrix, bias, tied, products = weights
    if tied or products == 1:
        return product(features, matrix, dtype, transpose_right=tied, bias=bias)
    return split_k_matmul(features, matrix, dtype, bias, products)


SPLIT_ROWS = 16
"""Rows up to which a product is split: with more, all cores have work anyway."""

MOST_PRODUCTS = 4
"""Products that one is split into at most."""

ALIGNED_ROWS = 32
"""A slice of a matrix that begins at a multiple of this many rows is not copied by TensorFlow."""


def split_k_matmul(features, matrix, dtype, bias, products):
    """``product``; for few rows the sum of several products, each with some rows of the matrix, that run on a core each."""
    rows = tf.reshape(features, [-1, matrix.shape[0]])
    matrix = matrix if dtype is None else cast(matrix, dtype)
    size, products = matrix.shape[0], min(products, MOST_PRODUCTS)
    unit = ALIGNED_ROWS if size >= ALIGNED_ROWS * products else 1
    cuts = [*(size // unit * k // products * unit for k in range(products)), size]

    def split():
        first, *others = (product(rows[:, a:b], matrix[a:b], dtype) for a, b in itertools.pairwise(cuts) if a < b)
        return tf.add_n([first if bias is None else first + bias, *others])

    logits = tf.cond(tf.shape(rows)[0] <= SPLIT_ROWS, split, lambda: product(rows, matrix, dtype, bias=bias))
    return with_leading_axes(logits, features, matrix.shape[1])
