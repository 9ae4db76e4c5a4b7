"""A recurrent unit with its weights: gated (Bahdanau et al. 2015) or LSTM, with or without a
context.

    gru     the gated hidden unit, see ``kernels/gru.py``
    lstm    see ``kernels/lstm.py``
    cho     the gated unit of Cho et al. 2014a, see :func:`cho_unit`; only the system
            encoder_decoder uses it, it is no value of ``model.unit``
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers.base import PaperLayer, Shape, State, as_tensor
from rnnsearch_tf.layers.initializers import Initializer, initializer, seed_stream
from rnnsearch_tf.layers.kernels import KERNELS
from rnnsearch_tf.layers.kernels.gru import gated_unit
from rnnsearch_tf.layers.kernels.lstm import lstm_unit
from rnnsearch_tf.layers.scan import scan

_GATED = ("", "_z", "_r")
GATES = {
    "gru": _GATED,
    "cho": _GATED,
    "lstm": ("", "_input", "_forget", "_output"),
}
"""Suffix of each gate's weights, in the order of the columns of the stored matrix; the candidate
comes first.

To add a unit, add it here, in `build`, `initial_state` and `advance`, and to the choices of the
option ``model.unit``; a fast kernel in ``kernels/`` is optional.
"""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RecurrentUnit(PaperLayer):
    """A recurrent unit. :meth:`advance` computes one position; training and encoders compute all
    positions at once, by a kernel of ``kernels/`` if there is one.

    Args:
        hidden_size: n.
        unit: ``gru``, ``lstm`` or ``cho``.
        peepholes: the gates of an LSTM also read its cell.
        forget_bias: float, initial bias of an LSTM's forget gate; other units have none.
        biases: ``none``; ``groundhog``: the candidate of a gated unit, and all gates of an LSTM.
    """

    hidden_size: int
    unit: str = "gru"
    peepholes: bool = False
    forget_bias: float = 0.0

    limits = PaperLayer.limits | {"unit": {"choices": tuple(GATES)}}

    def __post_init__(self) -> None:
        self.peepholes = self.peepholes and self.unit == "lstm"
        if self.forget_bias and not (self.unit == "lstm" and self.biased):
            raise UsageError(
                f"forget_bias: expected 0 without the biases of an LSTM, got {self.forget_bias}"
                f" beside unit={self.unit}, biases={self.biases}; leave it out"
            )

    @property
    def state_size(self) -> int:
        """Raise UsageError; ``keras.layers.RNN`` reads this attribute of its cell."""
        raise UsageError(
            "RecurrentUnit: expected to be a part of an Encoder or a RecurrentStack, got"
            f" keras.layers.RNN around it; use Encoder({self.hidden_size}, bidirectional=False,"
            f" unit={self.unit!r})"
        )

    def build(self, input_sizes: int | tuple[int, ...], context_size: int | None = None) -> None:
        """Create the weights.

        Args:
            input_sizes: size of the input; a tuple of sizes if the input consists of several
                vectors side by side, each of which has its own matrix in W.
            context_size: size of the context; None: no context.
        """
        n = self.hidden_size
        seeds = seed_stream(self.weight_seed)
        gates = GATES[self.unit]
        input_sizes = (input_sizes,) if isinstance(input_sizes, int) else input_sizes
        terms = len(input_sizes) + (2 if context_size else 1)  # W e + U h + C c

        def draw(role: str, rows: Sequence[int] | None = None) -> Initializer:
            return initializer(self.initialization, role, next(seeds), rows, n, terms)

        # [W | W_z | W_r]
        self.W = self._matrix("W", gates, sum(input_sizes), draw("other", input_sizes))
        # The candidate of the unit gru reads r ∘ h', not h', so U is separate from [U_z | U_r].
        separate_U = self.unit == "gru"
        recurrent = "small recurrent" if self.unit == "cho" else "recurrent"
        self.U = self._matrix("U", gates[:1] if separate_U else gates, n, draw(recurrent))
        self.U_gates = None
        if separate_U:
            self.U_gates = self._matrix("U", gates[1:], n, draw("recurrent"))
        self.C = None
        if context_size:
            self.C = self._matrix("C", gates, context_size, draw("other"))
        self.b = self._bias(gates)
        p = [f"p{gate}" for gate in gates[1:]]  # [p_input | p_forget | p_output]
        self.p = self.matrix("p", (3 * n,), draw("peephole"), p) if self.peepholes else None
        self.output_size = n
        self.built = True

    def _matrix(
        self, letter: str, gates: Sequence[str], size: int, initializer: Initializer
    ) -> keras.Variable:
        """A weight [size, gates · n]."""
        name = letter if not gates[0] else f"{letter}_gates"
        letters = [f"{letter}{gate}" for gate in gates]
        return self.matrix(name, (size, len(gates) * self.hidden_size), initializer, letters)

    def _bias(self, gates: Sequence[str]) -> keras.Variable | None:
        """b; the forget bias is added to b_forget."""
        if not self.biased:
            return None
        letters = [f"b{gate}" for gate in (gates if self.unit == "lstm" else gates[:1])]
        draw = self.bias_initializer("b")
        moved = np.repeat(
            [self.forget_bias * (letter == "b_forget") for letter in letters], self.hidden_size
        )

        def first(shape: Shape, dtype: str) -> tf.Tensor:
            return draw(shape, dtype) + keras.ops.convert_to_tensor(moved, dtype)

        return self.matrix("b", moved.shape, first, letters)

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
        return (
            {"state": output, "cell": tf.zeros_like(output)}
            if self.unit == "lstm"
            else {"state": output}
        )

    def advance(
        self, inputs: tf.Tensor, state: State, context_term: tf.Tensor | None = None
    ) -> State:
        """The next state.

        Args:
            inputs: float [..., 3n or 4n], from :meth:`inputs`, plus the :meth:`context_term` if
                there is a context, except for ``cho``.
            state: dictionary of float [..., n]: ``state`` (h', the output of the unit) and, for an
                LSTM, ``cell``.
            context_term: float [..., 3n], for ``cho`` only: its reset gate also scales this term.

        Returns:
            A dictionary like ``state``.
        """
        h = state["state"]
        if self.unit == "lstm":
            total = inputs + self.matmul(h, self.U)
            new_state, cell, _ = lstm_unit(total, state["cell"], self.p)
            return {"state": new_state, "cell": cell}
        if self.unit == "cho":
            products = self.matmul(h, self.U)
            products = products if context_term is None else products + context_term
            return {"state": cho_unit(inputs, products, h)}
        state_gates = self.matmul(h, self.U_gates)
        return {"state": gated_unit(inputs, state_gates, h, lambda x: self.matmul(x, self.U))[0]}

    def read(
        self,
        values: tf.Tensor,
        state: State,
        mask: tf.Tensor | None = None,
        backward: bool = False,
        training: bool = False,
    ) -> State:
        """:meth:`inputs` and :meth:`all_steps` of a whole sentence.

        Args:
            values: float [B, T, m].
            state: state before the first position that is read, from :meth:`initial_state`.
            mask: bool [B, T] or None. Where it is False, the state does not change.
            backward: read from the last position to the first.
            training: whether a gradient is needed.

        Returns:
            A dictionary like ``state`` of float [B, T, n], in the order of ``values``.
        """
        turn = (lambda x: tf.reverse(x, [1])) if backward else tf.identity
        states = self.all_steps(
            self.inputs(turn(values)), state, None if mask is None else turn(mask), training
        )
        return tf.nest.map_structure(turn, states)

    def all_steps(
        self,
        inputs: tf.Tensor,
        state: State,
        mask: tf.Tensor | None = None,
        training: bool = True,
    ) -> State:
        """:meth:`advance` at every position.

        Args:
            inputs: float [B, T, 3n or 4n], from :meth:`inputs`.
            state: state before the first position, from :meth:`initial_state`.
            mask: bool [B, T] or None. Where it is False, the state does not change.
            training: whether a gradient is needed.

        Returns:
            A dictionary like ``state`` of float [B, T, n].
        """
        kernel = KERNELS.get((self.unit, None))
        if kernel is None:
            return scan(self.advance, inputs, state, mask)
        return kernel(inputs, state, self.state_weights(), mask, self.product_dtype, training)

    def state_weights(self) -> dict[str, tf.Tensor]:
        """The weights that multiply the state: {name: tensor, or None}."""
        return {"U": as_tensor(self.U), "U_gates": as_tensor(self.U_gates), "p": as_tensor(self.p)}


def cho_unit(inputs: tf.Tensor, products: tf.Tensor, state: tf.Tensor) -> tf.Tensor:
    """One step of the gated unit of Cho et al. 2014a, Appendix A.

        z = σ(W_z e + U_z h' + C_z c)
        r = σ(W_r e + U_r h' + C_r c)
        h̃ = tanh(W e + r ∘ (U h' + C c))
        h = z ∘ h' + (1 − z) ∘ h̃

    Its encoder has no c. Bahdanau's unit (``kernels/gru.py``) has U (r ∘ h') and C c beside it,
    and its z is 1 − z of this one.

    Args:
        inputs: float [..., 3n]: candidate, update and reset input, side by side.
        products: float [..., 3n]: [U h' + C c | U_z h' + C_z c | U_r h' + C_r c]; the reset gate
            scales the first block.
        state: float [..., n]: h'.

    Returns:
        The new state, float [..., n].
    """
    n = state.shape[-1]
    z, r = tf.split(tf.sigmoid(inputs[..., n:] + products[..., n:]), 2, axis=-1)
    candidate = tf.tanh(inputs[..., :n] + r * products[..., :n])
    return candidate + z * (state - candidate)
