"""The output layers: from decoder states to logits and to the loss.

The paper has a deep output with maxout (Bahdanau et al. 2015, Appendix A.2.2):

    t̃_i = U_o s + V_o E y_{i−1} + C_o c_i          2l values
    t_i = max(t̃_{i,2k}, t̃_{i,2k+1})               l values
    p(y_i) ∝ exp(y_iᵀ W_o t_i)

The authors' program factors W_o through a smaller space, l → rank → V: option ``output_rank``.
Other systems have only the output matrix, :class:`OutputMatrix`.

:func:`softmax_loss` is the cross-entropy over the whole vocabulary, fused with its gradient. The
logits of a batch are the largest tensor in training (240 MB for 2,000 positions and 30,000 words),
so they are read and written as few times as possible. The softmax p is one operation, from which
the loss is taken; p − 1[y] is one copy of it; label smoothing is two rank-one corrections.
(TensorFlow's own operation for loss and gradient takes several times as long.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers.base import (
    PaperLayer,
    Shape,
    as_tensor,
    matmul,
    weight_gradient,
    with_leading_axes,
)
from rnnsearch_tf.layers.dropout import dropout
from rnnsearch_tf.layers.initializers import Initializer, initializer, seed_stream

SMALLEST = 1e-30
"""Probabilities above this have full precision in float32."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class DeepOutput(PaperLayer):
    """Logits of the next word from decoder state, previous word and context.

    Args:
        vocabulary_size: V.
        maxout_size: l.
        output_rank: rank of the factored output matrix; None: one matrix l → V.
        dropout: rate of dropout on the maxout outputs in training; the paper has none.
        tied: the output matrix is not a weight of this layer but an argument of each call.
        context_sizes: sizes of the vectors if the context consists of several side by side; each of
            them then has its own matrix in C_o.
        biases: ``none`` leaves out b_o (on the hidden term) and b_softmax.

    Call arguments:
        state: float [..., n].
        embeddings: float [..., m]: E y_{i−1}.
        context: float [..., 2n]: c_i.
        output_matrix: the target embedding E [V, l] of a tied layer.

    Returns:
        logits float [..., V].
    """

    vocabulary_size: int
    maxout_size: int
    output_rank: int | None = None
    dropout: float = 0.0
    tied: bool = False
    context_sizes: tuple[int, ...] | None = None

    shapes = {"state": "… n", "embeddings": "… m", "context": "… h"}

    def __post_init__(self) -> None:
        self.supports_masking = True  # the logits keep the mask of the states
        self.drop = dropout(self.dropout, seed=self.weight_seed, dtype=self.variable_dtype)
        self.symbol = "W_o2" if self.output_rank else "W_o"
        self.hidden_size = 2 * self.maxout_size  # of t̃_i

    def build(self, state_shape: Shape, embeddings_shape: Shape, context_shape: Shape) -> None:
        context_sizes = self.context_sizes or (context_shape[-1],)
        l = self.maxout_size  # noqa: E741  the paper's letter
        seeds = seed_stream(self.weight_seed)
        self.output_size = self.vocabulary_size

        def other(rows: Sequence[int] | None = None, terms: int = 1) -> Initializer:
            return initializer(self.initialization, "other", next(seeds), rows, terms=terms)

        terms = 2 + len(context_sizes)  # U_o s + V_o E y + C_o c
        width = self.hidden_size
        self.U_o = self.matrix("U_o", (state_shape[-1], width), other(terms=terms))
        self.V_o = self.matrix("V_o", (embeddings_shape[-1], width), other(terms=terms))
        self.C_o = self.matrix(
            "C_o", (context_shape[-1], width), other(rows=context_sizes, terms=terms)
        )
        self.b_o = self.vector("b_o", width) if self.biased else None
        rank = self.output_rank
        self.W_o1 = self.matrix("W_o1", (l, rank), other()) if rank else None
        self.W_o = (
            None
            if self.tied
            else self.matrix(self.symbol, (rank or l, self.vocabulary_size), other())
        )
        self.b_softmax = self.vector("b_softmax", self.vocabulary_size) if self.biased else None
        self.built = True

    def compute_output_shape(
        self, state_shape: Shape, embeddings_shape: Shape, context_shape: Shape
    ) -> Shape:
        return *state_shape[:-1], self.vocabulary_size

    def context_term(self, context: tf.Tensor) -> tf.Tensor:
        """C_o c_i [..., 2l] of a context [..., 2n]; or C_o h_j of an annotation, since C_o c_i =
        Σ_j α_ij C_o h_j.
        """
        return self.matmul(context, self.C_o)

    def pre_logits(
        self,
        state: tf.Tensor,
        embeddings: tf.Tensor,
        context_term: tf.Tensor,
        training: bool = False,
    ) -> tf.Tensor:
        """The factor of the output matrix: t_i, or W_o1ᵀ t_i if W_o is factored.

        Args:
            state: float [..., n].
            embeddings: float [..., m]: E y_{i−1}.
            context_term: float [..., 2l], from :meth:`context_term`.
            training: whether dropout is active.

        Returns:
            float [..., l], or [..., rank].
        """
        hidden = self.matmul(state, self.U_o, self.b_o)
        hidden += self.matmul(embeddings, self.V_o)
        hidden += context_term  # [..., 2l]
        readout = self.drop(maxout(hidden), training=training)  # [..., l]
        return readout if self.W_o1 is None else self.matmul(readout, self.W_o1)

    def call(
        self,
        state: tf.Tensor,
        embeddings: tf.Tensor,
        context: tf.Tensor,
        output_matrix: tf.Tensor | None = None,
        training: bool = False,
    ) -> tf.Tensor:
        if self.tied == (output_matrix is None):
            expected, got = ("a matrix", "None") if self.tied else ("None", "a matrix")
            raise UsageError(
                f"DeepOutput: output_matrix: expected {expected} with tied={self.tied}, got {got};"
                " only a tied layer takes one"
            )
        pre_logits = self.pre_logits(state, embeddings, self.context_term(context), training)
        return word_logits(pre_logits, output_weights(self, output_matrix))


