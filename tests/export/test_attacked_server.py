"""Requests of a few bytes that once stopped the server of a real model, or took all of its memory:
others are served meanwhile, and health is answered.
"""

import concurrent.futures
import time

import grpc
import psutil
import pytest
import tensorflow as tf
from grpc_health.v1 import health_pb2, health_pb2_grpc
from tensorflow_serving.apis import predict_pb2, prediction_service_pb2_grpc

from rnnsearch_tf.extras.server.flags import FREE, Flags
from rnnsearch_tf.extras.server.server import Server

LIMIT = 2000  # MB of the model's process
UNLIMITED = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]
MARKS = "a" + "\u0301\u0323" * 500_000  # ICU's time grows with the square of a run of marks
PHRASES = "\t".join(["a"] * 64 + ["a " * 65])  # a table of all phrases and tokens of all rows
ATTACKS = {
    "combining marks": 2 * [("translate", {"text": [MARKS]})],
    "constraints": [
        ("translate_constrained", {"text": ["a"] * 32, "constraints": [PHRASES] + [""] * 31})
    ],
    "alignment weights": 2 * [("translate_aligned", {"text": ["book " * 200] * 512})],
    "rows at the limit": 4 * [("translate_nbest", {"text": ["book " * 200] * 512})],
}
PROPER = {
    grpc.StatusCode.OK,
    grpc.StatusCode.INVALID_ARGUMENT,
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    grpc.StatusCode.DEADLINE_EXCEEDED,
}


@pytest.fixture(scope="module")
def server(exported):
    flags = Flags(
        {"mine": str(exported.parent)}, port=FREE, rest_api_port=0, memory_limit_in_mb=LIMIT
    )
    with Server(flags) as server:
        yield server


@pytest.fixture
def channel(server):
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}", UNLIMITED) as channel:
        yield channel


def predict(channel, signature, inputs, seconds):
    """(status, seconds that it took)."""
    request = predict_pb2.PredictRequest()
    request.model_spec.name = "mine"
    request.model_spec.signature_name = signature
    for name, values in inputs.items():
        request.inputs[name].CopyFrom(tf.make_tensor_proto(values))
    began = time.monotonic()
    try:
        prediction_service_pb2_grpc.PredictionServiceStub(channel).Predict(request, timeout=seconds)
    except grpc.RpcError as error:
        return error.code(), time.monotonic() - began
    return grpc.StatusCode.OK, time.monotonic() - began


def memory_of_the_models():
    """MB of the processes that came from this one, without files and what they share."""
    sizes = [0]
    for process in psutil.Process().children(recursive=True):
        try:
            memory = process.memory_info()
        except psutil.Error:
            continue
        sizes.append((memory.rss - memory.shared) >> 20)
    return max(sizes)


@pytest.mark.parametrize(
    "name",
    [
        name if name == "alignment weights" else pytest.param(name, marks=pytest.mark.slow)
        for name in ATTACKS
    ],
)
def test_others_are_served_meanwhile(channel, name):
    health = health_pb2_grpc.HealthStub(channel)
    most = 0
    with concurrent.futures.ThreadPoolExecutor() as pool:
        attack = [pool.submit(predict, channel, *request, 20) for request in ATTACKS[name]]
        asked = False
        while not asked or not all(request.done() for request in attack):
            health.Check(health_pb2.HealthCheckRequest(), timeout=1)  # answers, whatever it says
            status, seconds = predict(channel, "translate", {"text": ["a"]}, 20)
            assert status is grpc.StatusCode.UNAVAILABLE or seconds < 5
            assert status in (grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE)
            most = max(most, memory_of_the_models())
            asked = True
        assert {request.result()[0] for request in attack} <= PROPER
    assert most < 1.2 * LIMIT  # what is taken between two looks comes on top
    end = time.monotonic() + 60
    while predict(channel, "translate", {"text": ["a"]}, 20)[0] is not grpc.StatusCode.OK:
        assert time.monotonic() < end
        time.sleep(0.1)
