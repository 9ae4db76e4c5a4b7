"""The decoder of GNMT (Wu et al. 2016, §3): its first layer attends, every layer reads a context.

    h^1_t = H([x_t ; c_{t−1}], h^1_{t−1}),   from which attention makes c_t
    h^k_t = H([h^{k−1}_t ; c], h^k_{t−1}),   k = 2 … L,  c = c_{t−1} or c_t

A residual layer adds h^{k−1}_t, not the context. Attention needs no layer above the first: training
computes these one after the other, each at all positions.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.base import State
from rnnsearch_tf.layers.recurrent_stack import LayerStates, UnitStack
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class GNMTDecoder(UnitStack):
    """A stack of units that also read a context, in two parts: the :meth:`first` layer, below
    attention, and the layers above, at one position (:meth:`upper`) or at all (a call).

    Args:
        layers, hidden_size, residual, unit, layer_normalization, peepholes, forget_bias,
            first_residual: see :class:`UnitStack`.
        dropout: likewise, and below attention.
    """

    def build(self, input_size: int, context_size: int) -> None:
        for k, unit in enumerate(self.units):
            unit.build((self.hidden_size if k else input_size, context_size))
        self.output_size = self.hidden_size
        self.built = True

    def first(self, words: tf.Tensor, context: tf.Tensor, state: State) -> State:
        """The first layer at one position: h^1_t as ``state`` [..., n].

        Args:
            words: float [..., m]: x_t.
            context: float [..., h]: c_{t−1}.
            state: of the first layer, from the position before.
        """
        unit = self.units[0]
        return unit.advance(unit.inputs(tf.concat([words, context], axis=-1)), state)

    def call(
        self,
        below: tf.Tensor,
        contexts: tf.Tensor,
        state: LayerStates,
        factors: tf.Tensor,
        training: bool = False,
    ) -> tf.Tensor:
        """The layers above the first at all positions.

        Args:
            below: float [B, T, n]: h^1_t.
            contexts: float [B, T, h]: the context that they read at each position.
            state: of the layers above the first, before the first position.
            factors: from :meth:`dropout_factors`.
            training: whether a gradient is needed.

        Returns:
            The output of the top layer, float [B, T, n].
        """

        def read(unit: RecurrentUnit, entering: tf.Tensor, before: State) -> State:
            return unit.read(entering, before, training=training)

        return self._upper(read, below, contexts, state, factors)[0]

    def upper(
        self, below: tf.Tensor, context: tf.Tensor, state: LayerStates
    ) -> tuple[tf.Tensor, LayerStates]:
        """The layers above the first at one position: (output of the top layer [..., n], their
        states) for h^1_t [..., n], a context [..., h] and their states before.
        """

        def advance(unit: RecurrentUnit, entering: tf.Tensor, before: State) -> State:
            return unit.advance(unit.inputs(entering), before)

        return self._upper(advance, below, context, state)

    def _upper(
        self,
        run: Callable[[RecurrentUnit, tf.Tensor, State], State],
        below: tf.Tensor,
        context: tf.Tensor,
        state: LayerStates,
        factors: tf.Tensor | None = None,
    ) -> tuple[tf.Tensor, LayerStates]:
        states = []
        for k, (unit, before) in enumerate(zip(self.units[1:], state), start=1):
            dropped = below if factors is None else below * factors[..., k - 1, :]
            states.append(run(unit, tf.concat([dropped, context], axis=-1), before))
            below = self._below(k, states[-1]["state"], below)
        return below, tuple(states)
