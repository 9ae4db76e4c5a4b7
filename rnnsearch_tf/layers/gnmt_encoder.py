"""The encoder of GNMT (Wu et al. 2016, §3.2): only its first layer reads in both directions.

    h^1_j = [→h^1_j ; ←h^1_j]
    h^k_j = H(h^{k−1}_j, h^k_{j−1}),   k = 2 … L

The annotations are the outputs of layer L. Of the first layer's last states the backward one is
passed on to the decoder (tensorflow/nmt; the paper does not say).
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.base import Block, PaperLayer
from rnnsearch_tf.layers.bidirectional_stack import BidirectionalStack
from rnnsearch_tf.layers.dropout import dropout
from rnnsearch_tf.layers.initializers import seed_stream
from rnnsearch_tf.layers.recurrent_stack import LayerStates, RecurrentStack


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class GNMTEncoder(PaperLayer):
    """Annotations and last states of a source sentence.

    Args:
        layers: L, number of layers, at least 2.
        hidden_size: n, units of each direction of the first layer and of each layer above.
        residual: add the input of a layer to its output, from the layer ``first_residual`` on, but
            not of the second layer, whose input is twice as wide.
        dropout: rate of dropout between the layers in training.
        unit, layer_normalization, peepholes, forget_bias: options of every unit, see
            :class:`RecurrentUnit`.
        first_residual: number of the first residual layer; 2 is read as 3.

    Call arguments:
        values: float [B, J, m]: source words.
        mask: bool [B, J], True at real positions; elsewhere the states do not change.
        training: whether dropout is active and a gradient is needed.

    Returns:
        (annotations float [B, J, n], the states of every layer after its last word: a tuple of
        dictionaries of float [B, n]).
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

    limits = PaperLayer.limits | {"layers": {"minimum": 2}}

    def __post_init__(self) -> None:
        seeds = seed_stream(self.weight_seed)
        units: dict[str, Any] = self.shared_options() | dict(
            unit=self.unit,
            layer_normalization=self.layer_normalization,
            peepholes=self.peepholes,
            forget_bias=self.forget_bias,
        )
        self.first = BidirectionalStack(
            1, self.hidden_size, seed=next(seeds), name="first", **units
        )
        self.upper = RecurrentStack(
            self.layers - 1,
            self.hidden_size,
            residual=self.residual,
            first_residual=max(self.first_residual - 1, 2),  # its layers are counted from 1 too
            dropout=self.dropout,
            seed=next(seeds),
            name="upper",
            **units,
        )
        self.drop = dropout(self.dropout, seed=next(seeds), dtype=self.variable_dtype)

    def build(self, input_size: int) -> None:
        self.first.build(input_size)
        self.upper.build(2 * self.hidden_size)
        self.output_size = self.hidden_size
        self.built = True

    def call(
        self, values: tf.Tensor, mask: tf.Tensor, training: bool = False
    ) -> tuple[tf.Tensor, LayerStates]:
        both, [last] = self.first(values, mask, training=training)  # [B, J, 2n]
        backward = {name: tf.split(value, 2, axis=-1)[1] for name, value in last.items()}
        zeros = self.upper.zero_state(tf.shape(values)[0])
        states = self.upper(self.drop(both, training=training), zeros, mask, training=training)
        upper = tf.nest.map_structure(lambda value: value[:, -1], states)  # it stays at padding
        return self.upper.output(states), (backward, *upper)

    def blocks(self, prefix: str = "") -> dict[str, Block]:
        """The weights of every unit, prefixed with ``prefix``, the layer's number from 1 and, of
        the first layer, the direction.
        """
        return self.first.blocks(prefix) | self.upper.blocks(prefix, first=2)
