"""What a request must have before it reaches the graph, in tensorflow_model_server's words."""

from __future__ import annotations

from typing import Any

import grpc
import numpy as np
import tensorflow as tf

from rnnsearch_tf.extras.server import tensors
from rnnsearch_tf.extras.server.errors import ServingError, invalid_argument

DEFAULT_SIGNATURE = "serving_default"


def find_signature(signatures: Any, name: str) -> tuple[str, Any]:
    """(name, SignatureDef); no name: serving_default."""
    name = name or DEFAULT_SIGNATURE
    if name not in signatures:
        raise ServingError(
            grpc.StatusCode.FAILED_PRECONDITION, f'Serving signature key "{name}" not found.'
        )
    return name, signatures[name]


def rows(inputs: Any) -> int:
    """Rows of a request: the largest dimension 0 of its TensorProtos, read from their shapes."""
    shapes = [tensor.tensor_shape.dim for tensor in inputs.values()]
    return max([1, *(shape[0].size for shape in shapes if shape)])


def to_arrays(signature: Any, inputs: Any) -> dict[str, np.ndarray]:
    """The array of every input of the signature, in its type.

    Args:
        signature: SignatureDef.
        inputs: dict of TensorProto or np.ndarray by name.

    Raises:
        ServingError: INVALID_ARGUMENT: missing, unknown, malformed or of another type.
    """
    _check_names(signature, inputs)
    given = {
        name: inputs[name] if name in inputs else signature.defaults[name]
        for name in sorted(signature.inputs)
    }
    arrays = {
        name: value if isinstance(value, np.ndarray) else tensors.to_array(name, value)
        for name, value in given.items()
    }
    for position, (name, array) in enumerate(arrays.items()):
        _check_dtype(position, signature.inputs[name].dtype, array)
    return arrays


def output_names(signature: Any, wanted: list[str]) -> tuple[str, ...]:
    """The outputs asked for; none: all of them."""
    for position, name in enumerate(wanted):
        if name not in signature.outputs:
            raise invalid_argument(
                f"output tensor alias not found in signature: {name} Outputs expected to be in the"
                f" set {_set(signature.outputs)}."
            )
        if name in wanted[:position]:
            raise invalid_argument(f"duplicate output tensor alias: {name}")
    return tuple(wanted) or tuple(sorted(signature.outputs))


def _check_names(signature, inputs):
    sent = set(inputs)
    expected = set(signature.inputs)
    if len(sent) > len(expected) or (len(sent) < len(expected) and not signature.defaults):
        raise invalid_argument(
            f"input size does not match signature: {len(sent)}!={len(expected)} len({_set(sent)})"
            f" != len({_set(expected)}). Sent extra: {_set(sent - expected)}. Missing but required:"
            f" {_set(expected - sent)}."
        )
    for name in sorted(expected - sent - set(signature.defaults)):
        raise invalid_argument(
            f"Signature input alias: {name}(feed name: {signature.inputs[name].name}) not found in"
            " request and no default value provided. Inputs expected to be in the request"
            f" {_set(sent)}, or default input alias set: {','.join(sorted(signature.defaults))}"
        )
    if sent - expected:
        raise invalid_argument(
            "Inputs contains invalid name. Used request inputs:"
            f" {','.join(sorted(sent & expected))}, request input: {','.join(sorted(sent))}"
        )


def _check_dtype(position, expected, array):
    try:
        given = tf.as_dtype(array.dtype if array.dtype.kind not in "OSU" else np.bytes_)
    except TypeError:
        raise invalid_argument(
            f"Expects arg[{position}] to be {tf.as_dtype(expected).name} but {array.dtype} is"
            " provided"
        ) from None
    if given != tf.as_dtype(expected):
        raise invalid_argument(
            f"Expects arg[{position}] to be {_name(expected)} but {_name(given)} is provided"
        )


def _name(dtype) -> str:
    """A type as TensorFlow's C++ writes it: float, double."""
    name = tf.as_dtype(dtype).name
    return {"float32": "float", "float64": "double"}.get(name, name)


def _set(names) -> str:
    return "{" + ",".join(sorted(names)) + "}"
