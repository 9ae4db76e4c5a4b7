"""JSON of the REST interface to tensors and back, with tensorflow_model_server's rules and
messages.

Row form: ``{"instances": [row, …]}`` → ``{"predictions": [row, …]}``; columnar
form: ``{"inputs": …}`` → ``{"outputs": …}``. A row or column is the bare value
where a signature has one input or output, an object by name where it has several.
Bytes are ``{"b64": "…"}``: any string input may be, outputs named ``…_bytes`` are.
NaN, Infinity and -Infinity are accepted and written unquoted.
"""

from __future__ import annotations

import base64
import json
import math
import re
from collections.abc import Mapping
from typing import Any

import grpc
import numpy as np
from tensorflow.core.framework import types_pb2

from rnnsearch_tf.extras.server.errors import ServingError, invalid_argument
from rnnsearch_tf.extras.server.json_bytes import encode
from rnnsearch_tf.extras.server.tensors import DIMENSIONS

INTEGERS = {
    types_pb2.DT_INT8: np.int8,
    types_pb2.DT_UINT8: np.uint8,
    types_pb2.DT_INT16: np.int16,
    types_pb2.DT_UINT16: np.uint16,
    types_pb2.DT_INT32: np.int32,
    types_pb2.DT_UINT32: np.uint32,
    types_pb2.DT_INT64: np.int64,
    types_pb2.DT_UINT64: np.uint64,
}
FLOATS = {types_pb2.DT_FLOAT: np.float32, types_pb2.DT_DOUBLE: np.float64}
SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
JSON_VALUES = 500_000
"""Most values of a body; each may need a hundred times its bytes in memory."""

ROW = "predictions"
COLUMNAR = "outputs"
"""The forms of an answer, each the key that its results stand under."""


def parse(body: bytes, most_values: int = JSON_VALUES) -> dict[str, Any]:
    """The JSON object of a request's body; bytes that are not UTF-8 reach the model as they are. Of
    a key that comes twice the last value counts.

    Raises:
        ServingError: INVALID_ARGUMENT, not JSON, not an object, or of too many values; the message
            has the offset.
    """
    if not body:
        raise invalid_argument("JSON Parse error: The document is empty")
    # there cannot be more values than these marks, those within strings among them
    values = sum(body.count(mark) for mark in (b",", b"[", b"{"))
    if values > most_values:
        raise invalid_argument(
            f"JSON Parse error: expected at most {most_values} values (commas and opening"
            f" brackets), got {values}; send fewer at once"
        )
    try:
        text, errors = body.decode(), "strict"
    except UnicodeDecodeError:
        text, errors = body.decode("utf-8", "surrogateescape"), "surrogateescape"
    try:
        document = json.loads(text, parse_float=_finite)
        if SURROGATE.search(body):
            json.dumps(document, ensure_ascii=False).encode("utf-8", errors)
    except UnicodeEncodeError:
        raise invalid_argument(
            "JSON Parse error: The surrogate pair in string is invalid."
        ) from None
    except json.JSONDecodeError as error:
        raise invalid_argument(f"JSON Parse error: {error.msg} at offset: {error.pos}") from None
    except ValueError as error:  # a number that is too long
        raise invalid_argument(f"JSON Parse error: {error}") from None
    except RecursionError:
        raise invalid_argument("JSON Parse error: lists or objects are nested too deep") from None
    if not isinstance(document, dict):
        raise invalid_argument(f"JSON Value: {_text(document)} Is not object")
    return document


def signature_name(document: Mapping[str, Any]) -> str:
    """The signature that a request names, or the empty string."""
    name = document.get("signature_name", "")
    if not isinstance(name, str):
        raise invalid_argument(
            f"JSON Value: {_text(document)} not formatted correctly. 'signature_name' key must be a"
            " string value."
        )
    return name.encode("utf-8", "replace").decode()


