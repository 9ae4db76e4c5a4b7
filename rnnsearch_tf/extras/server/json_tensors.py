"""JSON of the REST interface to tensors and back.

Rows: ``{"instances": [row, …]}`` → ``{"predictions": [row, …]}``; columns: ``{"inputs": …}`` →
``{"outputs": …}``. A row or column is the bare value where a signature has one input or output, an
object by name where it has several. Bytes are ``{"b64": "…"}``: any string input may be, outputs
named ``…_bytes`` are. NaN and Infinity are bare words.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import tensorflow as tf

from rnnsearch_tf.extras.server.servable import invalid_argument

KINDS = {"i": "i", "u": "i", "f": "if", "b": "b"}
"""{kind of the expected dtype: kinds of what JSON may have for it}."""


def parse(body: bytes) -> dict[str, Any]:
    """The JSON object of a request's body."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError) as error:
        raise invalid_argument(f"JSON Parse error: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("signature_name", ""), str):
        raise invalid_argument("expected an object, whose signature_name is a string")
    if ("instances" in document) == ("inputs" in document):
        raise invalid_argument('expected one of "instances" and "inputs"')
    return document


def to_inputs(document: Mapping[str, Any], infos: Mapping[str, Any]) -> dict[str, np.ndarray]:
    """The input arrays of a parsed request.

    Args:
        document: the object.
        infos: {name of an input: TensorInfo}.

    Example:
        >>> from tensorflow.core.protobuf.meta_graph_pb2 import TensorInfo
        >>> to_inputs({"instances": [1, 2.5]}, {"x": TensorInfo(dtype=1)})
        {'x': array([1. , 2.5], dtype=float32)}
    """
    columns = document["inputs"] if "inputs" in document else _columns(document["instances"], infos)
    if not isinstance(columns, dict) or _is_bytes(columns):
        columns = _of_the_only(infos, columns)
    if unknown := columns.keys() - set(infos):
        raise invalid_argument(
            f"expected the inputs {', '.join(infos)}, got also {', '.join(unknown)}"
        )
    return {name: _array(name, value, infos[name].dtype) for name, value in columns.items()}


def to_body(outputs: Mapping[str, np.ndarray], in_rows: bool) -> dict[str, Any]:
    """The JSON object of an answer.

    Example:
        >>> to_body({"y": np.float32([0.1, np.nan])}, in_rows=True)
        {'predictions': [0.1, nan]}
    """
    values = {name: _values(name, array) for name, array in outputs.items()}
    if len(values) == 1:
        (result,) = values.values()
    elif in_rows:
        result = [dict(zip(values, row)) for row in zip(*values.values())]
    else:
        result = values
    return {"predictions" if in_rows else "outputs": result}


def _columns(rows: Any, infos: Mapping[str, Any]) -> dict[str, Any]:
    """Rows as columns: {name: list}."""
    if not isinstance(rows, list) or not rows:
        raise invalid_argument('expected a list of rows as "instances"')
    if not isinstance(rows[0], dict) or _is_bytes(rows[0]):
        return _of_the_only(infos, rows)
    if not all(isinstance(row, dict) and row.keys() == rows[0].keys() for row in rows):
        raise invalid_argument("expected rows with the same names")
    return {name: [row[name] for row in rows] for name in rows[0]}


def _of_the_only(infos: Mapping[str, Any], value: Any) -> dict[str, Any]:
    if len(infos) != 1:
        raise invalid_argument(f"expected an object with the names {', '.join(infos)}")
    return dict.fromkeys(infos, value)


def _array(name: str, value: Any, datatype: int) -> np.ndarray:
    dtype = tf.as_dtype(datatype)
    try:
        if dtype == tf.string:
            strings = np.array(_bytes(value), object)
            if any(isinstance(each, list) for each in strings.flat):
                raise ValueError("got lists of several lengths")
            return strings
        found = np.array(value)
        if found.size and found.dtype.kind not in KINDS[np.dtype(dtype.as_numpy_dtype).kind]:
            raise ValueError(f"got {json.dumps(value)[:60]}")
        return np.array(value, dtype.as_numpy_dtype)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise invalid_argument(f"{name}: expected {dtype.name}: {error}") from None


def _is_bytes(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"b64"}


def _bytes(value: Any) -> Any:
    """Nested lists of strings as nested lists of bytes."""
    if isinstance(value, list):
        return [_bytes(each) for each in value]
    if _is_bytes(value):
        return base64.b64decode(value["b64"], validate=True)
    if not isinstance(value, str):
        raise ValueError(f"got {json.dumps(value)[:60]}")
    return value.encode("utf-8", "replace")


def _values(name: str, array: np.ndarray) -> Any:
    """Nested lists of what JSON knows."""
    if array.dtype.kind == "O":
        values = np.empty(array.size, object)
        values[:] = [_text(name, value) for value in array.reshape(-1)]
        return values.reshape(array.shape).tolist()
    if array.dtype == np.float32:
        # the float64 that prints as the float32 does: 0.1, not 0.10000000149011612
        return np.array([float(str(x)) for x in array.reshape(-1)]).reshape(array.shape).tolist()
    return array.tolist()


def _text(name: str, value: bytes) -> Any:
    if name.endswith("_bytes"):
        return {"b64": base64.b64encode(value).decode("ascii")}
    return value.decode("utf-8", "replace")
