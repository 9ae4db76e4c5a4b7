"""The server under test: the embedded one, or the one that the environment names.

    RNNSEARCH_SERVER   host:port of gRPC
    RNNSEARCH_REST     host:port of REST

That server has the models of toy_model.py: --model_name=toy --model_base_path=FOLDER/toy, and
--enable_grpc_healthcheck_service=true where it is tensorflow_model_server; serving/README.md says
how to start it.
"""

import contextlib
import http.client
import json
import os

import grpc
import pytest
import tensorflow as tf
from tensorflow.core.framework.tensor_pb2 import TensorProto
from tensorflow_serving.apis import (
    model_pb2,
    model_service_pb2_grpc,
    predict_pb2,
    prediction_service_pb2_grpc,
)

PATIENCE = 30  # seconds for any one answer


@pytest.fixture(scope="session")
def address(request):
    """host:port of gRPC and of REST."""
    if "RNNSEARCH_SERVER" in os.environ:
        return os.environ["RNNSEARCH_SERVER"], os.environ["RNNSEARCH_REST"]
    server = request.getfixturevalue("server")
    return f"127.0.0.1:{server.port}", f"127.0.0.1:{server.rest_api_port}"


@pytest.fixture(scope="session")
def channel(address):
    with grpc.insecure_channel(address[0]) as channel:
        grpc.channel_ready_future(channel).result(timeout=PATIENCE)
        yield channel


@pytest.fixture(scope="session")
def prediction(channel):
    return prediction_service_pb2_grpc.PredictionServiceStub(channel)


@pytest.fixture(scope="session")
def management(channel):
    return model_service_pb2_grpc.ModelServiceStub(channel)


@pytest.fixture(scope="session")
def predict(prediction):
    """predict(inputs, …) → PredictResponse; the model is the toy unless told."""

    def call(inputs, *, timeout=PATIENCE, output_filter=(), **fields):
        request = predict_pb2.PredictRequest(model_spec=spec(**fields), output_filter=output_filter)
        for name, values in inputs.items():
            tensor = values if isinstance(values, TensorProto) else tf.make_tensor_proto(values)
            request.inputs[name].CopyFrom(tensor)
        return prediction.Predict(request, timeout=timeout)

    return call


@pytest.fixture(scope="session")
def rest(address):
    """rest(method, path, body=None) → (status, decoded JSON)."""

    def ask(method, path, body=None):
        connection = http.client.HTTPConnection(address[1], timeout=PATIENCE)
        text = body if isinstance(body, (bytes, str, type(None))) else json.dumps(body)
        connection.request(method, path, text)
        response = connection.getresponse()
        answer = response.status, json.loads(response.read())
        connection.close()
        return answer

    return ask


def spec(name="toy", version=None, label="", signature=""):
    result = model_pb2.ModelSpec(name=name, signature_name=signature, version_label=label)
    if version is not None:
        result.version.value = version
    return result


@contextlib.contextmanager
def refused(code):
    """The call within fails with this gRPC status."""
    with pytest.raises(grpc.RpcError) as error:
        yield error
    assert error.value.code().name == code, error.value.details()
