"""Deep output with maxout (Bahdanau et al. 2015, Appendix A.2.2).

    t̃_i = U_o s + V_o E y_{i−1} + C_o c_i          2l values
    t_i = max(t̃_{i,2k}, t̃_{i,2k+1})               l values
    p(y_i) ∝ exp(y_iᵀ W_o t_i)

The authors' program factors W_o through a smaller space, l → rank → V: option ``output_rank``.
"""

import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.base import PaperLayer, tensor
from rnnsearch_tf.layers.dropout import Dropout
from rnnsearch_tf.layers.initializers import Seeds, initializer
from rnnsearch_tf.layers.output_matrix import output_weights, word_logits
from rnnsearch_tf.layers.product import product, with_leading_axes


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class DeepOutput(PaperLayer):
    """From decoder state, previous word and context to the logits of the next word.

    Args:
        vocabulary_size: V.
        maxout_size: l.
        output_rank: rank of the factored output matrix; None: one matrix l → V.
        biases: ``none`` leaves out b_o (on the hidden term) and b_softmax.
        initialization: see ``initializers.py``.
        dropout: share of maxout outputs dropped in training; the paper has none.
        seed: int.
        tied: the output matrix is not a weight of this layer but is given with each call.
        context_sizes: where the context is several vectors side by side, their sizes: each then has a matrix of its own in C_o.

    Call arguments:
        state: float [..., n].
        embeddings: float [..., m]: E y_{i−1}.
        context: float [..., 2n]: c_i.
        output_matrix: for a tied layer, the target embedding E [V, l].

    Returns:
        logits float [..., V].
    """

    def __init__(
        self, vocabulary_size, maxout_size, output_rank=None, biases="groundhog", initialization="paper",
        dropout=0.0, seed=0, tied=False, context_sizes=None, **keywords,
    ):
        super().__init__(**keywords)
        self.vocabulary_size = vocabulary_size
        self.maxout_size = maxout_size
        self.output_rank = output_rank
        self.biases = biases
        self.initialization = initialization
        self.dropout = dropout
        self.seed = seed
        self.tied = tied
        self.context_sizes = context_sizes
        self.drop = Dropout(dropout, seed=seed, dtype=self.variable_dtype)
        self.symbol = "W_o2" if output_rank else "W_o"

    def build(self, state_shape, embeddings_shape, context_shape):
        context_sizes = self.context_sizes or (context_shape[-1],)
        l, seeds = self.maxout_size, Seeds(self.seed)
        self.output_size = self.vocabulary_size
        other = lambda **blocks: initializer(self.initialization, "other", seeds.next(), **blocks)  # noqa: E731
        terms = 2 + len(context_sizes)  # U_o s + V_o E y + C_o c
        self.U_o = self.matrix("U_o", (state_shape[-1], 2 * l), other(terms=terms))
        self.V_o = self.matrix("V_o", (embeddings_shape[-1], 2 * l), other(terms=terms))
        self.C_o = self.matrix("C_o", (context_shape[-1], 2 * l), other(rows=context_sizes, terms=terms))
        biased = self.biases != "none"
        self.b_o = self.vector("b_o", 2 * l) if biased else None
        rank = self.output_rank
        self.W_o1 = self.matrix("W_o1", (l, rank), other()) if rank else None
        self.W_o = None if self.tied else self.matrix(self.symbol, (rank or l, self.vocabulary_size), other())
        self.b_softmax = self.vector("b_softmax", self.vocabulary_size) if biased else None
        self.built = True

    def context_term(self, context):
        """C_o c_i [..., 2l] of a context [..., 2n]; or C_o h_j of an annotation, since C_o c_i = Σ_j α_ij C_o h_j."""
        return product(context, tensor(self.C_o), self.product_dtype)

    def features(self, state, embeddings, context_term, training=False):
        """What meets the output matrix: t_i, or W_o1ᵀ t_i where it is factored.

        Args:
            state: float [..., n].
            embeddings: float [..., m]: E y_{i−1}.
            context_term: float [..., 2l], from :meth:`context_term`.
            training: dropout is active.

        Returns:
            float [..., l], or [..., rank].
        """
        hidden = product(state, tensor(self.U_o), self.product_dtype, bias=tensor(self.b_o))
        hidden += product(embeddings, tensor(self.V_o), self.product_dtype)
        hidden += context_term  # [..., 2l]
        readout = self.drop(maxout(hidden), training=training)  # [..., l]
        return readout if self.W_o1 is None else product(readout, tensor(self.W_o1), self.product_dtype)

    def logits(self, features, output_matrix=None):
        """Unnormalized log-probabilities [..., V] from :meth:`features`.

        Args:
            features: float [..., l or rank].
            output_matrix: for a tied layer, the target embedding E [V, m].
        """
        return word_logits(features, output_weights(self, output_matrix), self.product_dtype)

    def call(self, state, embeddings, context, output_matrix=None, training=False):
        return self.logits(self.features(state, embeddings, self.context_term(context), training), output_matrix)

    def paper_weights(self):
        """This layer's weights by the paper's letters; a tied W_o is the model's to add."""
        weights = {"U_o": self.U_o, "V_o": self.V_o, "C_o": self.C_o, "b_o": self.b_o, "W_o1": self.W_o1}
        weights |= {self.symbol: self.W_o, "b_softmax": self.b_softmax}
        return {key: keras.ops.convert_to_numpy(value) for key, value in weights.items() if value is not None}

    def get_config(self):
        own = ("vocabulary_size", "maxout_size", "output_rank", "biases", "initialization", "dropout", "seed", "tied", "context_sizes")
        return super().get_config() | {name: getattr(self, name) for name in own}


def maxout(hidden):
    """Maximum of each adjacent pair: [..., 2l] → [..., l]."""
    pairs = with_leading_axes(hidden, hidden, hidden.shape[-1] // 2, 2)
    return tf.maximum(*tf.unstack(pairs, axis=-1))
