"""TensorProto ↔ np.ndarray, with the typed fields that clients of tensorflow_model_server read."""

from __future__ import annotations

import math

import numpy as np
import tensorflow as tf

from rnnsearch_tf.extras.server import limits
from rnnsearch_tf.extras.server.errors import invalid_argument

MOST_FILLED_BYTES = 64 << 20
"""A tensor may give one value for all of its shape; beyond this size a few bytes are not taken to
mean so much memory.
"""

STRING_BYTES = 100
"""What a string takes beside its characters, in TensorFlow and in Python."""

_FIELDS: dict[np.dtype, str] = {
    np.dtype(np.float32): "float_val",
    np.dtype(np.float64): "double_val",
    np.dtype(np.int64): "int64_val",
    np.dtype(np.uint64): "uint64_val",
    np.dtype(np.uint32): "uint32_val",
    np.dtype(np.bool_): "bool_val",
    **{np.dtype(kind): "int_val" for kind in (np.int32, np.int16, np.int8, np.uint16, np.uint8)},
    **{np.dtype(kind): "half_val" for kind in (np.float16, tf.bfloat16.as_numpy_dtype)},
}


def to_array(name, tensor) -> np.ndarray:
    """The array of a TensorProto, read by TensorFlow's own parser; strings come as bytes in an
    object array.

    Args:
        name: the input's name, for the error.
        tensor: TensorProto; fewer values than its shape has: the last one fills the rest.

    Raises:
        ServingError: INVALID_ARGUMENT, no such tensor can be.
    """
    rank = len(tensor.tensor_shape.dim)
    if rank > limits.DIMENSIONS:
        raise invalid_argument(
            f"{name}: expected at most {limits.DIMENSIONS} dimensions, got {rank}"
        )
    try:
        _check(tensor)
        return as_array(tf.io.parse_tensor(tensor.SerializeToString(), tensor.dtype).numpy())
    except (TypeError, ValueError, KeyError, tf.errors.OpError):
        raise invalid_argument(f"tensor parsing error: {name}") from None


def as_array(value) -> np.ndarray:
    """What TensorFlow gives out, as an array; a lone string keeps the zero bytes at its end."""
    return np.array(value, object) if isinstance(value, bytes) else np.asarray(value)


def _check(tensor):
    sizes = [dimension.size for dimension in tensor.tensor_shape.dim]
    if tensor.tensor_shape.unknown_rank or any(size < 0 for size in sizes):
        raise ValueError("a shape that is not known")
    dtype = tf.dtypes.as_dtype(tensor.dtype)
    if dtype in (tf.variant, tf.resource) or dtype._is_ref_dtype:
        raise TypeError("no data")
    # a graph may multiply what stands beside a 0
    _check_size(tensor, dtype, math.prod(max(size, 1) for size in sizes))


def _check_size(tensor, dtype, elements):
    if dtype == tf.string:
        filled = max(elements - len(tensor.string_val), 0)
        needed = STRING_BYTES * elements + filled * (
            len(tensor.string_val[-1]) if tensor.string_val else 0
        )
        too_large = needed > MOST_FILLED_BYTES
    else:
        too_large = (
            elements * max(dtype.size or 1, 1) > MOST_FILLED_BYTES and tensor.ByteSize() < elements
        )
    if too_large:
        raise ValueError("too large")


def to_proto(array):
    """The TensorProto of an array, its values in the typed field."""
    array = np.asarray(array)
    if array.dtype not in _FIELDS:
        if array.dtype.kind in "OSU":
            return _strings(array)
        return tf.make_tensor_proto(array)  # complex and quantized numbers
    proto = tf.make_tensor_proto(np.zeros(0, array.dtype), shape=[0])
    _set_shape(proto, array.shape)
    values = array.reshape(-1)
    if _FIELDS[array.dtype] == "half_val":
        values = values.view(np.uint16)
    getattr(proto, _FIELDS[array.dtype]).extend(values.tolist())
    return proto


def _strings(array):
    proto = tf.make_tensor_proto([], dtype=tf.string)
    _set_shape(proto, array.shape)
    proto.string_val.extend(
        value if isinstance(value, bytes) else str(value).encode() for value in array.reshape(-1)
    )
    return proto


def _set_shape(proto, shape):
    del proto.tensor_shape.dim[:]
    for size in shape:
        proto.tensor_shape.dim.add(size=size)
