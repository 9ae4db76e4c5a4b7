"""The output layers: from decoder states to logits.

The paper has a deep output with maxout (Bahdanau et al. 2015, Appendix A.2.2):

    t̃_i = U_o s + V_o E y_{i−1} + C_o c_i          2l values
    t_i = max(t̃_{i,2k−1}, t̃_{i,2k})               l values
    p(y_i) ∝ exp(y_iᵀ W_o t_i)

The authors' program factors W_o through a smaller space, l → rank → V: option ``output_rank``.
Other systems have only the output matrix, :class:`OutputMatrix`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers.base import PaperLayer, Shape, with_leading_axes
from rnnsearch_tf.layers.dropout import Dropout
from rnnsearch_tf.runtime.backend import keras


class OutputMatrix(PaperLayer):
    """The output matrix, stored input size first: logits = features W_o + b_softmax.

    Args:
        vocabulary_size: V.
        symbol: the letter of the matrix in the paper of the system.
        tied: the matrix is not a weight of this layer but is given to :meth:`logits`.
        keywords: see :class:`PaperLayer`; biases ``none`` leaves out b_softmax.
    """

    def __init__(
        self, vocabulary_size: int, symbol: str = "W_o", tied: bool = False, **keywords: Any
    ) -> None:
        super().__init__(**keywords)
        self.vocabulary_size = vocabulary_size
        self.symbol = symbol
        self.tied = tied

    def build(self, sizes: int | Sequence[int]) -> None:
        """Create the weights.

        Args:
            sizes: size of the features; or several sizes if they are the outputs of several layers
                side by side, each of which has its own matrix.
        """
        terms = 1 if isinstance(sizes, int) else len(sizes)
        self.W_o = None
        if not self.tied:
            self.W_o = self.matrix(self.symbol, sizes, self.vocabulary_size, terms=terms)
        self.b_softmax = self.bias("b_softmax", self.vocabulary_size)

    def logits(self, features: tf.Tensor, embedding: keras.Variable | None = None) -> tf.Tensor:
        """Logits [..., V] of features [..., l].

        Args:
            embedding: the target embedding E [V, l], if the layer is tied.
        """
        if self.W_o is None:
            if embedding is None:
                raise UsageError(
                    "logits: expected the target embedding for a tied output matrix, got none; call"
                    " features(…) and logits(features, E) in place of the layer"
                )
            return self.matmul(features, embedding, self.b_softmax, transpose=True)
        return self.matmul(features, self.W_o, self.b_softmax)


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class DeepOutput(OutputMatrix):
    """Logits of the next word from decoder state, previous word and context.

    Args:
        vocabulary_size: V.
        maxout_size: l.
        output_rank: rank of the factored output matrix; None: one matrix l → V.
        dropout: rate of dropout on the maxout outputs in training; the paper has none.
        tied: the output matrix is not a weight of this layer but the target embedding, which is
            given to :meth:`logits`.
        terms: products in the sum t̃_i, if the model adds others to these three.
        keywords: biases (``groundhog``: those of the authors' program, or ``none``: no b_o, no
            b_softmax), initialization (``paper``, ``variance_preserving`` or ``uniform``),
            and Keras's name, dtype, trainable.

    Call arguments:
        state: float [..., n].
        embeddings: float [..., m]: E y_{i−1}.
        context: float [..., 2n]: c_i.

    Returns:
        logits float [..., V].
    """

    def __init__(
        self,
        vocabulary_size: int,
        maxout_size: int,
        output_rank: int | None = None,
        dropout: float = 0.0,
        tied: bool = False,
        terms: int = 3,
        **keywords: Any,
    ) -> None:
        symbol = "W_o2" if output_rank else "W_o"
        super().__init__(vocabulary_size, symbol, tied, **keywords)
        self.size("vocabulary_size", vocabulary_size)
        self.supports_masking = True  # the logits keep the mask of the states
        self.maxout_size = self.size("maxout_size", maxout_size)
        self.output_rank = output_rank
        self.dropout = dropout
        self.terms = terms
        self.drop = Dropout(dropout, dtype=self.variable_dtype)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {
            "vocabulary_size": self.vocabulary_size,
            "maxout_size": self.maxout_size,
            "output_rank": self.output_rank,
            "dropout": self.dropout,
            "tied": self.tied,
            "terms": self.terms,
        }

    def build(  # type: ignore[override]  # of three inputs
        self, state_shape: Shape, embeddings_shape: Shape, context_shape: Shape
    ) -> None:
        l, rank = self.maxout_size, self.output_rank  # noqa: E741  the paper's letter
        shapes = {"U_o": state_shape, "V_o": embeddings_shape, "C_o": context_shape}
        self.U_o, self.V_o, self.C_o = (
            self.matrix(letter, shape[-1], 2 * l, terms=self.terms)
            for letter, shape in shapes.items()
        )
        self.b_o = self.bias("b_o", 2 * l)
        self.W_o1 = self.matrix("W_o1", l, rank) if rank else None
        super().build(rank or l)

    def context_term(self, context: tf.Tensor) -> tf.Tensor:
        """C_o c_i [..., 2l] of a context [..., 2n]; or C_o h_j of an annotation, since C_o c_i =
        Σ_j α_ij C_o h_j.
        """
        return self.matmul(context, self.C_o)

    def features(
        self,
        state: tf.Tensor,
        embeddings: tf.Tensor,
        context_term: tf.Tensor,
        training: bool = False,
    ) -> tf.Tensor:
        """What the output matrix is multiplied with: t_i [..., l], or t_i W_o1 [..., rank].

        Args:
            state: float [..., n].
            embeddings: float [..., m]: E y_{i−1}.
            context_term: float [..., 2l], from :meth:`context_term`.
            training: whether dropout is active.
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
        training: bool = False,
    ) -> tf.Tensor:
        features = self.features(state, embeddings, self.context_term(context), training)
        return self.logits(features)


def maxout(hidden: tf.Tensor) -> tf.Tensor:
    """Maximum of each adjacent pair: [..., 2l] → [..., l]."""
    pairs = with_leading_axes(hidden, hidden, hidden.shape[-1] // 2, 2)
    return tf.maximum(*tf.unstack(pairs, axis=-1))
