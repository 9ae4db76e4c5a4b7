"""Stacked recurrent layers, over a whole sentence or one position at a time.

    h^1_t = H(x_t, h^1_{t−1})
    h^k_t = H(h^{k−1}_t, h^k_{t−1})             Sutskever et al. 2014, §2; with skip connections
    h^k_t = H([x_t ; h^{k−1}_t], h^k_{t−1})     Graves 2013, §2, eqs. 1–2

H is a gated unit or an LSTM, see ``recurrent_unit.py``.
"""

from __future__ import annotations

from typing import TypeAlias

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.base import Block, PaperLayer, State
from rnnsearch_tf.layers.dropout import dropout
from rnnsearch_tf.layers.initializers import seed_stream
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit

LayerStates: TypeAlias = tuple[State, ...]
"""The state of every layer, lowest first."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class RecurrentStack(PaperLayer):
    """A stack of :class:`RecurrentUnit`; its state is a tuple of theirs, lowest first.

    Args:
        layers: number of layers.
        hidden_size: n, of each layer.
        dropout: rate of dropout between the layers in training (Zaremba et al. 2014).
        unit, peepholes, forget_bias: options of every unit, see :class:`RecurrentUnit`.
        skips: skip connections: every layer reads the input, and the output has every layer.
    """

    layers: int
    hidden_size: int
    dropout: float = 0.0
    unit: str = "gru"
    peepholes: bool = False
    forget_bias: float = 0.0
    skips: bool = False

    def __post_init__(self) -> None:
        seeds = seed_stream(self.weight_seed)
        self.units = [
            RecurrentUnit(
                self.hidden_size,
                self.unit,
                self.peepholes,
                self.forget_bias,
                seed=next(seeds),
                name=f"layer_{k + 1}",
                **self.shared_options(),
            )
            for k in range(self.layers)
        ]
        self.drop = dropout(self.dropout, seed=next(seeds), dtype=self.variable_dtype)

    def build(self, input_size: int) -> None:
        for k, unit in enumerate(self.units):
            entering = [input_size] if k == 0 or self.skips else []
            unit.build((*entering, *([] if k == 0 else [self.hidden_size])))
        self.output_size = self.hidden_size
        self.built = True

    def zero_state(self, batch_size: tf.Tensor) -> LayerStates:
        """The state before the first word: a tuple of dictionaries of zeros [B, n]."""
        zeros = tf.zeros([batch_size, self.hidden_size], self.variable_dtype)
        return tuple(unit.initial_state(zeros) for unit in self.units)

    def dropout_factors(self, values: tf.Tensor, training: bool) -> tf.Tensor:
        """Dropout factors [B, T, layers, n] of what leaves each layer, for all positions of values
        [B, T, d], to be drawn before a scan.
        """
        ones = tf.ones_like(values[..., :1, tf.newaxis]) * tf.ones(
            [self.layers, self.hidden_size], self.variable_dtype
        )
        return self.drop(ones, training=training)

    def call(
        self,
        values: tf.Tensor,
        state: LayerStates,
        mask: tf.Tensor | None = None,
        training: bool = False,
    ) -> LayerStates:
        """All positions, one layer after the other.

        Args:
            values: float [B, T, d].
            state: state before the first position, such as :meth:`zero_state`.
            mask: bool [B, T], True at real positions; elsewhere the states do not change. None: all
                positions are real.
            training: whether dropout is active and a gradient is needed.

        Returns:
            The states after every position: a tuple of dictionaries of float [B, T, n].
        """
        states = []
        below = None
        for unit, before in zip(self.units, state):
            entering = self._layer_input(values, below)
            states.append(unit.read(entering, before, mask, training=training))
            below = self.drop(states[-1]["state"], training=training)
        return tuple(states)

    def advance(
        self, values: tf.Tensor, state: LayerStates, factors: tf.Tensor | None = None
    ) -> LayerStates:
        """One position.

        Args:
            values: float [..., d].
            state: a tuple of dictionaries of float [..., n].
            factors: dropout factors [..., layers, n] for the outputs of each layer, from
                :meth:`dropout_factors`; None: no dropout.

        Returns:
            The next state.
        """
        states = []
        below = None
        for k, (unit, before) in enumerate(zip(self.units, state)):
            states.append(unit.advance(unit.inputs(self._layer_input(values, below)), before))
            below = states[-1]["state"]
            below = below if factors is None else below * factors[..., k, :]
        return tuple(states)

    def output(self, states: LayerStates) -> tf.Tensor:
        """The output of the stack: its top layer [..., n]; with skip connections all layers side by
        side [..., layers · n].
        """
        return tf.concat(
            [state["state"] for state in (states if self.skips else states[-1:])], axis=-1
        )

    @property
    def output_sizes(self) -> tuple[int, ...]:
        """The size of each layer in :meth:`output`."""
        return (self.hidden_size,) * (self.layers if self.skips else 1)

    def _layer_input(self, values: tf.Tensor, below: tf.Tensor | None) -> tf.Tensor:
        """The input of a layer: that of the stack, the layer below, or both."""
        if below is None:
            return values
        return tf.concat([values, below], axis=-1) if self.skips else below

    def blocks(self, prefix: str = "") -> dict[str, Block]:
        """The weights of every unit, prefixed with ``prefix`` and the layer's number from 1."""
        blocks: dict[str, Block] = {}
        for k, unit in enumerate(self.units, start=1):
            blocks |= unit.blocks(f"{prefix}{k}.")
        return blocks
