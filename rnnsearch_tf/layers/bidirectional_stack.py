"""A stack of recurrent layers that reads the source in both directions.

    layers    layer k reads the outputs of both directions of layer k − 1:
              →h^k_j = H([→h^{k−1}_j ; ←h^{k−1}_j], →h^k_{j−1}), ←h^k_j likewise (PyTorch)
    stacks    one stack of each direction: →h^k_j = H(→h^{k−1}_j, →h^k_{j−1})
              (tensorflow/nmt, OpenNMT-tf)

The annotations are h_j = [→h^L_j ; ←h^L_j].
"""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.base import Block, PaperLayer, State
from rnnsearch_tf.layers.dropout import dropout
from rnnsearch_tf.layers.encoder import DIRECTIONS
from rnnsearch_tf.layers.initializers import seed_stream
from rnnsearch_tf.layers.recurrent_stack import LayerStates
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class BidirectionalStack(PaperLayer):
    """Annotations and last states of a source sentence.

    Args:
        layers: L, number of layers.
        hidden_size: units of each direction of each layer.
        encoder_directions: ``layers`` or ``stacks``.
        residual: add the input of a layer to its output, from the layer ``first_residual`` on.
        dropout: rate of dropout between the layers in training.
        unit, layer_normalization, peepholes, forget_bias: options of every unit, see
            :class:`RecurrentUnit`.
        first_residual: number of the first residual layer, at least 2.

    Call arguments:
        values: float [B, J, m]: source words.
        mask: bool [B, J], True at real positions; elsewhere the states do not change.
        training: whether dropout is active and a gradient is needed.

    Returns:
        (annotations float [B, J, 2n], the states of every layer after its last word: a tuple of
        dictionaries of float [B, 2n], the forward half first).
    """

    layers: int
    hidden_size: int
    encoder_directions: str = "layers"
    residual: bool = False
    dropout: float = 0.0
    unit: str = "gru"
    layer_normalization: bool = False
    peepholes: bool = False
    forget_bias: float = 0.0
    first_residual: int = 2

    limits = PaperLayer.limits | {"encoder_directions": {"choices": ("layers", "stacks")}}

    def __post_init__(self) -> None:
        seeds = seed_stream(self.weight_seed)
        self.units = [
            [
                RecurrentUnit(
                    self.hidden_size,
                    self.unit,
                    self.layer_normalization,
                    self.peepholes,
                    self.forget_bias,
                    seed=next(seeds),
                    name=f"layer_{k + 1}_{direction}",
                    **self.shared_options(),
                )
                for direction in DIRECTIONS
            ]
            for k in range(self.layers)
        ]
        self.drop = dropout(self.dropout, seed=next(seeds), dtype=self.variable_dtype)

    def build(self, input_size: int) -> None:
        below = (2 if self.encoder_directions == "layers" else 1) * self.hidden_size
        for k, units in enumerate(self.units):
            for unit in units:
                unit.build(below if k else input_size)
        self.output_size = 2 * self.hidden_size
        self.built = True

    def call(
        self, values: tf.Tensor, mask: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, LayerStates]:
        zeros = tf.zeros([tf.shape(values)[0], self.hidden_size], values.dtype)
        below = [values, values]
        last = []
        for k, units in enumerate(self.units):
            states = [
                unit.read(
                    self.drop(entering, training=training) if k else entering,
                    unit.initial_state(zeros),
                    mask,
                    backward=direction == "backward",
                    training=training,
                )
                for unit, entering, direction in zip(units, below, DIRECTIONS)
            ]
            last.append(_last(*states))
            outputs = [state["state"] for state in states]
            if self.encoder_directions == "layers":
                outputs = [tf.concat(outputs, axis=-1)] * 2
            if self.residual and k + 1 >= self.first_residual:
                outputs = [output + entering for output, entering in zip(outputs, below)]
            below = outputs
        both = below[0] if self.encoder_directions == "layers" else tf.concat(below, axis=-1)
        return both, tuple(last)

    def blocks(self, prefix: str = "") -> dict[str, Block]:
        """The weights of every unit, prefixed with ``prefix``, the layer's number from 1 and the
        direction.
        """
        return {
            name: block
            for k, units in enumerate(self.units, start=1)
            for unit, direction in zip(units, DIRECTIONS)
            for name, block in unit.blocks(f"{prefix}{k}.{direction}.").items()
        }


def _last(forward: State, backward: State) -> State:
    """The states [B, 2n] after the last word that each direction reads."""
    return {name: tf.concat([forward[name][:, -1], backward[name][:, 0]], -1) for name in forward}