def row_count(document: Mapping[str, Any]) -> int:
    """Rows of a request before it is turned into tensors: the longest list where they may stand."""
    values = document.get("instances", document.get("inputs"))
    columns = values.values() if isinstance(values, dict) else [values]
    return max((len(column) for column in columns if isinstance(column, list)), default=1)


def to_inputs(
    document: Mapping[str, Any], infos: Mapping[str, Any]
) -> tuple[dict[str, np.ndarray], str]:
    """The input tensors of a request.

    Args:
        document: the parsed request.
        infos: mapping of input name to TensorInfo, of the signature.

    Returns:
        (dict of np.ndarray by input name, strings as bytes objects; the form of the answer: ROW or
        COLUMNAR).

    Raises:
        ServingError: INVALID_ARGUMENT, or UNIMPLEMENTED for a dtype that JSON cannot hold.

    Example:
        >>> from tensorflow.core.protobuf.meta_graph_pb2 import TensorInfo
        >>> to_inputs({"instances": [1, 2.5]}, {"x": TensorInfo(dtype=types_pb2.DT_FLOAT)})
        ({'x': array([1. , 2.5], dtype=float32)}, 'predictions')
    """
    if "instances" in document and "inputs" in document:
        raise invalid_argument(
            f"JSON Value: {_text(document)} Not formatted correctly expecting only one of 'inputs'"
            " or 'instances' keys to exist"
        )
    if not infos:
        raise invalid_argument(
            f"Failed to get input map for signature: {signature_name(document) or 'DEFAULT'}"
        )
    # a protocol buffer's map raises when it is asked for a name that is no UTF-8
    infos = dict(infos)
    if "instances" in document:
        return _rows(document, infos), ROW
    if "inputs" in document:
        return _columns(document["inputs"], infos), COLUMNAR
    raise invalid_argument("Missing 'inputs' or 'instances' key")


def to_body(outputs: Mapping[str, np.ndarray], form: str) -> bytes:
    """The body of an answer.

    Args:
        outputs: dict of np.ndarray by output name.
        form: ROW or COLUMNAR, as the request was.

    Raises:
        ServingError: INVALID_ARGUMENT, outputs that cannot be told apart in rows, or of a dtype
            JSON cannot hold.

    Example:
        >>> to_body({"y": np.float32([0.1, np.nan])}, ROW)
        b'{"predictions": [0.1, NaN]}'
    """
    if form == ROW:
        _check_batch_sizes(outputs)
    values = {name: _to_json(name, tensor) for name, tensor in outputs.items()}
    if len(values) == 1:
        (result,) = values.values()
    elif form == ROW:
        result = [dict(zip(values, row)) for row in zip(*values.values())]
    else:
        result = values
    return encode({form: result})


def _rows(document, infos):
    rows = document["instances"]
    if not isinstance(rows, list):
        raise invalid_argument(
            f"JSON Value: {_text(document)} Excepting 'instances' to be an list/array"
        )
    if not rows:
        raise invalid_argument(f"JSON Value: {_text(document)} No values in 'instances' array")
    named = _is_object(rows[0])
    if not named and len(infos) > 1:
        raise invalid_argument(
            "instances is a plain list, but expecting list of objects as multiple input tensors"
            " required as per tensorinfo_map"
        )
    tensors = {name: [] for name in infos}
    for number, row in enumerate(rows):
        _check_row(number, row, named, infos)
        for name in infos:
            where = f"element: {number}{f' key: {name}' if named else ''}"
            try:
                tensor = _to_tensor(row[name] if named else row, infos[name].dtype, DIMENSIONS - 1)
                _check_shape(tensor, tensors[name])
            except ServingError as error:
                raise invalid_argument(
                    f"Failed to process {where} of 'instances' list. Error: {error}"
                ) from None
            tensors[name].append(tensor)
    return {name: np.stack(parts) for name, parts in tensors.items()}


