"""A recurrent unit with its weights: gated (Bahdanau et al. 2015) or LSTM, with or without a
context.

    gru               the gated hidden unit, see ``kernels/gru.py``
    gru_reset_after   the gated unit of cuDNN, see ``kernels/gru_reset_after.py``
    cho               the gated unit of Cho et al. 2014a, see ``kernels/gru_reset_after.py``; only
                      the system encoder_decoder uses it, it is no value of ``model.unit``
    lstm              see ``kernels/lstm.py``

Layer normalization is applied to every product with a weight, and to the cell inside an LSTM's
tanh(cell); ``normalization.py`` has its forms.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers.base import PaperLayer, Shape, State, as_tensor, pad_bias
from rnnsearch_tf.layers.initializers import Initializer, initializer, seed_stream
from rnnsearch_tf.layers.kernels import KERNELS
from rnnsearch_tf.layers.kernels.gru import gated_unit
from rnnsearch_tf.layers.kernels.gru_reset_after import (
    cudnn_gru,
    gpu_with_cudnn,
    reset_after_unit,
    right_padded,
)
from rnnsearch_tf.layers.kernels.lstm import lstm_unit
from rnnsearch_tf.layers.normalization import EPSILONS, normalized, normalized_parts
from rnnsearch_tf.layers.scan import scan

_GATED = ("", "_z", "_r")
GATES = {
    "gru": _GATED,
    "gru_reset_after": _GATED,
    "cho": _GATED,
    "lstm": ("", "_input", "_forget", "_output"),
}
"""Suffix of each gate's weights, in the order of the columns of the stored matrix; the candidate
comes first.

