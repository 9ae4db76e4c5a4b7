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
    tf.int32: "int_val",
    tf.int64: "int64_val",
}
"""Of the types that an export has."""

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
    proto = tf.make_tensor_proto(array)
    if field := FIELDS.get(tf.as_dtype(array.dtype)):
        proto.ClearField("tensor_content")
        proto.ClearField(field)  # which has one value for many equal ones
        getattr(proto, field).extend(array.reshape(-1).tolist())
    return proto