def _check_row(number, row, named, infos):
    if named != _is_object(row):
        kinds = "object but got list" if named else "value/list but got object"
        raise invalid_argument(f"Expecting {kinds} at item {number} of input list")
    if not named:
        return
    for name in row:
        if name not in infos:
            raise invalid_argument(
                f"Failed to process element: {number} key: {name} of 'instances' list. "
                f"Error: INVALID_ARGUMENT: JSON object: does not have named input: {name}"
            )
    if set(row) != set(infos):
        raise invalid_argument(
            f"Failed to process element: {number} of 'instances' list. "
            f"JSON object: {_text(row)} keys must be equal to: {','.join(sorted(infos))}"
        )


def _check_shape(tensor, earlier):
    if earlier and tensor.size != earlier[0].size:
        raise invalid_argument(f"Expecting tensor size: {earlier[0].size} but got: {tensor.size}")
    if earlier and tensor.shape != earlier[0].shape:
        raise invalid_argument(
            f"Expecting shape {_shape_text(earlier[0])} but got: {_shape_text(tensor)}"
        )


def _columns(value, infos):
    if not _is_object(value):
        if len(infos) > 1:
            raise invalid_argument(
                "inputs is a plain value/list, but expecting an object as multiple input tensors"
                " required as per tensorinfo_map"
            )
        value = dict.fromkeys(infos, value)
    for name in infos:
        if name not in value:
            raise invalid_argument(f"Missing named input: {name} in 'inputs' object.")
    return {name: _to_tensor(value[name], info.dtype) for name, info in infos.items()}


def _to_tensor(value, dtype, most_dimensions=DIMENSIONS):
    """A JSON value as an array of the dtype; the first element at each depth says how long lists
    there are.
    """
    shape = []
    first = value
    while isinstance(first, list):
        shape.append(len(first))
        first = first[0] if first else None
    if len(shape) > most_dimensions:
        raise invalid_argument(
            f"Encountered list at unexpected level: {len(shape) - 1} expected < {most_dimensions}"
        )
    leaves = []
    _collect(value, shape, 0, leaves)
    return _leaves_to_array(leaves, dtype).reshape(shape)


def _collect(value, shape, level, leaves):
    if not isinstance(value, list):
        if level != len(shape):
            raise invalid_argument(
                f"JSON Value: {_text(value)} found at incorrect level: {level + 1} in the JSON DOM."
                f" Expected at level: {len(shape)}"
            )
        leaves.append(value)
        return
    if level >= len(shape):
        raise invalid_argument(
            f"Encountered list at unexpected level: {level} expected < {len(shape)}"
        )
    if len(value) != shape[level]:
        raise invalid_argument(
            f"Encountered list at unexpected size: {len(value)} at level: {level} expected size:"
            f" {shape[level]}"
        )
    for item in value:
        _collect(item, shape, level + 1, leaves)


def _leaves_to_array(leaves, dtype):
    if dtype == types_pb2.DT_STRING:
        return _objects([_to_bytes(leaf) for leaf in leaves])
    if dtype == types_pb2.DT_BOOL:
        _check_leaves(leaves, dtype, lambda leaf: isinstance(leaf, bool))
        return np.array(leaves, bool)
    if dtype in INTEGERS:
        limits = np.iinfo(INTEGERS[dtype])
        _check_leaves(
            leaves, dtype, lambda leaf: type(leaf) is int and limits.min <= leaf <= limits.max
        )
        return np.array(leaves, INTEGERS[dtype])
    if dtype in FLOATS:
        _check_leaves(leaves, dtype, lambda leaf: type(leaf) in (int, float))
        _check_decimals(leaves, dtype)
        return np.array(leaves, FLOATS[dtype])
    raise ServingError(
        grpc.StatusCode.UNIMPLEMENTED,
        f"Conversion of JSON Value: {_text(leaves[0] if leaves else [])} to type: {_name(dtype)}",
    )


