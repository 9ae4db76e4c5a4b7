"""From the last states of the encoder to the first states of the decoder.

With L layers, last states h^k (of an LSTM also cells) of encoder layer k, both directions side by
side, and first states d^k of decoder layer k:

    copy       d^k = h^k
    zero       d^k = 0
    top        d^k = h^L, of two directions the forward half if they are twice as wide; an LSTM's
               cell too (Joey NMT: last)
    tanh       d^k = tanh(W_b h^L + b_b), the same for all layers and for an LSTM's cell (Joey NMT:
               bridge)
    alternate  d^{2k−1} = →h^k, d^{2k} = ←h^k (tensorflow/nmt)
    dense      all d and cells = W_b · all h and cells + b_b (OpenNMT-tf: DenseBridge)
    dense_tanh the same, and its hyperbolic tangent
"""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.base import PaperLayer, State
from rnnsearch_tf.layers.initializers import initializer
from rnnsearch_tf.layers.recurrent_stack import LayerStates


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Bridge(PaperLayer):
    """The first states of a decoder.

    Args:
        bridge: one of the kinds above.
        layers: layers of the decoder.
        hidden_size: n, of each layer of the decoder.

    Call arguments:
        last: the last states of the encoder, a tuple of dictionaries of float [B, h].

    Returns:
        A tuple of ``layers`` dictionaries of float [B, n].
    """

    bridge: str
    layers: int
    hidden_size: int

    def build(self, size: int, names: tuple[str, ...], encoder_layers: int) -> None:
        """Create the weights.

        Args:
            size: h.
            names: names of the states of a unit: ``state`` and, for an LSTM, ``cell``.
            encoder_layers: number of layers of the encoder.
        """
        rows, columns = size, self.hidden_size
        dense = self.bridge in ("dense", "dense_tanh")
        if dense:
            rows = encoder_layers * len(names) * size
            columns = self.layers * len(names) * self.hidden_size
        if dense or self.bridge == "tanh":
            draw = initializer(self.initialization, "other", self.weight_seed)
            self.W_b = self.matrix("W_b", (rows, columns), draw)
            self.b_b = self.vector("b_b", columns) if self.biased else None
        self.output_size = self.hidden_size
        self.built = True

    def call(self, last: LayerStates) -> LayerStates:
        if self.bridge == "copy":
            return last
        if self.bridge == "alternate":
            halves = [
                {name: tf.split(value, 2, axis=-1)[half] for name, value in state.items()}
                for state in last
                for half in (0, 1)
            ]
            return tuple(halves[: self.layers])
        if self.bridge in ("dense", "dense_tanh"):
            return self._dense(last)
        top = last[-1]["state"]
        if self.bridge == "zero":
            first = tf.zeros_like(top[:, :1]) * tf.ones([self.hidden_size], top.dtype)
        elif self.bridge == "top":
            first = top[:, : self.hidden_size]
        else:
            first = tf.tanh(self.matmul(top, self.W_b, self.b_b))
        return tuple({name: first for name in last[-1]} for _ in range(self.layers))

    def _dense(self, last: LayerStates) -> LayerStates:
        names = list(last[-1])
        flat = tf.concat([state[name] for state in last for name in names], axis=-1)
        total = self.matmul(flat, self.W_b, self.b_b)
        total = tf.tanh(total) if self.bridge == "dense_tanh" else total
        parts = tf.split(total, self.layers * len(names), axis=-1)

        def of_layer(k: int) -> State:
            return dict(zip(names, parts[k * len(names) :]))

        return tuple(of_layer(k) for k in range(self.layers))
