"""A recurrent unit, with or without a context: one position, or a whole sentence.

``gru``, the gated hidden unit (Bahdanau et al. 2015, Appendix A.1.1); in the decoder c is c_i:

    z = σ(W_z e + U_z h_{t−1} + C_z c)
    r = σ(W_r e + U_r h_{t−1} + C_r c)
    h̃ = tanh(W e + U (r ∘ h_{t−1}) + C c)
    h_t = (1 − z) ∘ h_{t−1} + z ∘ h̃

``cho``, that of Cho et al. 2014a, Appendix A, in the system encoder_decoder only:

    h̃ = tanh(W e + r ∘ (U h_{t−1} + C c))
    h_t = z ∘ h_{t−1} + (1 − z) ∘ h̃

``lstm`` (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000), which A.1.1
names as an alternative without a formula:

    i, f, o = σ(W_g e + U_g h_{t−1} + C_g c + b_g),  g = tanh(W e + U h_{t−1} + C c + b)
    cell_t = f ∘ cell_{t−1} + i ∘ g
    h_t = o ∘ tanh(cell_t)

With peepholes (Graves 2013, eqs. 7-11), i and f also read p ∘ cell_{t−1}, and o reads
p_output ∘ cell_t.

The gated unit is not the GRU of Keras or cuDNN: with ``reset_after=True`` they compute
r ∘ (U h_{t−1}), and their z has the opposite meaning.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers.base import PaperLayer, State
from rnnsearch_tf.layers.scan import scan

GATES = {
    "gru": ("", "_z", "_r"),
    "cho": ("", "_z", "_r"),
    "lstm": ("", "_input", "_forget", "_output"),
}
"""Ending of the letters of each gate, in the order in which they stand side by side; the candidate
comes first.
"""


class RecurrentUnit(PaperLayer):
    """A recurrent unit with its weights: W, U and C of every gate, each a list in the order of
    GATES.

    Args:
        hidden_size: n.
        unit: ``gru``, ``lstm`` or ``cho``.
        peepholes: the gates of an LSTM also read its cell; other units have none.
        forget_bias: initial bias of an LSTM's forget gate; other units have none.
        keywords: see :class:`PaperLayer`. Biases ``groundhog``: that of the candidate of a gated
            unit, and of all gates of an LSTM.
    """

    def __init__(
        self,
        hidden_size: int,
        unit: str = "gru",
        peepholes: bool = False,
        forget_bias: float = 0.0,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.hidden_size = hidden_size
        self.unit = self.one_of("unit", unit, tuple(GATES))
        self.peepholes = peepholes and unit == "lstm"
        self.forget_bias = forget_bias
        if forget_bias and (unit != "lstm" or self.biases == "none"):
            raise UsageError(
                f"forget_bias: expected 0 without the biases of an LSTM, got {forget_bias} beside"
                f" unit={unit}, biases={self.biases}; leave it out"
            )

    def build(self, input_sizes: int | Sequence[int], context_size: int | None = None) -> None:
        """Create the weights.

        Args:
            input_sizes: size of the input; several sizes if the input is several vectors side by
                side, each of which has its own matrix in W.
            context_size: size of the context; None: no context.
        """
        n = self.hidden_size
        gates = GATES[self.unit]
        inputs = 1 if isinstance(input_sizes, int) else len(input_sizes)
        terms = inputs + (2 if context_size else 1)  # W e + U h + C c
        role = "small recurrent" if self.unit == "cho" else "recurrent"
        self.W = [self.matrix(f"W{gate}", input_sizes, n, terms=terms) for gate in gates]
        self.U = [self.matrix(f"U{gate}", n, n, role) for gate in gates]
        self.C = [
            self.matrix(f"C{gate}", context_size, n, terms=terms) for gate in gates if context_size
        ]
        biased = gates if self.unit == "lstm" else gates[:1]
        self.b = None
        if self.biases != "none":
            self.b = [self.vector(f"b{gate}", n) for gate in biased]
        self.p = [self.vector(f"p{gate}", n) for gate in gates[1:] if self.peepholes]
        if self.forget_bias and self.b:
            forget = self.b[gates.index("_forget")]
            forget.assign(forget + self.forget_bias)

    def inputs(self, values: tf.Tensor) -> tf.Tensor:
        """The terms that do not depend on the state: e [..., m] → [W e | W_z e | W_r e] + b
        [..., 3n]; 4n for an LSTM.
        """
        return self.matmul(values, self.W, self.b)

    def context_term(self, context: tf.Tensor) -> tf.Tensor:
        """The terms that a context adds: c [..., 2n] → [C c | C_z c | C_r c] [..., 3n or 4n]."""
        return self.matmul(context, self.C)

    def initial_state(self, output: tf.Tensor) -> State:
        """The state with this output [..., n]; the cell of an LSTM starts at zero."""
        cell = {"cell": tf.zeros_like(output)} if self.unit == "lstm" else {}
        return {"state": output, **cell}

    def advance(
        self, inputs: tf.Tensor, state: State, context_term: tf.Tensor | float = 0.0
    ) -> State:
        """The next state.

        Args:
            inputs: float [..., 3n or 4n], from :meth:`inputs`.
            state: dictionary of float [..., n]: ``state`` (h', the output of the unit) and, for an
                LSTM, ``cell``.
            context_term: float [..., 3n or 4n], from :meth:`context_term`, if there is a context.

        Returns:
            A dictionary like ``state``.
        """
        n = self.hidden_size
        h = state["state"]
        if self.unit == "gru":
            candidate, gates = tf.split(inputs + context_term, [n, 2 * n], axis=-1)
            z, r = tf.split(tf.sigmoid(gates + self.matmul(h, self.U[1:])), 2, axis=-1)
            candidate = tf.tanh(candidate + self.matmul(r * h, self.U[0]))
            return {"state": h + z * (candidate - h)}
        products = self.matmul(h, self.U) + context_term
        if self.unit == "cho":
            z, r = tf.split(tf.sigmoid(inputs[..., n:] + products[..., n:]), 2, axis=-1)
            candidate = tf.tanh(inputs[..., :n] + r * products[..., :n])
            return {"state": candidate + z * (h - candidate)}
        return self._lstm(inputs + products, state["cell"])

    def _lstm(self, total: tf.Tensor, cell: tf.Tensor) -> State:
        """The state of an LSTM after the cell [..., n], from the sums inside g, i, f and o
        [..., 4n].
        """
        peepholes = [tf.convert_to_tensor(p) for p in self.p] or [0.0] * 3
        p_input, p_forget, p_output = peepholes
        candidate, input_gate, forget_gate, output_gate = tf.split(total, 4, axis=-1)
        g = tf.tanh(candidate)
        i = tf.sigmoid(input_gate + p_input * cell)
        f = tf.sigmoid(forget_gate + p_forget * cell)
        cell = f * cell + i * g
        o = tf.sigmoid(output_gate + p_output * cell)
        return {"state": o * tf.tanh(cell), "cell": cell}

    def read(
        self,
        values: tf.Tensor,
        state: State | None = None,
        mask: tf.Tensor | None = None,
        backward: bool = False,
        context_term: tf.Tensor | float = 0.0,
    ) -> tuple[tf.Tensor, State]:
        """:meth:`advance` at every position of a sentence.

        Args:
            values: float [B, T, m].
            state: state before the first position that is read; None: zero.
            mask: bool [B, T], True at real positions; elsewhere the state does not change. None:
                all positions are real.
            backward: read from the last position to the first.
            context_term: float [B, 3n or 4n], of one context for all positions.

        Returns:
            (h [B, T, n] in the order of ``values``, state after the position read last).
        """
        if state is None:
            zeros = tf.zeros([tf.shape(values)[0], self.hidden_size], values.dtype)
            state = self.initial_state(zeros)
        inputs = self.inputs(values)
        real = tf.ones_like(values[..., 0], tf.bool) if mask is None else mask

        def step(now: tuple[tf.Tensor, tf.Tensor], before: State) -> tuple[tf.Tensor, State]:
            inputs, real = now
            after = self.advance(inputs, before, context_term)
            if mask is not None:
                after = {name: tf.where(real, after[name], before[name]) for name in before}
            return after["state"], after

        sequence = (inputs, real[..., tf.newaxis])
        if backward:
            sequence = tuple(tf.reverse(values, [1]) for values in sequence)
        states, last = scan(step, sequence, state, state["state"], self.weights)
        return tf.reverse(states, [1]) if backward else states, last
