"""PredictionService: shapes of answers, and the statuses of what is refused, as
tensorflow_model_server has them.
"""

import concurrent.futures
import time

import grpc
import numpy as np
import pytest
import tensorflow as tf
from serving.conformance.conftest import spec
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow_serving.apis import get_model_metadata_pb2, predict_pb2

TEXT = {"text": ["a", "é"]}
X = {"x": np.array([2.0, 4.0], np.float32)}


def test_the_default_signature_of_the_latest_version(predict):
    answer = predict(TEXT)
    assert set(answer.outputs) == {"translation", "score", "source_truncated"}
    assert tf.make_ndarray(answer.outputs["translation"]).tolist() == [b"v2:a", "v2:é".encode()]
    assert tf.make_ndarray(answer.outputs["score"]).tolist() == [1.0, 2.0]
    assert answer.model_spec.name == "toy"
    assert answer.model_spec.version.value == 2
    assert answer.model_spec.signature_name == "serving_default"


def test_values_are_in_typed_fields(predict):
    outputs = predict(TEXT).outputs
    assert list(outputs["translation"].string_val) == [b"v2:a", "v2:é".encode()]
    assert list(outputs["score"].float_val) == [1.0, 2.0]
    assert list(outputs["source_truncated"].bool_val) == [False, False]
    assert not any(tensor.tensor_content for tensor in outputs.values())
    assert [dim.size for dim in outputs["score"].tensor_shape.dim] == [2]


@pytest.mark.parametrize(
    "choice, expected",
    [
        ({"version": 2}, [4.0, 5.0]),
        ({}, [4.0, 5.0]),
    ],
    ids=["version", "latest"],
)
def test_which_version_answers(predict, choice, expected):
    answer = predict(X, signature="half_plus", **choice)
    assert list(answer.outputs["y"].float_val) == expected
    assert answer.model_spec.signature_name == "half_plus"


def test_every_type_there_and_back(predict):
    values = {
        "a_bytes": np.array([b"\x00\xff", b""], object),
        "b": np.array([True, False]),
        "i32": np.array([-1, 2], np.int32),
        "i64": np.array([-(2**62), 1], np.int64),
        "f32": np.array([[1.5, np.inf], [-0.0, np.nan]], np.float32),
        "f64": np.array([1e300, -1.0]),
        "u8": np.array([0, 255], np.uint8),
    }
    answer = predict(values, signature="echo")
    for name, value in values.items():
        np.testing.assert_array_equal(tf.make_ndarray(answer.outputs[name]), value)


def test_tensor_content_is_accepted(predict):
    content = tf.compat.v1.make_tensor_proto(0.0, shape=[0], dtype=tf.float32)
    content.CopyFrom(
        TensorProto(
            dtype=tf.float32.as_datatype_enum,
            tensor_shape=tf.TensorShape([2]).as_proto(),
            tensor_content=X["x"].tobytes(),
        )
    )
    answer = predict({"x": content}, signature="half_plus")
    assert list(answer.outputs["y"].float_val) == [4.0, 5.0]


def test_output_filter_chooses(predict):
    assert set(predict(TEXT, output_filter=["score"]).outputs) == {"score"}


@pytest.mark.parametrize("batch_size", [0, 1, 64])
def test_batch_sizes(predict, batch_size):
    answer = predict({"text": np.array(["ab"] * batch_size, object)})
    # a repeated value may be said once
    assert list(answer.outputs["score"].float_val) in (
        [2.0] * batch_size,
        [2.0],
    )
    assert answer.outputs["score"].tensor_shape.dim[0].size == batch_size


def test_concurrent_requests_get_their_own_answers(predict):
    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        answers = pool.map(
            lambda number: (
                predict({"text": [f"line {number}"]}).outputs["translation"].string_val[0]
            ),
            range(64),
        )
        assert list(answers) == [f"v2:line {number}".encode() for number in range(64)]


