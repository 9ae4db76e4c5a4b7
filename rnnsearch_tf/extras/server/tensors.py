"""TensorProto ↔ np.ndarray, with the typed fields that clients of tensorflow_model_server read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import tensorflow as tf
from tensorflow.core.framework import types_pb2
from tensorflow.core.framework.tensor_pb2 import TensorProto

from rnnsearch_tf.extras.server.errors import invalid_argument

DIMENSIONS = 32
"""Most dimensions of a tensor."""

MOST_FILLED_BYTES = 64 << 20
"""Limit on a tensor whose shape is filled by repeating one value, so that a small message cannot
allocate much memory.
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


def to_array(name: str, tensor: Any) -> np.ndarray:
    """The array of a TensorProto; strings come as bytes in an object array.

    Args:
        name: the input's name, for the error.
        tensor: TensorProto; it loses values that are more than its shape has.

    Raises:
        ServingError: INVALID_ARGUMENT, no such tensor can be.
    """
    rank = len(tensor.tensor_shape.dim)
    if rank > DIMENSIONS:
        raise invalid_argument(f"{name}: expected at most {DIMENSIONS} dimensions, got {rank}")
    try:
        _check(tensor)
        return tf.make_ndarray(tensor)
    except (TypeError, ValueError, KeyError, IndexError, OverflowError):
        raise invalid_argument(f"tensor parsing error: {name}") from None


def as_array(value: Any) -> np.ndarray:
    """What TensorFlow gives out, as an array; a lone string keeps the zero bytes at its end."""
    return np.array(value, object) if isinstance(value, bytes) else np.asarray(value)


def _check(tensor: Any) -> None:
    sizes = [dimension.size for dimension in tensor.tensor_shape.dim]
    if tensor.tensor_shape.unknown_rank or any(size < 0 for size in sizes):
        raise ValueError("a shape that is not known")
    dtype = tf.dtypes.as_dtype(tensor.dtype)
    # a graph may multiply what stands beside a 0
    elements = math.prod(max(size, 1) for size in sizes)
    if dtype == tf.string:
        filled = max(elements - len(tensor.string_val), 0)
        last = tensor.string_val[-1] if tensor.string_val else b""
        too_large = STRING_BYTES * elements + filled * len(last) > MOST_FILLED_BYTES
    else:
        too_large = (
            elements * (dtype.size or 1) > MOST_FILLED_BYTES and tensor.ByteSize() < elements
        )
    if too_large:
        raise ValueError("too large")
    _cut(tensor, math.prod(sizes))


def _cut(tensor: Any, elements: int) -> None:
    """Leave out values that are more than the shape has, as TensorFlow's C++ does."""
    for field, values in tensor.ListFields():
        if field.name.endswith("_val") and not field.name.endswith("complex_val"):
            del values[elements:]
    if tensor.dtype == types_pb2.DT_STRING and not tensor.string_val and elements:
        tensor.string_val.append(b"")  # which fills the shape


def to_proto(array: np.ndarray) -> TensorProto:
    """The TensorProto of an array, its values in the typed field."""
    array = np.asarray(array)
    shape = tf.TensorShape(array.shape).as_proto()
    if array.dtype.kind in "OSU":
        values = array.astype(object).reshape(-1).tolist()
        strings = (value if isinstance(value, bytes) else str(value).encode() for value in values)
        return TensorProto(dtype=types_pb2.DT_STRING, tensor_shape=shape, string_val=strings)
    if array.dtype not in _FIELDS:
        return tf.make_tensor_proto(array)  # complex and quantized numbers
    numbers = array.reshape(-1)
    if _FIELDS[array.dtype] == "half_val":
        numbers = numbers.view(np.uint16)
    fields = {_FIELDS[array.dtype]: numbers.tolist()}
    dtype = tf.as_dtype(array.dtype).as_datatype_enum
    return TensorProto(dtype=dtype, tensor_shape=shape, **fields)
