"""JSON to tensors and back; tests/serving/conformance has what is refused."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.meta_graph_pb2 import TensorInfo

from rnnsearch_tf.extras.server.json_tensors import to_body, to_inputs


def infos(**dtypes):
    return {name: TensorInfo(dtype=dtype.as_datatype_enum) for name, dtype in dtypes.items()}


TEXT = infos(text=tf.string)
X = infos(x=tf.float32)


@pytest.mark.parametrize(
    "document, signature, expected",
    [
        ({"instances": ["é", {"b64": "AP8="}]}, TEXT, {"text": ["é".encode(), b"\0\xff"]}),
        ({"inputs": []}, X, {"x": []}),
    ],
)
def test_what_fits(document, signature, expected):
    got = to_inputs(document, signature)
    assert {name: array.tolist() for name, array in got.items()} == expected
    for name, array in got.items():
        assert tf.as_dtype(array.dtype) == tf.as_dtype(signature[name].dtype)


def test_answers():
    texts = np.array([b"\xc3\xa9", b"\xff"], object)
    outputs = {"t": texts, "t_bytes": texts, "y": np.float32([[0.1], [2]])}
    rows = [
        {"t": "é", "t_bytes": {"b64": "w6k="}, "y": [0.1]},
        {"t": "\ufffd", "t_bytes": {"b64": "/w=="}, "y": [2.0]},
    ]
    assert to_body(outputs, in_rows=True) == {"predictions": rows}
    columns = to_body(outputs, in_rows=False)["outputs"]
    assert columns["y"] == [[0.1], [2.0]] and columns["t"] == ["é", "\ufffd"]