def test_no_model_spec(prediction, refused):
    with refused("INVALID_ARGUMENT"):
        prediction.Predict(predict_pb2.PredictRequest(), timeout=10)


@pytest.mark.parametrize(
    "choice, code",
    [
        ({"name": "none"}, "NOT_FOUND"),
        ({"version": 1}, "NOT_FOUND"),
        ({"version": 9}, "NOT_FOUND"),
        ({"label": "beta"}, "INVALID_ARGUMENT"),
        ({"signature": "none"}, "FAILED_PRECONDITION"),
    ],
    ids=["model", "old_version", "version", "label", "signature"],
)
def test_nothing_of_that_name(predict, refused, choice, code):
    with refused(code):
        predict(TEXT, **choice)


@pytest.mark.parametrize(
    "inputs",
    [{}, TEXT | X, {"sentence": ["a"]}, {"text": np.array([1, 2], np.int64)}],
    ids=["missing", "extra", "other name", "other dtype"],
)
def test_inputs_that_do_not_fit(predict, refused, inputs):
    with refused("INVALID_ARGUMENT"):
        predict(inputs)


def test_malformed_tensor(predict, refused):
    """Three values claimed, two bytes given."""
    broken = TensorProto(
        dtype=tf.float32.as_datatype_enum,
        tensor_shape=tf.TensorShape([3]).as_proto(),
        tensor_content=b"ab",
    )
    with refused("INVALID_ARGUMENT"):
        predict({"x": broken}, signature="half_plus")


@pytest.mark.parametrize("wanted", [["nothing"], ["score", "score"]], ids=str)
def test_output_filters_that_are_refused(predict, refused, wanted):
    with refused("INVALID_ARGUMENT"):
        predict(TEXT, output_filter=wanted)


def test_what_the_graph_asserts_comes_back(predict, refused):
    with pytest.raises(grpc.RpcError) as error:
        predict({"x": np.array([-1.0], np.float32)}, signature="refuse")
    assert error.value.code() is grpc.StatusCode.INVALID_ARGUMENT
    assert "x must not be negative" in error.value.details()


def test_a_deadline_that_passes(predict, refused):
    start = time.monotonic()
    with refused("DEADLINE_EXCEEDED"):
        predict(
            {"x": np.zeros(1, np.float32), "seconds": np.full(1, 5, np.float32)},
            signature="slow",
            timeout=0.3,
        )
    assert time.monotonic() - start < 4


def metadata(prediction, fields, **choice):
    request = get_model_metadata_pb2.GetModelMetadataRequest(
        model_spec=spec(**choice), metadata_field=fields
    )
    return prediction.GetModelMetadata(request, timeout=10)


def test_metadata(prediction):
    answer = metadata(prediction, ["signature_def"], version=2)
    assert (answer.model_spec.name, answer.model_spec.version.value) == ("toy", 2)
    assert set(answer.metadata) == {"signature_def"}
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert answer.metadata["signature_def"].Unpack(signatures)
    signature = signatures.signature_def["serving_default"]
    assert signature.method_name == "tensorflow/serving/predict"
    assert signature.inputs["text"].dtype == tf.string.as_datatype_enum
    assert [dim.size for dim in signature.inputs["text"].tensor_shape.dim] == [-1]
    assert set(signature.outputs) == {"translation", "score", "source_truncated"}


@pytest.mark.parametrize(
    "fields, choice, code",
    [
        ([], {}, "INVALID_ARGUMENT"),
        (["weights"], {}, "INVALID_ARGUMENT"),
        (["signature_def"], {"name": "none"}, "NOT_FOUND"),
        (["signature_def"], {"version": 9}, "NOT_FOUND"),
        (["signature_def"], {"label": "beta"}, "INVALID_ARGUMENT"),
    ],
    ids=[
        "no-field",
        "unknown-field",
        "unknown-model",
        "unknown-version",
        "unknown-label",
    ],
)
def test_metadata_refused(prediction, refused, fields, choice, code):
    with refused(code):
        metadata(prediction, fields, **choice)
