"""Weights of an exported model: each is stored once, in float32 or a smaller type, and read once a
request.
"""

from __future__ import annotations

from collections.abc import Sequence

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runs.eight_bit import is_small, quantize


class StoredWeights(tf.Module):
    """Copies of Keras variables as TensorFlow variables, which every loader supports.

    (A module with Keras 3 layers loads in Python, but not in the server.)

    Args:
        variables: list of Keras variables, float32.
        storage: ``float32``, ``float16``, ``bfloat16`` or ``int8``.
    """

    def __init__(self, variables: Sequence[keras.Variable], storage: str = "float32") -> None:
        super().__init__(name="weights")
        # of each variable (value, scale or None)
        self.stored = [_store(variable, storage) for variable in variables]

    def tensors(self) -> list[tf.Tensor]:
        """float32 tensors in the order of the variables, for
        :func:`~rnnsearch_tf.search.graphs.hoist_weights`.
        """
        return [_widen(*stored) for stored in self.stored]

    @property
    def size(self) -> int:
        """Bytes of all stored values."""
        variables = [variable for pair in self.stored for variable in pair if variable is not None]
        return sum(variable.shape.num_elements() * variable.dtype.size for variable in variables)


def _store(variable: keras.Variable, storage: str) -> tuple[tf.Variable, tf.Variable | None]:
    array = keras.ops.convert_to_numpy(variable)
    name = variable.path.replace("/", ".")
    if storage == "float32" or is_small(array):
        return tf.Variable(array, trainable=False, name=name), None
    if storage == "int8":
        values, scale = quantize(array)
        return tf.Variable(values, trainable=False, name=name), tf.Variable(
            scale, trainable=False, name=f"{name}.scale"
        )
    return tf.Variable(tf.cast(array, storage), trainable=False, name=name), None


def _widen(value: tf.Variable, scale: tf.Variable | None) -> tf.Tensor:
    widened = tf.cast(value, tf.float32)
    return widened if scale is None else widened * scale
