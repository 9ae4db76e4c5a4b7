"""TensorProto ↔ np.ndarray."""

from __future__ import annotations

import math
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

MOST_ENTRIES = 1 << 20
"""A TensorProto may claim any shape for a single value, which is then repeated."""


def to_array(proto: Any) -> np.ndarray:
    """The array of a TensorProto.

    Raises:
        ValueError: it is malformed, or claims more than MOST_ENTRIES.
    """
    sizes = [dim.size for dim in proto.tensor_shape.dim]
    if min(sizes, default=0) < 0 or math.prod(sizes) > MOST_ENTRIES:
        raise ValueError(f"expected a shape with at most {MOST_ENTRIES:,} entries, got {sizes}")
    try:
        return tf.make_ndarray(proto)
    except (TypeError, KeyError) as error:
        raise ValueError(str(error)) from None


def to_proto(array: np.ndarray) -> Any:
    """The TensorProto of an array, its values in the typed field, which clients of
    tensorflow_model_server read.
    """
    dtype = tf.as_dtype(array.dtype)
    if dtype not in FIELDS:
        return tf.make_tensor_proto(array)
    proto = tf.make_tensor_proto([], dtype, [0])
    proto.ClearField("tensor_content")
    proto.tensor_shape.CopyFrom(tf.TensorShape(array.shape).as_proto())
    getattr(proto, FIELDS[dtype]).extend(array.reshape(-1).tolist())
    return proto
