"""No attention: the context is the last forward state (RNNencdec, Bahdanau et al. 2015, §4.2)."""

from __future__ import annotations

from typing import NamedTuple

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.layers.base import Shape, State


class ContextMemory(NamedTuple):
    """The source sentence as one vector.

    Attributes:
        values: float [B, n]: the last annotation, →h_{T_x}, or a linear function of it.
        mask: bool [B, J], True at real positions.
    """

    values: tf.Tensor
    mask: tf.Tensor


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class FixedContext(keras.layers.Layer):
    """c_i = →h_{T_x} for every i. It replaces an attention; its alignments are zero and it has no
    weights.
    """

    def build(self, state_shape: Shape, annotations_shape: Shape) -> None:
        self.built = True

    def memory(self, annotations: tf.Tensor, mask: tf.Tensor) -> ContextMemory:
        """ContextMemory of the forward states [B, J, n]; the state does not change at padding on
        the right, so the last one is →h_{T_x}.
        """
        return ContextMemory(annotations[:, -1], mask)

    def initial_state(self, memory: ContextMemory) -> State:
        return {}

    def attend(self, query: tf.Tensor, memory: ContextMemory) -> tuple[tf.Tensor, tf.Tensor, State]:
        """(c_i [B, K, n], zeros [B, K, J], {})."""
        shape = tf.shape(query)[:2]
        context = tf.repeat(memory.values[:, tf.newaxis], shape[1], axis=1)
        alignment = tf.zeros(tf.concat([shape, tf.shape(memory.mask)[1:]], axis=0), query.dtype)
        return context, alignment, {}
