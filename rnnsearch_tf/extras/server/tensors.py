"""np.ndarray → TensorProto, with the typed fields that clients of tensorflow_model_server read."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

FIELDS = {
    tf.string: "string_val",
    tf.bool: "bool_val",
    tf.float32: "float_val",
    tf.float64: "double_val",
    tf.int64: "int64_val",
    **dict.fromkeys((tf.int8, tf.int16, tf.int32, tf.uint8, tf.uint16), "int_val"),
}


def to_proto(array: np.ndarray) -> Any:
    """The TensorProto of an array, its values in the typed field."""
    dtype = tf.as_dtype(array.dtype)
    if dtype not in FIELDS:
        return tf.make_tensor_proto(array)
    proto = tf.make_tensor_proto([], dtype, [0])
    proto.ClearField("tensor_content")
    proto.tensor_shape.CopyFrom(tf.TensorShape(array.shape).as_proto())
    getattr(proto, FIELDS[dtype]).extend(array.reshape(-1).tolist())
    return proto
