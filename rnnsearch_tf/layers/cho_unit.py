"""The gated unit of Cho et al. 2014a, Appendix A: not that of Bahdanau et al. 2015.

    z = σ(W_z e + U_z h' + C_z c)
    r = σ(W_r e + U_r h' + C_r c)
    h̃ = tanh(W e + r ∘ (U h' + C c))
    h = z ∘ h' + (1 − z) ∘ h̃

The reset gate comes after the matrix, and holds back the context too; the update gate keeps
the old state where ``gated_unit.py`` takes the new one. The encoder has no context c.
"""

import numpy as np
import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.base import HiddenLayer, tensor
from rnnsearch_tf.layers.initializers import Seeds, initializer
from rnnsearch_tf.layers.product import product

GATES = ("", "_z", "_r")


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class ChoUnit(HiddenLayer):
    """The unit with its weights; training and search call :meth:`advance` one position at a time.

    Args:
        hidden_size: n.
        biases: ``none``, ``groundhog`` (the candidate) or ``all`` (the gates too).
        initialization: see ``initializers.py``; ``paper``: U is 0.01 times orthogonal (§4.1.1).
        seed: int.
    """

    def build(self, input_size, context_size=None):
        n, seeds = self.hidden_size, Seeds(self.seed)
        terms = 3 if context_size else 2  # W e + U h + C c
        draw = lambda role: initializer(self.initialization, role, seeds.next(), columns=n, terms=terms)  # noqa: E731
        self.W = self.matrix("W", (input_size, 3 * n), draw("other"))  # [W | W_z | W_r]
        self.U = self.matrix("U", (n, 3 * n), draw("small recurrent"))  # [U | U_z | U_r]
        self.C = self.matrix("C", (context_size, 3 * n), draw("other")) if context_size else None
        self.b = None if self.biases == "none" else self.vector("b", 3 * n if self.biases == "all" else n)
        self.output_size, self.built = n, True

    def inputs(self, values):
        """What the word brings: e [..., m] → [W e | W_z e | W_r e] + b [..., 3n]."""
        projected = product(values, tensor(self.W), self.product_dtype)
        if self.b is None:
            return projected
        return projected + tf.pad(tensor(self.b), [[0, 3 * self.hidden_size - self.b.shape[0]]])

    def context_term(self, context):
        """What the context brings to every step, computed once: c [..., d] → [C c | C_z c | C_r c] [..., 3n]."""
        return product(context, tensor(self.C), self.product_dtype)

    def advance(self, inputs, state, context_term=0.0):
        """h [..., n] from inputs [..., 3n], h' [..., n] and the context's term [..., 3n]."""
        n = self.hidden_size
        recurrent = product(state, tensor(self.U), self.product_dtype) + context_term
        z, r = tf.split(tf.sigmoid(inputs[..., n:] + recurrent[..., n:]), 2, axis=-1)
        candidate = tf.tanh(inputs[..., :n] + r * recurrent[..., :n])
        return candidate + z * (state - candidate)

    def paper_weights(self, prefix):
        """W, W_z, W_r, U, … behind ``prefix``."""
        n, weights = self.hidden_size, {}
        for letter in ("W", "U", "C", "b"):
            value = getattr(self, letter)
            blocks = [] if value is None else np.split(keras.ops.convert_to_numpy(value), value.shape[-1] // n, axis=-1)
            weights |= {f"{prefix}{letter}{gate}": block for gate, block in zip(GATES, blocks)}
        return weights