To add a unit, add it here, in KEEP_GATES, `build`, `initial_state` and `advance`, and to the
choices of the option ``model.unit``; a fast kernel in ``kernels/`` is optional.
"""

KEEP_GATES = {
    "gru": ("_z", -1),
    "gru_reset_after": ("_z", 1),
    "cho": ("_z", 1),
    "lstm": ("_forget", 1),
}
"""The gate that decides how much of the state is kept, and the sign of a bias that keeps more: z of
Bahdanau et al. 2015 is the share of the new value.
"""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RecurrentUnit(PaperLayer):
    """A recurrent unit. :meth:`advance` computes one position; training and encoders compute all
    positions at once, by a kernel of ``kernels/`` if there is one.

    Args:
        hidden_size: n.
        unit: ``gru``, ``gru_reset_after``, ``cho`` or ``lstm``.
        layer_normalization: normalize the products.
        normalized: form of the normalization, ``recurrent``, ``all`` or ``together``. The latter
            two add to gru_reset_after, with ``biases: all``, a b_U of all gates.
        peepholes: the gates of an LSTM also read its cell.
        forget_bias: float, initial bias towards keeping the state: b_forget of an LSTM; of a gated
            unit b_z, with its sign in KEEP_GATES, which requires ``biases: all``.
        biases: ``none``; ``groundhog``: the candidate of a gated unit, and all gates of an LSTM;
            ``all``: also b_U of gru_reset_after.
    """

    hidden_size: int
    unit: str = "gru"
    layer_normalization: bool = False
    peepholes: bool = False
    forget_bias: float = 0.0
    normalized: str = "recurrent"

    may_use_cudnn = True  # False in a graph that XLA compiles, which has no calls of cuDNN

    limits = PaperLayer.limits | {"unit": {"choices": tuple(GATES)}}

    def __post_init__(self) -> None:
        self.peepholes = self.peepholes and self.unit == "lstm"
        if self.forget_bias and not (self.biases == "all" or self.unit == "lstm" and self.biased):
            raise UsageError(
                f"forget_bias: expected biases on the gates beside it, got unit={self.unit},"
                f" biases={self.biases}; set biases=all"
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
                vectors side by side, each of which has its own matrix in W; an empty tuple: the
                unit reads no input, and has no W.
            context_size: size of the context; None: no context.
        """
        n = self.hidden_size
        seeds = seed_stream(self.weight_seed)
        gates = GATES[self.unit]
        input_sizes = (input_sizes,) if isinstance(input_sizes, int) else input_sizes
        terms = len(input_sizes) + (2 if context_size else 1)  # W e + U h + C c

        def draw(role: str, rows: Sequence[int] | None = None) -> Initializer:
            return initializer(self.initialization, role, next(seeds), rows, n, terms)

        self.W = None
        if input_sizes:
            # [W | W_z | W_r]
            self.W = self._matrix("W", gates, sum(input_sizes), draw("other", input_sizes))
        # The candidate of a gated unit reads r ∘ h', not h', so U is separate from [U_z | U_r].
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
        self.b_U = None
        if self.unit == "gru_reset_after" and self.biases == "all":
            letters = [f"b_U{gate}" for gate in (gates if self._with_shift() else gates[:1])]
            self.b_U = self.vector("b_U", len(letters) * n, letters)
        self.cell_gain = (
            self.matrix("cell_gain", (n,), "ones")
            if self.layer_normalization and self.unit == "lstm"
            else None
        )
        p = [f"p{gate}" for gate in gates[1:]]  # [p_input | p_forget | p_output]
        self.p = self.matrix("p", (3 * n,), draw("peephole"), p) if self.peepholes else None
        self.output_size = n
        self.supports_jit = not self._fits_cudnn()  # Keras asks before it compiles a user's model
        self.built = True

    def _matrix(
        self, letter: str, gates: Sequence[str], size: int, initializer: Initializer
    ) -> keras.Variable:
        """A weight [size, gates · n]; with layer normalization of its product, add the gain and the
        shift too, see :meth:`_product`.
        """
        width = len(gates) * self.hidden_size
        name = letter if not gates[0] else f"{letter}_gates"
        letters = [f"{letter}{gate}" for gate in gates]
        weight = self.matrix(name, (size, width), initializer, letters)
        if self.layer_normalization:
            gains = [f"{letter}_gain" for letter in letters]
            setattr(self, f"{name}_gain", self.matrix(f"{name}_gain", (width,), "ones", gains))
        if self._with_shift():
            shifts = [f"{letter}_shift" for letter in letters]
            setattr(self, f"{name}_shift", self.matrix(f"{name}_shift", (width,), "zeros", shifts))
        return weight

    def _with_shift(self) -> bool:
        """Whether the layer normalization has shifts: its form is ``all`` or ``together``."""
        return self.layer_normalization and self.normalized != "recurrent"

    def _bias(self, gates: Sequence[str]) -> keras.Variable | None:
        """b; the forget bias is added to the gate in KEEP_GATES."""
        if not self.biased:
            return None
        letters = [
            f"b{gate}"
            for gate in (gates if self.biases == "all" or self.unit == "lstm" else gates[:1])
        ]
        draw = self.bias_initializer("b")
        gate, sign = KEEP_GATES[self.unit]
        moved = np.repeat(
            [sign * self.forget_bias * (letter == f"b{gate}") for letter in letters],
            self.hidden_size,
        )

        def first(shape: Shape, dtype: str) -> tf.Tensor:
            return draw(shape, dtype) + keras.ops.convert_to_tensor(moved, dtype)

        return self.matrix("b", moved.shape, first, letters)

    def inputs(self, values: tf.Tensor) -> tf.Tensor:
        """The terms that do not depend on the state: e [..., m] → [W e | W_z e | W_r e] + b
        [..., 3n]; 4n for an LSTM.
        """
        return self._product(values, "W", self.b)

    def constant_inputs(self) -> tf.Tensor:
        """The :meth:`inputs` of a unit that reads no input: b, float [3n]; 4n for an LSTM."""
        width = len(GATES[self.unit]) * self.hidden_size
        if self.b is None:
            return tf.zeros([width], self.variable_dtype)
        return pad_bias(as_tensor(self.b), width)

    def context_term(self, context: tf.Tensor) -> tf.Tensor:
        """The terms that a context adds: c [..., 2n] → [C c | C_z c | C_r c] [..., 3n or 4n]."""
        return self._product(context, "C")

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
        if self.unit != "gru":
            return (
                self._advance_lstm(inputs, state)
                if self.unit == "lstm"
                else self._advance_reset_after(inputs, state, context_term)
            )
        state_gates = self._product(state["state"], "U_gates")

        def times_U(values: tf.Tensor) -> tf.Tensor:
            return self._product(values, "U")

        return {"state": gated_unit(inputs, state_gates, state["state"], times_U)[0]}

    def _advance_reset_after(
        self, inputs: tf.Tensor, state: State, context_term: tf.Tensor | None
    ) -> State:
        products = self._product(state["state"], "U", self.b_U)
        products = products if context_term is None else products + context_term
        return {"state": reset_after_unit(inputs, products, state["state"])}

    def _advance_lstm(self, inputs: tf.Tensor, state: State) -> State:
        total = inputs + self._product(state["state"], "U")

        def normalize(cell: tf.Tensor) -> tf.Tensor:
            return normalized(cell, self.cell_gain, self.hidden_size)

        new_state, cell, _ = lstm_unit(total, state["cell"], self.p, normalize)
        return {"state": new_state, "cell": cell}

    def _product(
        self, values: tf.Tensor, name: str, bias: keras.Variable | None = None
    ) -> tf.Tensor:
        """The product with the weight of this name, normalized if the option says so."""
        if self.layer_normalization:
            return self._normalized_product(values, name, bias)
        return self.matmul(values, getattr(self, name), bias)

    def _normalized_product(
        self, values: tf.Tensor, name: str, bias: keras.Variable | None
    ) -> tf.Tensor:
        """The product with the weight of this name, normalized by its gain and shift, if any."""
        weight, gain = getattr(self, name), getattr(self, f"{name}_gain")
        n, width = self.hidden_size, weight.shape[1]
        if self._with_shift():
            together = name == "U_gates" or width == n or self.normalized == "together"
            sizes = [width] if together else [n, width - n]
            total = self.matmul(values, weight, bias)
            shift = getattr(self, f"{name}_shift")
            return normalized_parts(total, gain, shift, sizes, EPSILONS[self.normalized])
        normal = normalized(self.matmul(values, weight), gain, n)
        return normal if bias is None else normal + pad_bias(bias, width)

    def read(
        self,
        values: tf.Tensor,
        state: State,
        mask: tf.Tensor | None = None,
        backward: bool = False,
        training: bool = False,
    ) -> State:
        """:meth:`inputs` and :meth:`all_steps` of a whole sentence. Training on a GPU uses cuDNN
        for the unit that cuDNN implements.

        Search always uses the loop, so that an exported model runs anywhere.

        Args:
            values: float [B, T, m].
            state: state before the first position that is read, from :meth:`initial_state`.
            mask: bool [B, T] or None. Where it is False, the state does not change.
            backward: read from the last position to the first.
            training: whether a gradient is needed.

        Returns:
            A dictionary like ``state`` of float [B, T, n], in the order of ``values``.
        """
        if training and self._fits_cudnn():
            return self._read_by_cudnn(values, state, mask, backward)
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
        kernel = KERNELS.get((self.unit, self.layer_normalization, None))
        if kernel is None:
            return scan(self.advance, inputs, state, mask)
        return kernel(inputs, state, self.state_weights(), mask, self.product_dtype, training)

    def _fits_cudnn(self) -> bool:
        """Whether a GPU is available, and cuDNN implements this unit and may be used."""
        return (
            self.may_use_cudnn
            and self.unit == "gru_reset_after"
            and not self.layer_normalization
            and self.product_dtype is None
            and gpu_with_cudnn()
        )

    def _read_by_cudnn(
        self, values: tf.Tensor, state: State, mask: tf.Tensor | None, backward: bool
    ) -> State:
        """:meth:`read` by cuDNN; by the loop if a sentence is empty or has padding on the left."""
        weights = {name: as_tensor(getattr(self, name)) for name in ("W", "U", "b", "b_U")}

        def read(mask: tf.Tensor) -> State:
            return {"state": cudnn_gru(values, state["state"], weights, mask, backward)}

        if mask is None:
            return read(tf.fill(tf.shape(values)[:2], True))
        return tf.cond(
            right_padded(mask), lambda: read(mask), lambda: self.read(values, state, mask, backward)
        )

    def state_weights(self) -> dict[str, tf.Tensor]:
        """The weights that multiply the state: {name: tensor, or None}."""
        return {"U": as_tensor(self.U), "U_gates": as_tensor(self.U_gates), "p": as_tensor(self.p)}