def _check_leaves(leaves, dtype, fits):
    for leaf in leaves:
        if not fits(leaf):
            raise _type_error(leaf, dtype)


def _check_decimals(leaves, dtype):
    """Whole numbers must be exact in the float type, others within its range."""
    information = np.finfo(FLOATS[dtype])
    largest_whole = 2 ** (information.nmant + 1) - 1
    largest = float(information.max)
    for leaf in leaves:
        fits = (
            abs(leaf) <= largest_whole
            if type(leaf) is int
            else not math.isfinite(leaf) or abs(leaf) <= largest
        )
        if not fits:
            raise invalid_argument(
                f"Cannot convert JSON value: {_text(leaf)} to {_name(dtype)} without loss of"
                " precision."
            )


def _to_bytes(leaf) -> bytes:
    if isinstance(leaf, str):
        return leaf.encode("utf-8", "surrogateescape")
    if not isinstance(leaf, dict):
        raise _type_error(leaf, types_pb2.DT_STRING)
    if _is_object(leaf):
        raise invalid_argument(f"JSON Value: {_text(leaf)} not formatted correctly for base64 data")
    text = leaf["b64"]
    try:
        return base64.b64decode(text + "=" * (-len(text) % 4), validate=True)
    except ValueError:
        raise invalid_argument("Unable to base64 decode") from None


def _to_json(name, tensor):
    """Nested lists of what JSON knows."""
    kind = tensor.dtype.kind
    if kind in "SO" and name.endswith("_bytes"):
        values = [{"b64": base64.b64encode(value).decode("ascii")} for value in tensor.flat]
    elif kind in "SO":
        values = [value.decode("utf-8", "replace") for value in tensor.flat]
    elif tensor.dtype.name in ("float16", "bfloat16", "float32"):
        # the float64 that prints as the float32 does: 0.1, not 0.10000000149011612
        values = [float(str(value)) for value in tensor.astype(np.float32).flat]
    elif kind in "iufb":
        return tensor.tolist()
    else:
        raise invalid_argument(f"Failed to write JSON value for tensor type: {tensor.dtype.name}")
    return _objects(values).reshape(tensor.shape).tolist()


def _check_batch_sizes(outputs):
    batch_size = None
    for name, tensor in outputs.items():
        if tensor.ndim == 0:
            raise invalid_argument(f"Tensor name: {name} has no shape information")
        if batch_size not in (None, len(tensor)):
            raise invalid_argument(
                f"Tensor name: {name} has inconsistent batch size: {len(tensor)} expecting:"
                f" {batch_size}"
            )
        batch_size = len(tensor)


def _objects(values):
    """A one-dimensional array of Python objects; NumPy's own strings would lose trailing zero
    bytes.
    """
    array = np.empty(len(values), object)
    array[:] = values
    return array


def _is_object(value) -> bool:
    """An object by names: not the ``{"b64": "…"}`` that stands for bytes."""
    return isinstance(value, dict) and not (len(value) == 1 and isinstance(value.get("b64"), str))


def _finite(text) -> float:
    value = float(text)
    if math.isinf(value):
        raise ValueError(f"Number too big to be stored in double: {text[:50]}")
    return value


def _type_error(value, dtype) -> ServingError:
    kinds = {type(None): "Null", dict: "Object", list: "Array", str: "String"}
    kind = str(value) if isinstance(value, bool) else kinds.get(type(value), "Number")
    return invalid_argument(
        f"JSON Value: {_text(value)} Type: {kind} is not of expected type: {_name(dtype)}"
    )


def _name(dtype) -> str:
    return types_pb2.DataType.Name(dtype).removeprefix("DT_").lower()


def _text(value) -> str:
    try:
        return json.dumps(value, ensure_ascii=False)
    except RecursionError:
        return "(nested too deep)"


def _shape_text(tensor) -> str:
    return f"[{','.join(map(str, tensor.shape))}]"
