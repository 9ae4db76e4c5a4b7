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
from rnnsearch_tf.layers.base import Block, PaperLayer, State
from rnnsearch_tf.layers.dropout import dropout
from rnnsearch_tf.layers.initializers import seed_stream
from rnnsearch_tf.layers.recurrent_stack import LayerStates
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class GNMTDecoder(PaperLayer):
    """A stack of units that also read a context, in two parts: the :meth:`first` layer, below
    attention, and the layers above, at one position (:meth:`upper`) or at all (a call).

    Args:
        layers: L, number of layers.
        hidden_size: n, of each layer.
        residual: add the output of the layer below to that of a layer, from the layer
            ``first_residual`` on.
        dropout: rate of dropout between the layers, and below attention, in training.
        unit, layer_normalization, peepholes, forget_bias: options of every unit, see
            :class:`RecurrentUnit`.
        first_residual: number of the first residual layer, at least 2.
    """

    layers: int
    hidden_size: int
    residual: bool = False
    dropout: float = 0.0
    unit: str = "gru"
    layer_normalization: bool = False
    peepholes: bool = False
    forget_bias: float = 0.0
    first_residual: int = 2

    def __post_init__(self) -> None:
        seeds = seed_stream(self.weight_seed)
        self.units = [
            RecurrentUnit(
                self.hidden_size,
                self.unit,
                self.layer_normalization,
                self.peepholes,
                self.forget_bias,
                seed=next(seeds),
                name=f"layer_{k + 1}",
                **self.shared_options(),
            )
            for k in range(self.layers)
        ]
        self.drop = dropout(self.dropout, seed=next(seeds), dtype=self.variable_dtype)

    def build(self, input_size: int, context_size: int) -> None:
        for k, unit in enumerate(self.units):
            unit.build((self.hidden_size if k else input_size, context_size))
        self.output_sizes = (self.hidden_size,)
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
        for k, (unit, before) in enumerate(zip(self.units[1:], state), start=2):
            dropped = below if factors is None else below * factors[..., k - 2, :]
            states.append(run(unit, tf.concat([dropped, context], axis=-1), before))
            residual = self.residual and k >= self.first_residual
            below = states[-1]["state"] + below if residual else states[-1]["state"]
        return below, tuple(states)

    def dropout_factors(self, values: tf.Tensor, training: bool) -> tf.Tensor:
        """Dropout factors [B, T, L, n] of what leaves each layer, for all positions of values [B,
        T, d]; those of the first layer are for attention too.
        """
        ones = tf.ones_like(values[..., :1, tf.newaxis]) * tf.ones(
            [self.layers, self.hidden_size], self.variable_dtype
        )
        return self.drop(ones, training=training)

    def blocks(self, prefix: str = "") -> dict[str, Block]:
        """The weights of every unit, prefixed with ``prefix`` and the layer's number from 1."""
        blocks: dict[str, Block] = {}
        for k, unit in enumerate(self.units, start=1):
            blocks |= unit.blocks(f"{prefix}{k}.")
        return blocks
