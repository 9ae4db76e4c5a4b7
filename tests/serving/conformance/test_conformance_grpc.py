"""gRPC: shapes of answers, and the statuses of what is refused, as tensorflow_model_server has
them; status of a version, health.
"""

import concurrent.futures
import time

import numpy as np
import pytest
import tensorflow as tf
from serving.conformance.conftest import refused, spec
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2, predict_pb2

TEXT = {"text": ["a", "é"]}
X = {"x": np.array([2.0, 4.0], np.float32)}


def content(values, size):
    """A float32 TensorProto of `size` entries with their bytes as tensor_content."""
    return TensorProto(
        dtype=tf.float32.as_datatype_enum,
        tensor_shape=tf.TensorShape([size]).as_proto(),
        tensor_content=values,
    )


def test_the_default_signature_of_the_latest_version_with_values_in_typed_fields(predict):
    answer = predict(TEXT)
    spec = answer.model_spec
    assert (spec.name, spec.version.value, spec.signature_name) == ("toy", 2, "serving_default")
    outputs = answer.outputs
    assert set(outputs) == {"translation", "score", "source_truncated"}
    assert list(outputs["translation"].string_val) == [b"v2:a", "v2:é".encode()]
    assert list(outputs["score"].float_val) == [1.0, 2.0]
    assert list(outputs["source_truncated"].bool_val) == [False, False]
    assert not any(tensor.tensor_content for tensor in outputs.values())
    assert [dim.size for dim in outputs["score"].tensor_shape.dim] == [2]
    assert set(predict(TEXT, output_filter=["score"]).outputs) == {"score"}


def test_a_version_by_its_number_and_values_as_content(predict):
    x = content(X["x"].tobytes(), 2)
    answer = predict({"x": x}, signature="half_plus", version=2)
    assert list(answer.outputs["y"].float_val) == [4.0, 5.0]


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


@pytest.mark.parametrize("batch_size", [0, 1, 64])
def test_batch_sizes(predict, batch_size):
    score = predict({"text": np.array(["ab"] * batch_size, object)}).outputs["score"]
    assert tf.make_ndarray(score).tolist() == [2.0] * batch_size


def test_concurrent_requests_get_their_own_answers(predict):
    def ask(number):
        return predict({"text": [f"line {number}"]}).outputs["translation"].string_val[0]

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert list(pool.map(ask, range(64))) == [f"v2:line {k}".encode() for k in range(64)]


def test_no_model_spec(prediction):
    with refused("INVALID_ARGUMENT"):
        prediction.Predict(predict_pb2.PredictRequest(), timeout=10)


@pytest.mark.parametrize(
    "choice, code",
    [
        ({"name": "none"}, "NOT_FOUND"),
        ({"version": 1}, "NOT_FOUND"),
        ({"label": "beta"}, "INVALID_ARGUMENT"),
        ({"signature": "none"}, "FAILED_PRECONDITION"),
        ({"output_filter": ["nothing"]}, "INVALID_ARGUMENT"),
        ({"output_filter": ["score", "score"]}, "INVALID_ARGUMENT"),
    ],
    ids=["model", "version", "label", "signature", "output", "output twice"],
)
def test_nothing_of_that_name(predict, choice, code):
    with refused(code):
        predict(TEXT, **choice)


@pytest.mark.parametrize(
    "signature, inputs",
    [
        ("", {}),
        ("", TEXT | X),
        ("", {"sentence": ["a"]}),
        ("", {"text": np.array([1, 2], np.int64)}),
        ("", {"text": [["a"]]}),
        ("half_plus", {"x": content(b"ab", 3)}),
        ("half_plus", {"x": content(b"abcd", 2**40)}),
    ],
    ids=["missing", "extra", "other name", "other dtype", "other rank", "malformed", "huge"],
)
def test_inputs_that_do_not_fit(predict, signature, inputs):
    with refused("INVALID_ARGUMENT"):
        predict(inputs, signature=signature)


def test_what_the_graph_asserts_comes_back(predict):
    with refused("INVALID_ARGUMENT") as error:
        predict({"x": np.array([-1.0], np.float32)}, signature="refuse")
    assert "x must not be negative" in error.value.details()


def test_a_deadline_that_passes(predict):
    start = time.monotonic()
    inputs = {"x": np.zeros(1, np.float32), "seconds": np.full(1, 5, np.float32)}
    with refused("DEADLINE_EXCEEDED"):
        predict(inputs, signature="slow", timeout=0.3)
    assert time.monotonic() - start < 4


def metadata(prediction, fields, **choice):
    request = get_model_metadata_pb2.GetModelMetadataRequest(
        model_spec=spec(**choice), metadata_field=fields
    )
    return prediction.GetModelMetadata(request, timeout=10)


def test_metadata(prediction):
    answer = metadata(prediction, ["signature_def"], version=2)
    assert (answer.model_spec.name, answer.model_spec.version.value) == ("toy", 2)
    signatures = get_model_metadata_pb2.SignatureDefMap()
    assert answer.metadata["signature_def"].Unpack(signatures)
    signature = signatures.signature_def["serving_default"]
    assert signature.method_name == "tensorflow/serving/predict"
    assert signature.inputs["text"].dtype == tf.string.as_datatype_enum
    assert [dim.size for dim in signature.inputs["text"].tensor_shape.dim] == [-1]
    assert set(signature.outputs) == {"translation", "score", "source_truncated"}


@pytest.mark.parametrize("fields", [[], ["weights"]])
def test_metadata_refused(prediction, fields):
    with refused("INVALID_ARGUMENT"):
        metadata(prediction, fields)


def test_status(management):
    request = get_model_status_pb2.GetModelStatusRequest(model_spec=spec())
    (row,) = management.GetModelStatus(request, timeout=10).model_version_status
    available = get_model_status_pb2.ModelVersionStatus.AVAILABLE
    assert (row.version, row.state, row.status.error_code) == (2, available, 0)
    request.model_spec.version.value = 9
    with refused("NOT_FOUND"):
        management.GetModelStatus(request, timeout=10)


def test_health(channel):
    check = health_pb2_grpc.HealthStub(channel).Check
    answer = check(health_pb2.HealthCheckRequest(), timeout=10)
    assert answer.status == health_pb2.HealthCheckResponse.SERVING
