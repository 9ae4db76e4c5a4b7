"""The gated unit of Cho et al. 2014a, Appendix A: not that of Bahdanau et al. 2015.

    z = σ(W_z e + U_z h' + C_z c)
    r = σ(W_r e + U_r h' + C_r c)
    h̃ = tanh(W e + r ∘ (U h' + C c))
    h = z ∘ h' + (1 − z) ∘ h̃

The reset gate comes after the matrix, and holds back the context too; the update gate keeps
the old state where ``kernels/gru.py`` takes the new one. The encoder has no context c.
"""

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.base import PaperLayer
from rnnsearch_tf.layers.initializers import Seeds, initializer
from rnnsearch_tf.layers.kernels.gru_reset_after import reset_after_unit

GATES = ("", "_z", "_r")


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class ChoUnit(PaperLayer):
    """The unit with its weights; training and search call :meth:`advance` one position at a time.

    Args:
        hidden_size: n.
        biases: ``none``, ``groundhog`` (the candidate) or ``all`` (the gates too).
        initialization: see ``initializers.py``; ``paper``: U is 0.01 times orthogonal (§4.1.1).
    """

    hidden_size: int

    def build(self, input_size, context_size=None):
        n, seeds = self.hidden_size, Seeds(self.seed)
        terms = 3 if context_size else 2  # W e + U h + C c
        draw = lambda role: initializer(self.initialization, role, seeds.next(), columns=n, terms=terms)  # noqa: E731
        blocks = lambda letter: [letter + gate for gate in GATES]  # noqa: E731  [W | W_z | W_r]
        self.W = self.matrix("W", (input_size, 3 * n), draw("other"), blocks("W"))
        self.U = self.matrix("U", (n, 3 * n), draw("small recurrent"), blocks("U"))
        self.C = self.matrix("C", (context_size, 3 * n), draw("other"), blocks("C")) if context_size else None
        b = {"none": [], "groundhog": ["b"], "all": blocks("b")}[self.biases]
        self.b = self.vector("b", len(b) * n, b) if b else None
        self.output_size, self.built = n, True

    def inputs(self, values):
        """What the word brings: e [..., m] → [W e | W_z e | W_r e] + b [..., 3n]."""
        return self.dot(values, self.W, self.b)

    def context_term(self, context):
        """What the context brings to every step, computed once: c [..., d] → [C c | C_z c | C_r c] [..., 3n]."""
        return self.dot(context, self.C)

    def advance(self, inputs, state, context_term=0.0):
        """h [..., n] from inputs [..., 3n], h' [..., n] and the context's term [..., 3n]."""
        return reset_after_unit(inputs, self.dot(state, self.U) + context_term, state)
