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
    """The input arrays of a parsed request, of which `infos` has {name: TensorInfo}."""
    columns = document["inputs"] if "inputs" in document else _columns(document["instances"])
    if not isinstance(columns, dict) or _is_bytes(columns):
        columns = dict.fromkeys(list(infos)[:1], columns)
    if columns.keys() != set(infos):
        raise invalid_argument(f"expected an entry for each of the inputs {', '.join(infos)}")
    return {name: _array(name, value, infos[name].dtype) for name, value in columns.items()}


def to_body(outputs: Mapping[str, np.ndarray], in_rows: bool) -> dict[str, Any]:
    """The JSON object of an answer."""
    values = {name: _values(name, array) for name, array in outputs.items()}
    if len(values) == 1:
        (result,) = values.values()
    elif in_rows:
        result = [dict(zip(values, row)) for row in zip(*values.values())]
    else:
        result = values
    return {"predictions" if in_rows else "outputs": result}


def _columns(rows: Any) -> Any:
    """Rows as columns, {name: list}; the rows where they are the entries of one column."""
    if not isinstance(rows, list) or not rows:
        raise invalid_argument('expected a list of rows as "instances"')
    if not isinstance(rows[0], dict) or _is_bytes(rows[0]):
        return rows
    if not all(isinstance(row, dict) and row.keys() == rows[0].keys() for row in rows):
        raise invalid_argument("expected rows with the same names")
    return {name: [row[name] for row in rows] for name in rows[0]}


def _array(name: str, value: Any, datatype: int) -> np.ndarray:
    dtype = tf.as_dtype(datatype)
    try:
        if dtype == tf.string:
            return np.vectorize(_bytes, otypes=[object])(np.array(value, object))
        found = np.array(value)
        if found.size and found.dtype.kind not in KINDS[np.dtype(dtype.as_numpy_dtype).kind]:
            raise ValueError(f"got {json.dumps(value)[:60]}")
        return np.array(value, dtype.as_numpy_dtype)
    except (ValueError, TypeError, KeyError, OverflowError) as error:
        raise invalid_argument(f"{name}: expected {dtype.name}: {error}") from None


def _is_bytes(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"b64"}


def _bytes(value: Any) -> bytes:
    """The bytes of one entry, which is a list where a row is shorter than another."""
    if _is_bytes(value):
        return base64.b64decode(value["b64"], validate=True)
    if not isinstance(value, str):
        raise ValueError(f"got {json.dumps(value)[:60]}")
    return value.encode("utf-8", "surrogatepass")


def _values(name: str, array: np.ndarray) -> Any:
    """Nested lists of what JSON knows."""

    def text(value: bytes) -> Any:
        if name.endswith("_bytes"):
            return {"b64": base64.b64encode(value).decode("ascii")}
        return value.decode("utf-8", "replace")

    if array.dtype == object:
        return np.vectorize(text, otypes=[object])(array).tolist()
    if array.dtype == np.float32:
        # the float64 that prints as the float32 does: 0.1, not 0.10000000149011612
        return array.astype("S16").astype(np.float64).tolist()
    return array.tolist()
