"""Weights of an exported model: each is stored once, in float32 or a smaller type, and read once a
request.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from rnnsearch_tf.runs.eight_bit import is_small, quantize
from rnnsearch_tf.runtime.backend import keras


class StoredWeights(tf.Module):
    """Copies of Keras variables as TensorFlow variables, which every loader supports. (A module
    with Keras 3 layers loads in Python, but not in the server.)

    Args:
        variables: list of Keras variables, float32.
        storage: ``float32``, ``float16``, ``bfloat16`` or ``int8``.
    """

    def __init__(self, variables: Sequence[keras.Variable], storage: str = "float32") -> None:
        super().__init__(name="weights")
        # of each variable (value, scale or None)
        self.stored = [_store(variable, storage) for variable in variables]

    def tensors(self) -> list[tf.Tensor]:
        """float32 tensors in the order of the variables."""
        # tf.cast alone would leave a variable of float32 unread, and every step would read it
        read = [(tf.convert_to_tensor(value), scale) for value, scale in self.stored]
        widened = [(tf.cast(value, tf.float32), scale) for value, scale in read]
        return [value if scale is None else value * scale for value, scale in widened]

    @property
    def size(self) -> int:
        """Bytes of all stored values."""
        return sum(variable.numpy().nbytes for variable in self.variables)


def _store(variable: keras.Variable, storage: str) -> tuple[tf.Variable, tf.Variable | None]:
    array: np.ndarray = keras.ops.convert_to_numpy(variable)
    name = variable.path.replace("/", ".")
    scale = None
    if storage == "int8":
        array, scale = quantize(array)
    elif not is_small(array):
        array = tf.cast(array, storage)
    value = tf.Variable(array, trainable=False, name=name)
    if scale is None:
        return value, None
    return value, tf.Variable(scale, trainable=False, name=f"{name}.scale")
