"""Stacked recurrent layers, over a whole sentence or one position at a time.

    h^1_t = H(x_t, h^1_{t−1})
    h^k_t = H(h^{k−1}_t, h^k_{t−1})             Sutskever et al. 2014, §2; with skip connections
    h^k_t = H([x_t ; h^{k−1}_t], h^k_{t−1})     Graves 2013, §2, eqs. 1–2

H is a gated unit or an LSTM, see ``recurrent_unit.py``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import tensorflow as tf

from rnnsearch_tf.layers.base import PaperLayer, State, letters_of
from rnnsearch_tf.layers.dropout import Dropout
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit
from rnnsearch_tf.runtime.backend import keras

LayerStates: TypeAlias = tuple[State, ...]
"""The state of every layer, lowest first."""


class RecurrentStack(PaperLayer):
    """A stack of :class:`RecurrentUnit`; its state is a tuple of theirs, lowest first.

    Args:
        layers: number of layers.
        hidden_size: n, of each layer.
        dropout: rate of dropout between the layers in training (Zaremba et al. 2014).
        skips: skip connections: every layer reads the input, and the output has every layer.
        unit, peepholes, forget_bias: options of every unit, see :class:`RecurrentUnit`.
        keywords: see :class:`PaperLayer`.
    """

    def __init__(
        self,
        layers: int,
        hidden_size: int,
        dropout: float = 0.0,
        skips: bool = False,
        unit: str = "gru",
        peepholes: bool = False,
        forget_bias: float = 0.0,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.hidden_size = hidden_size
        self.skips = skips
        options = (unit, peepholes, forget_bias)
        self.units = [
            RecurrentUnit(hidden_size, *options, name=f"layer_{k + 1}", **self.shared_options())
            for k in range(layers)
        ]
        self.drop = Dropout(dropout, dtype=self.variable_dtype)

    def build(self, input_size: int) -> None:
        for k, unit in enumerate(self.units):
            below = [] if k == 0 else [self.hidden_size]
            unit.build([input_size, *below] if k == 0 or self.skips else below)

    def dropout_factors(self, values: tf.Tensor, training: bool) -> tf.Tensor:
        """Dropout factors [B, T, layers, n] of what leaves each layer, for all positions of values
        [B, T, d], to be drawn before a scan.
        """
        ones = tf.ones([len(self.units), self.hidden_size], values.dtype)
        return self.drop(tf.ones_like(values[..., :1, tf.newaxis]) * ones, training=training)

    def call(
        self,
        values: tf.Tensor,
        state: LayerStates | None = None,
        mask: tf.Tensor | None = None,
        training: bool = False,
    ) -> tuple[tf.Tensor, LayerStates]:
        """All positions, one layer after the other.

        Args:
            values: float [B, T, d].
            state: state before the first position, a tuple of dictionaries of [B, n]; None: zero.
            mask: bool [B, T], True at real positions; elsewhere the states do not change. None: all
                positions are real.
            training: whether dropout is active.

        Returns:
            (output at every position [B, T, …], state after the last). The output is the top
            layer [..., n]; with skip connections all layers side by side [..., layers · n].
        """
        outputs: list[tf.Tensor] = []
        last = []
        below = None
        for unit, before in zip(self.units, state or [None] * len(self.units)):
            states, after = unit.read(self._layer_input(values, below), before, mask)
            outputs.append(states)
            last.append(after)
            below = self.drop(states, training=training)
        return self._output(outputs), tuple(last)

    def advance(
        self, values: tf.Tensor, state: LayerStates, factors: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, LayerStates]:
        """:meth:`call` at one position.

        Args:
            values: float [..., d].
            state: a tuple of dictionaries of float [..., n].
            factors: dropout factors [..., layers, n] for the outputs of each layer, from
                :meth:`dropout_factors`; None: no dropout.

        Returns:
            (output, the next state).
        """
        states: list[State] = []
        below = None
        for k, (unit, before) in enumerate(zip(self.units, state)):
            states.append(unit.advance(unit.inputs(self._layer_input(values, below)), before))
            below = states[-1]["state"]
            below = below if factors is None else below * factors[..., k, :]
        return self._output([state["state"] for state in states]), tuple(states)

    def _output(self, outputs: Sequence[tf.Tensor]) -> tf.Tensor:
        return tf.concat(outputs, axis=-1) if self.skips else outputs[-1]

    @property
    def output_sizes(self) -> tuple[int, ...]:
        """The size of each layer in the output."""
        return (self.hidden_size,) * (len(self.units) if self.skips else 1)

    def _layer_input(self, values: tf.Tensor, below: tf.Tensor | None) -> tf.Tensor:
        """The input of a layer: that of the stack, the layer below, or both."""
        if below is None:
            return values
        return tf.concat([values, below], axis=-1) if self.skips else below

    def letters(self, prefix: str) -> dict[str, keras.Variable]:
        """The weights of every unit, prefixed with ``prefix`` and the layer's number from 1."""
        letters: dict[str, keras.Variable] = {}
        for k, unit in enumerate(self.units, start=1):
            letters |= letters_of(unit, f"{prefix}{k}.")
        return letters
