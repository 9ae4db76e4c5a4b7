"""Deep transition: several recurrent units one after the other between two words (Pascanu et al.
2014; Miceli Barone et al. 2017, §2.1).

    h_{t,1} = unit_1(E x_t, h_{t−1,L})
    h_{t,k} = unit_k(h_{t,k−1})            k = 2 … L; these units read no input
    h_t     = h_{t,L}

Unlike the layers of a stack, the units share one state: the last one's is the previous state of the
first at the next word.
"""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.base import Block, PaperLayer, State
from rnnsearch_tf.layers.initializers import seed_stream
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit
from rnnsearch_tf.layers.scan import scan


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class DeepTransition(PaperLayer):
    """Units that pass one state on; its methods are those of :class:`RecurrentUnit`.

    Args:
        hidden_size: n.
        transitions: L, number of units.
        unit, layer_normalization, forget_bias, normalized: options of every unit, see
            :class:`RecurrentUnit`.
    """

    hidden_size: int
    transitions: int
    unit: str = "gru"
    layer_normalization: bool = False
    forget_bias: float = 0.0
    normalized: str = "recurrent"

    def __post_init__(self) -> None:
        seeds = seed_stream(self.weight_seed)
        self.units = [
            RecurrentUnit(
                self.hidden_size,
                self.unit,
                self.layer_normalization,
                forget_bias=self.forget_bias,
                normalized=self.normalized,
                seed=next(seeds),
                name=f"transition_{k + 1}",
                **self.shared_options(),
            )
            for k in range(self.transitions)
        ]

    def build(self, input_size: int | None, context_size: int | None = None) -> None:
        """Create the weights of every unit; input (None: no input) and context are those of the
        first.
        """
        first, *others = self.units
        first.build(() if input_size is None else input_size, context_size)
        for unit in others:
            unit.build(())
        self.output_size = self.hidden_size
        self.built = True

    def inputs(self, values: tf.Tensor) -> tf.Tensor:
        """See :meth:`RecurrentUnit.inputs`; of the first unit."""
        return self.units[0].inputs(values)

    def constant_inputs(self) -> tf.Tensor:
        """See :meth:`RecurrentUnit.constant_inputs`; of the first unit."""
        return self.units[0].constant_inputs()

    def context_term(self, context: tf.Tensor) -> tf.Tensor:
        """See :meth:`RecurrentUnit.context_term`; of the first unit."""
        return self.units[0].context_term(context)

    def initial_state(self, output: tf.Tensor) -> State:
        """See :meth:`RecurrentUnit.initial_state`."""
        return self.units[0].initial_state(output)

    def advance(self, inputs: tf.Tensor, state: State) -> State:
        """The state after all units, for the inputs [..., 3n or 4n] of the first."""
        for unit in self.units:
            state = unit.advance(inputs if unit is self.units[0] else unit.constant_inputs(), state)
        return state

    def read(
        self,
        values: tf.Tensor,
        state: State,
        mask: tf.Tensor | None = None,
        backward: bool = False,
        training: bool = False,
    ) -> State:
        """The states after every word; see :meth:`RecurrentUnit.read`. `training` has no effect:
        cuDNN has no kernel for several units a word.
        """
        turn = (lambda x: tf.reverse(x, [1])) if backward else tf.identity
        states = scan(
            self.advance, self.inputs(turn(values)), state, None if mask is None else turn(mask)
        )
        return tf.nest.map_structure(turn, states)

    def blocks(self, prefix: str = "") -> dict[str, Block]:
        """The weights of every unit; those of the second have the prefix ``2.`` and so on."""
        blocks: dict[str, Block] = {}
        for k, unit in enumerate(self.units, start=1):
            blocks |= unit.blocks(prefix if k == 1 else f"{prefix}{k}.")
        return blocks