def maxout(hidden: tf.Tensor) -> tf.Tensor:
    """Maximum of each adjacent pair: [..., 2l] → [..., l]."""
    pairs = with_leading_axes(hidden, hidden, hidden.shape[-1] // 2, 2)
    return tf.maximum(*tf.unstack(pairs, axis=-1))


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class OutputMatrix(PaperLayer):
    """The weights of logits = W_oᵀ features + b_softmax, which :func:`word_logits` computes.

    Args:
        vocabulary_size: V.
        symbol: the letter of the matrix in the paper of the system.
        tied: the matrix is not a weight of this layer but is given with each call.
        biases: ``none`` leaves out b_softmax.
    """

    vocabulary_size: int
    symbol: str = "W_o"
    tied: bool = False

    def build(self, *features_sizes: int) -> None:
        """Create the weights.

        Args:
            features_sizes: size of the features [..., l]; or several sizes if they are the outputs
                of several layers side by side, each of which has its own matrix.
        """
        other = initializer(
            self.initialization,
            "other",
            self.weight_seed,
            rows=features_sizes,
            terms=len(features_sizes),
        )
        self.W_o = (
            None
            if self.tied
            else self.matrix(self.symbol, (sum(features_sizes), self.vocabulary_size), other)
        )
        self.b_softmax = self.vector("b_softmax", self.vocabulary_size) if self.biased else None
        self.output_size = self.vocabulary_size
        self.built = True


class OutputWeights(NamedTuple):
    """The weights of an output layer.

    Attributes:
        matrix: float [l, V]; of a tied layer, the embedding [V, l].
        bias: float [V] or None.
        tied: whether the matrix is an embedding.
        dtype: operand dtype of the products, see ``base.py``; None: that of the operands.
    """

    matrix: tf.Tensor
    bias: tf.Tensor | None
    tied: bool
    dtype: str | None


def output_weights(
    layer: OutputMatrix | DeepOutput, output_matrix: tf.Tensor | None = None
) -> OutputWeights:
    """The OutputWeights of an output layer.

    Args:
        layer: OutputMatrix or DeepOutput.
        output_matrix: the target embedding E [V, l] of a tied layer.
    """
    tied = output_matrix is not None
    matrix = output_matrix if tied else as_tensor(layer.W_o)
    return OutputWeights(matrix, as_tensor(layer.b_softmax), tied, layer.product_dtype)


def word_logits(features: tf.Tensor, weights: OutputWeights) -> tf.Tensor:
    """Logits [..., V] of features [..., l]."""
    matrix, bias, tied, dtype = weights
    return matmul(features, matrix, dtype, transpose_right=tied, bias=bias)


def softmax_loss(
    pre_logits: tf.Tensor,
    matrix: tf.Tensor,
    bias: tf.Tensor | None,
    target_ids: tf.Tensor,
    label_smoothing: float = 0.0,
    transpose: bool = False,
    dtype: str | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """Loss and negative log-likelihood of each target word.

        nll = −log p(y),   loss = (1 − ε) nll + ε · mean over the vocabulary of −log p(v)

    Args:
        pre_logits: float [N, l].
        matrix: float [l, V], or [V, l] with ``transpose``.
        bias: float [V] or None.
        target_ids: int32 [N].
        label_smoothing: ε.
        transpose: whether the matrix is transposed (a tied embedding).
        dtype: operand dtype of the products, see ``base.py``.

    Returns:
        (losses [N], nll [N]); no gradient flows through nll.
    """
    vocabulary_size = matrix.shape[0 if transpose else 1]

    @tf.custom_gradient
    def fused(
        pre_logits: tf.Tensor, matrix: tf.Tensor, *bias: tf.Tensor
    ) -> tuple[tuple[tf.Tensor, tf.Tensor], Callable[..., tuple[tf.Tensor, ...]]]:
        logits = matmul(
            pre_logits, matrix, dtype, transpose_right=transpose, bias=bias[0] if bias else None
        )
        probabilities = tf.nn.softmax(logits)
        target_logits, target_probabilities = (
            tf.gather(values, target_ids, batch_dims=1) for values in (logits, probabilities)
        )
        # a probability too small for float32 is rare; it costs two more passes over the logits
        nll = tf.cond(
            tf.reduce_all(target_probabilities > SMALLEST),
            lambda: -tf.math.log(target_probabilities),
            lambda: log_sum_exp(logits, probabilities) - target_logits,
        )
        losses = nll
        if label_smoothing:
            losses += label_smoothing * (target_logits - tf.reduce_mean(logits, axis=-1))

        def gradient(losses_gradient: tf.Tensor, _: tf.Tensor) -> tuple[tf.Tensor, ...]:
            places = tf.stack([tf.range(tf.size(target_ids)), target_ids], axis=1)
            error = tf.tensor_scatter_nd_sub(
                probabilities, places, tf.ones_like(target_logits)
            )  # p − 1[y]
            scale = losses_gradient[:, tf.newaxis]
            scaled = pre_logits * scale
            features_gradient = matmul(error, matrix, dtype, transpose_right=not transpose)
            left, right = (error, scaled) if transpose else (scaled, error)
            matrix_gradient = weight_gradient(left, right, dtype)
            bias_gradient = tf.linalg.matvec(error, losses_gradient, transpose_a=True)
            if label_smoothing:  # the loss also has ε (1[y] − 1/V) · logits
                spread, put = _smoothing_terms(matrix, target_ids, scaled, transpose)
                features_gradient += label_smoothing * spread
                matrix_gradient += label_smoothing * put
                hits = tf.math.unsorted_segment_sum(losses_gradient, target_ids, vocabulary_size)
                bias_gradient += label_smoothing * (
                    hits - tf.reduce_sum(losses_gradient) / vocabulary_size
                )
            return features_gradient * scale, matrix_gradient, *([bias_gradient] if bias else [])

        return (losses, nll), gradient

    return fused(pre_logits, matrix, *([] if bias is None else [bias]))


def log_sum_exp(logits: tf.Tensor, probabilities: tf.Tensor) -> tf.Tensor:
    """log Σ exp over the last axis, given the softmax, whose largest value, exp(max logit) / Σ exp,
    is far from zero.
    """
    return tf.reduce_max(logits, axis=-1) - tf.math.log(tf.reduce_max(probabilities, axis=-1))


def _smoothing_terms(
    matrix: tf.Tensor, target_ids: tf.Tensor, scaled: tf.Tensor, transpose: bool
) -> tuple[tf.Tensor, tf.Tensor]:
    """Gradients of Σ_n (target logit − mean logit) with respect to the pre_logits, before scaling,
    and to the matrix.
    """
    vocabulary_size = matrix.shape[0 if transpose else 1]
    by_word = matrix if transpose else tf.transpose(matrix)  # [V, l]
    features_term = tf.gather(by_word, target_ids) - tf.reduce_mean(by_word, axis=0)
    matrix_term = tf.math.unsorted_segment_sum(scaled, target_ids, vocabulary_size)
    matrix_term -= tf.reduce_sum(scaled, axis=0) / vocabulary_size  # [V, l]
    return features_term, matrix_term if transpose else tf.transpose(matrix_term)
