"""A recurrent unit with its weights: gated (Bahdanau et al. 2015) or LSTM, with or without a context.

    gru    the gated hidden unit, see ``gated_unit.py``
    lstm   i, f, o = σ(W_g e + U_g h' + C_g c + b_g),  g = tanh(W e + U h' + C c + b)
           cell = f ∘ cell' + i ∘ g,  h = o ∘ tanh(cell)

The LSTM is that of Hochreiter and Schmidhuber 1997 with the forget gate of Gers et al. 2000;
Bahdanau et al. (A.1.1) say that it may stand in for the gated unit and write no formula.
With peepholes (Graves 2013, eqs. 7-11) i and f also see p ∘ cell', and o sees p_output ∘ cell.
With layer normalization every product above, and the cell inside tanh(cell), is normalized.
"""

import numpy as np
import tensorflow as tf

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.base import PaperLayer, padded, tensor
from rnnsearch_tf.layers.initializers import Raised, Seeds, initializer
from rnnsearch_tf.layers.normalization import normalized
from rnnsearch_tf.layers.product import product

GATES = {"gru": ("", "_z", "_r"), "lstm": ("", "_input", "_forget", "_output")}
"""Endings of the symbols of a unit's blocks, in the order they stand side by side; the candidate first."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RecurrentUnit(PaperLayer):
    """One unit; training and search call :meth:`advance` one position at a time.

    Args:
        hidden_size: n.
        unit: ``gru`` or ``lstm``.
        layer_normalization: normalize the products.
        peepholes: the gates of an LSTM see its cell.
        forget_bias: float, what b_forget of an LSTM begins at.
        biases: ``none``; ``groundhog``: the candidate of a gated unit, all of an LSTM; ``all``.
        initialization: see ``initializers.py``.
        seed: int.
    """

    def __init__(
        self, hidden_size, unit="gru", layer_normalization=False, peepholes=False, forget_bias=0.0,
        biases="groundhog", initialization="paper", seed=0, **keywords,
    ):
        super().__init__(**keywords)
        self.hidden_size = hidden_size
        self.unit = unit
        self.layer_normalization = layer_normalization
        self.peepholes = peepholes and unit == "lstm"
        self.forget_bias = forget_bias
        self.biases = biases
        self.initialization = initialization
        self.seed = seed

    def build(self, input_sizes, context_size=None):
        """Input sizes: an int, or a tuple where several vectors stand side by side, each with a matrix of its own in W."""
        n, seeds, gates = self.hidden_size, Seeds(self.seed), len(GATES[self.unit])
        input_sizes = (input_sizes,) if isinstance(input_sizes, int) else input_sizes
        terms = len(input_sizes) + (2 if context_size else 1)  # W e + U h + C c
        draw = lambda role, rows=None: initializer(self.initialization, role, seeds.next(), rows, n, terms)  # noqa: E731
        self.W = self.matrix("W", (sum(input_sizes), gates * n), draw("other", input_sizes))  # [W | W_z | W_r]
        # A gated unit's candidate does not see h' itself but r ∘ h': its U stands apart from [U_z | U_r].
        apart = self.unit == "gru"
        self.U = self.matrix("U", (n, n if apart else gates * n), draw("recurrent"))
        self.U_gates = self.matrix("U_gates", (n, 2 * n), draw("recurrent")) if apart else None
        self.C = self.matrix("C", (context_size, gates * n), draw("other")) if context_size else None
        biased = 0 if self.biases == "none" else gates if self.biases == "all" or self.unit == "lstm" else 1
        self.b = self._bias(biased * n) if biased else None
        gain = lambda name, size: self.matrix(name, (size,), "ones") if self.layer_normalization else None  # noqa: E731
        self.W_gain, self.U_gain = gain("W_gain", gates * n), gain("U_gain", self.U.shape[1])
        self.U_gates_gain = gain("U_gates_gain", 2 * n) if apart else None
        self.C_gain = gain("C_gain", gates * n) if context_size else None
        self.cell_gain = gain("cell_gain", n) if self.unit == "lstm" else None
        self.p = self.matrix("p", (3 * n,), draw("peephole")) if self.peepholes else None  # [p_input | p_forget | p_output]
        self.built = True

    def _bias(self, size):
        """b, the forget gate's raised."""
        if self.unit == "gru" or not self.forget_bias:
            return self.vector("b", size)
        begin = GATES["lstm"].index("_forget") * self.hidden_size
        raised = Raised(self.bias_initializer("b"), begin, begin + self.hidden_size, self.forget_bias)
        return self.matrix("b", (size,), raised)

    def inputs(self, values):
        """What does not depend on the state: e [..., m] → [W e | W_z e | W_r e] + b, [..., 3n] (of an LSTM 4n)."""
        bias = padded(self.b, self.W.shape[1])
        if self.W_gain is None:
            return product(values, tensor(self.W), self.product_dtype, bias=bias)
        normal = self._product(values, self.W, self.W_gain)
        return normal if bias is None else normal + bias

    def context_term(self, context):
        """What a context adds to the inputs: c [..., 2n] → [C c | C_z c | C_r c], [..., 3n or 4n]."""
        return self._product(context, self.C, self.C_gain)

    def first(self, output):
        """The state that shows ``output`` [..., n]; an LSTM's cell starts at zero."""
        return {"state": output} if self.unit == "gru" else {"state": output, "cell": tf.zeros_like(output)}

    def advance(self, inputs, state):
        """The next state.

        Args:
            inputs: float [..., 3n or 4n], from :meth:`inputs`; with a context, its :meth:`context_term` added.
            state: dictionary of float [..., n]: ``state`` (h', what the unit shows) and, of an LSTM, ``cell``.

        Returns:
            A dictionary like ``state``.
        """
        return self._gated(inputs, **state) if self.unit == "gru" else self._lstm(inputs, **state)

    def _gated(self, inputs, state):
        n = self.hidden_size
        gates = tf.sigmoid(inputs[..., n:] + self._product(state, self.U_gates, self.U_gates_gain))
        z, r = tf.split(gates, 2, axis=-1)
        candidate = tf.tanh(inputs[..., :n] + self._product(r * state, self.U, self.U_gain))
        return {"state": state + z * (candidate - state)}

    def _lstm(self, inputs, state, cell):
        total = inputs + self._product(state, self.U, self.U_gain)
        candidate, gates = tf.split(total, [self.hidden_size, 3 * self.hidden_size], axis=-1)
        enter, keep, show = tf.split(gates, 3, axis=-1)
        p_input, p_forget, p_output = tf.split(tensor(self.p), 3) if self.peepholes else (0.0, 0.0, 0.0)
        cell_before = cell
        cell = tf.sigmoid(keep + p_forget * cell_before) * cell_before
        cell += tf.sigmoid(enter + p_input * cell_before) * tf.tanh(candidate)
        shown = tf.tanh(normalized(cell, tensor(self.cell_gain), self.hidden_size))
        return {"state": tf.sigmoid(show + p_output * cell) * shown, "cell": cell}

    def _product(self, values, weight, gain):
        return normalized(product(values, tensor(weight), self.product_dtype), tensor(gain), self.hidden_size)

    def paper_weights(self, prefix=""):
        """This unit's weights by the paper's letters: W, W_z, …, W_gain, … behind ``prefix``."""
        n, gates, weights = self.hidden_size, GATES[self.unit], {}
        letters = {"W": (self.W, self.W_gain, gates), "U": (self.U, self.U_gain, gates), "C": (self.C, self.C_gain, gates),
                   "b": (self.b, None, gates), "p": (self.p, None, gates[1:]), "cell": (None, self.cell_gain, ("",))}
        parts = [(letter, *values) for letter, values in letters.items()] + [("U", self.U_gates, self.U_gates_gain, gates[1:])]
        for letter, *values, endings in parts:
            for value, ending in zip(values, ("", "_gain")):
                blocks = [] if value is None else np.split(keras.ops.convert_to_numpy(value), value.shape[-1] // n, axis=-1)
                weights |= {f"{prefix}{letter}{gate}{ending}": block for gate, block in zip(endings, blocks)}
        return weights

    def get_config(self):
        own = ("hidden_size", "unit", "layer_normalization", "peepholes", "forget_bias", "biases", "initialization", "seed")
        return super().get_config() | {name: getattr(self, name) for name in own}
