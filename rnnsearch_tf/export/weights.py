"""The weights of an exported model: each stored once, in full or in fewer bits, read once a request.

int8: every column of a matrix has its own scale, w ≈ scale · q with q in −127 … 127.
"""

import numpy as np
import tensorflow as tf

from rnnsearch_tf.backend import keras

SMALLEST = 4096
"""Entries; smaller arrays (biases, v_a) are kept in float32: nothing is gained and digits are lost."""


class StoredWeights(tf.Module):
    """Copies of Keras variables as plain TensorFlow variables, which every loader understands.

    (A module that holds Keras 3 layers loads in Python and fails in the server.)

    Args:
        variables: list of Keras variables, float32.
        storage: ``float32``, ``float16``, ``bfloat16`` or ``int8``.
    """

    def __init__(self, variables, storage="float32"):
        super().__init__(name="weights")
        self.stored = [_store(variable, storage) for variable in variables]  # (value, scale or None) each
        self._ids = [id(variable) for variable in variables]

    def tensors(self):
        """{id(Keras variable): float32 tensor}, for :func:`~rnnsearch_tf.layers.base.substitute_weights`."""
        return {key: _widen(*stored) for key, stored in zip(self._ids, self.stored)}

    @property
    def size(self) -> int:
        """Bytes of all stored values."""
        variables = [variable for pair in self.stored for variable in pair if variable is not None]
        return sum(variable.shape.num_elements() * variable.dtype.size for variable in variables)


def _store(variable, storage):
    array = keras.ops.convert_to_numpy(variable)
    name = variable.path.replace("/", ".")
    small = array.size < SMALLEST or array.ndim < 2
    if storage == "float32" or small:
        return tf.Variable(array, trainable=False, name=name), None
    if storage == "int8":
        scale = np.maximum(np.abs(array).max(axis=0, keepdims=True), np.finfo(np.float32).tiny * 127) / 127
        values = np.rint(array / scale).astype(np.int8)
        return tf.Variable(values, trainable=False, name=name), tf.Variable(scale, trainable=False, name=f"{name}.scale")
    return tf.Variable(tf.cast(array, storage), trainable=False, name=name), None


def _widen(value, scale):
    widened = tf.cast(value, tf.float32)
    return widened if scale is None else widened * scale
