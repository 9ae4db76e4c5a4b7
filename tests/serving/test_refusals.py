"""gRPC as its clients meet it, apart from what the models answer: calls that no model sees, health,
reflection, deadlines, and clients that send or take their messages slowly, or never.
"""

import asyncio
import struct
import time

import grpc
import pytest
from google.protobuf import descriptor_pool
from grpc_health.v1 import health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import (
    ProtoReflectionDescriptorDatabase,
)
from http2_frames import PREDICT, Http2Client
from rest_calls import ask
from scripted_server import ScriptedServer
from tensorflow_serving.apis import predict_pb2
from toy_calls import Toy, refusal

from rnnsearch_tf.extras.server import grpc_front
from rnnsearch_tf.extras.server.errors import ServingError
from rnnsearch_tf.extras.server.frames import Kind

CALLS = 50
PATIENCE = 20  # seconds for any one answer
SERVICES = "tensorflow.serving.PredictionService", "tensorflow.serving.ModelService"
REQUEST = predict_pb2.PredictRequest(model_spec={"name": "toy"}).SerializeToString()
HALF = struct.pack("!?I", False, 1000) + b"half"
"""The beginning of a message of 1,000 bytes."""


def answer(name, kind, data, seconds):
    """What the scripted model says: the bytes of the request, or the status that its signature
    names.
    """
    signature = predict_pb2.PredictRequest.FromString(data).model_spec.signature_name
    if kind == Kind.PREDICT and signature == "broken":
        raise ZeroDivisionError("a fault that is planted")
    if kind == Kind.PREDICT and signature == "large":
        return bytes(8 << 20)
    if kind == Kind.PREDICT and signature:
        raise ServingError(grpc.StatusCode[signature], "as asked")
    return data


@pytest.fixture(scope="module")
def server():
    with ScriptedServer(answer, max_waiting_requests=100) as server:
        yield server


@pytest.fixture
def channel(server):
    with grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel:
        yield channel


def call(channel, body, method="PredictionService/Predict", timeout=PATIENCE):
    """The bytes of the answer."""
    return channel.unary_unary(f"/tensorflow.serving.{method}")(body, timeout=timeout)


def wait_until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came so far"
        time.sleep(0.01)


def tasks(server):
    return len(asyncio.all_tasks(server._loop))


def being_received(server):
    return len(server._grpc._uploads._begun)


@pytest.mark.parametrize(
    "method, body, code, message",
    [
        ("PredictionService/Predict", b"\xff", "INTERNAL", "Exception deserializing request!"),
        ("PredictionService/GetModelMetadata", b"\xff", "INTERNAL", "Exception deserializing"),
        ("ModelService/GetModelStatus", b"\xff", "INTERNAL", "Exception deserializing request!"),
        ("PredictionService/Predict", b"", "INVALID_ARGUMENT", "Missing ModelSpec"),
        ("PredictionService/Predict", b"\n\0", "INVALID_ARGUMENT", "no name specified."),
        ("PredictionService/Predict", b"\n\3\n\1x", "NOT_FOUND", "Latest(x)"),
        ("PredictionService/Predict", bytes(5 << 20), "RESOURCE_EXHAUSTED", "5242880 vs. 4194304"),
        ("PredictionService/Classify", b"", "UNIMPLEMENTED", "Method not found!"),
        ("PredictionService/Regress", b"", "UNIMPLEMENTED", "Method not found!"),
        ("PredictionService/MultiInference", b"", "UNIMPLEMENTED", "Method not found!"),
        ("PredictionService/Nothing", b"", "UNIMPLEMENTED", "Method not found!"),
        ("ModelService/HandleReloadConfigRequest", b"", "UNIMPLEMENTED", "Method not found!"),
        ("Nothing/Predict", b"", "UNIMPLEMENTED", "Method not found!"),
    ],
)
def test_a_status_and_nothing_more(server, channel, caplog, method, body, code, message):
    """Nor a traceback in the log, nor anything that stays in memory."""
    before = tasks(server)
    for _ in range(CALLS if len(body) < 100 else 3):
        status, said = refusal(call, channel, body, method)
        assert status == code and message in said
    wait_until(lambda: tasks(server) <= before)
    assert caplog.text == ""
    assert server._core._bytes == server._core._waiting == being_received(server) == 0


@pytest.mark.parametrize(
    "code", sorted(set(grpc.StatusCode) - {grpc.StatusCode.OK}, key=str), ids=lambda code: code.name
)
def test_every_status_of_a_model_comes_through(channel, code):
    request = predict_pb2.PredictRequest(model_spec={"name": "toy", "signature_name": code.name})
    assert refusal(call, channel, request.SerializeToString()) == (code.name, "as asked")


def test_a_fault_of_the_server_is_logged_and_the_next_request_is_answered(channel, caplog):
    request = predict_pb2.PredictRequest(model_spec={"name": "toy", "signature_name": "broken"})
    assert refusal(call, channel, request.SerializeToString())[0] in ("UNKNOWN", "INTERNAL")
    assert "a fault that is planted" in caplog.text
    assert call(channel, REQUEST) == REQUEST


def test_a_call_without_a_message_and_one_with_two(channel):
    stream = channel.stream_stream(PREDICT)
    status, _ = refusal(lambda: list(stream(iter([]), timeout=PATIENCE)))
    assert status == "INTERNAL"
    assert list(stream(iter([REQUEST, REQUEST]), timeout=PATIENCE)) == [REQUEST]


@pytest.mark.parametrize("compression", [grpc.Compression.Gzip, grpc.Compression.Deflate])
def test_a_compressed_message_is_unpacked(channel, compression):
    predict = channel.unary_unary(PREDICT)
    request = REQUEST + b"\x1a\x7f" + b"a" * 127  # a filter of outputs that is easily compressed
    assert predict(request, timeout=PATIENCE, compression=compression) == request
    status, _ = refusal(predict, bytes(64 << 20), timeout=PATIENCE, compression=compression)
    assert status == "RESOURCE_EXHAUSTED"


def test_health_of_the_server_and_of_each_service(channel):
    stub = health_pb2_grpc.HealthStub(channel)
    for service in ("", *SERVICES):
        request = health_pb2.HealthCheckRequest(service=service)
        answer = stub.Check(request, timeout=PATIENCE)
        assert answer.status == health_pb2.HealthCheckResponse.SERVING
        watch = stub.Watch(request, timeout=PATIENCE)
        assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
        watch.cancel()
    unknown = health_pb2.HealthCheckRequest(service="none")
    assert refusal(stub.Check, unknown, timeout=PATIENCE)[0] == "NOT_FOUND"


def test_health_says_whether_the_models_answer(server, channel):
    stub = health_pb2_grpc.HealthStub(channel)
    (model,) = server._models._models.values()
    states = health_pb2.HealthCheckResponse
    watches = [
        stub.Watch(health_pb2.HealthCheckRequest(service=service), timeout=PATIENCE)
        for service in ("", *SERVICES)
    ]
    assert [next(watch).status for watch in watches] == [states.SERVING] * 3
    try:
        model.answers = False
        assert [next(watch).status for watch in watches] == [states.NOT_SERVING] * 3
    finally:
        model.answers = True
    assert [next(watch).status for watch in watches] == [states.SERVING] * 3
    for watch in watches:
        watch.cancel()


def test_reflection_tells_the_services_and_their_messages(channel):
    database = ProtoReflectionDescriptorDatabase(channel)
    health = "grpc.health.v1.Health"
    reflection = "grpc.reflection.v1alpha.ServerReflection"
    assert set(database.get_services()) == {*SERVICES, health, reflection}
    pool = descriptor_pool.DescriptorPool(database)
    message = pool.FindMessageTypeByName("tensorflow.serving.PredictRequest")
    known = predict_pb2.PredictRequest.DESCRIPTOR
    assert {field.name: field.number for field in message.fields} == {
        field.name: field.number for field in known.fields
    }
    tensor = message.fields_by_name["inputs"].message_type.fields_by_name["value"].message_type
    assert tensor.full_name == "tensorflow.TensorProto"
    for name in (*SERVICES, health):
        assert pool.FindServiceByName(name).full_name == name
    assert "Predict" in pool.FindServiceByName(SERVICES[0]).methods_by_name


def test_a_model_gets_the_time_of_the_call(server, channel):
    call(channel, REQUEST, timeout=60)
    assert 30 < server.process.seconds < 62  # gRPC sends a deadline rounded up
    call(channel, REQUEST, timeout=None)
    assert server.process.seconds == 120  # --request_timeout_in_seconds
    call(channel, REQUEST, timeout=1000)
    assert server.process.seconds == 120


def test_a_call_whose_deadline_passes_gives_its_place_back(server, channel):
    server.process.gate.clear()
    try:
        assert refusal(call, channel, REQUEST, timeout=0.3)[0] == "DEADLINE_EXCEEDED"
        pending = channel.unary_unary(PREDICT).future(REQUEST, timeout=PATIENCE)
        wait_until(lambda: server.process.waiting == 1)
        pending.cancel()
        wait_until(lambda: server.process.waiting == 0)
        assert server._core._bytes == server._core._waiting == 0
    finally:
        server.process.gate.set()


def test_a_deadline_that_passes_and_a_cancelled_call_are_counted_by_their_names():
    """The client's own clock ends a call before ours, for which it rounds the deadline up."""
    with (
        ScriptedServer(answer) as server,
        grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel,
    ):

        def is_counted(status, number):
            line = f'model_name="toy",status="{status}"}} {number}.0'
            return line in server._core.metrics.page().decode()

        call(channel, REQUEST)  # is connected
        server.process.gate.clear()
        for number, timeout in enumerate((0.3, 1.001), start=1):
            assert refusal(call, channel, REQUEST, timeout=timeout)[0] == "DEADLINE_EXCEEDED"
            wait_until(lambda: is_counted("DEADLINE_EXCEEDED", number))
        for number, timeout in enumerate((PATIENCE, None), start=1):
            pending = channel.unary_unary(PREDICT).future(REQUEST, timeout=timeout)
            wait_until(lambda: server.process.waiting == 1)
            pending.cancel()
            wait_until(lambda: is_counted("CANCELLED", number))


def test_a_message_that_does_not_come_in_time_ends_the_call(server, channel, monkeypatch):
    monkeypatch.setattr(grpc_front, "CLIENT_SECONDS", 0.5)
    with Http2Client(server.grpc_port) as client:
        for stream, method in ((1, PREDICT), (3, PREDICT.replace("Predict", "GetModelMetadata"))):
            client.begin(stream, method)
            client.send(stream, HALF)
        wait_until(lambda: being_received(server) >= 1)
        assert client.ended([1, 3])
        assert being_received(server) == 0
        # the connection is of use all the same
        client.begin(5)
        client.send(5, struct.pack("!?I", False, len(REQUEST)) + REQUEST, last=True)
        assert client.ended([5])
    assert call(channel, REQUEST) == REQUEST


def test_messages_that_are_half_sent_do_not_shut_others_off(server, channel):
    with Http2Client(server.grpc_port) as client:
        streams = range(1, 128, 2)  # 64
        for stream in streams:
            client.begin(stream)
            client.send(stream, HALF)
        wait_until(lambda: being_received(server) == grpc_front.UPLOADS)
        started = time.monotonic()
        answered(channel)  # or UNAVAILABLE
        assert time.monotonic() - started < 5
        request = health_pb2.HealthCheckRequest()
        state = health_pb2_grpc.HealthStub(channel).Check(request, timeout=5).status
        assert state == health_pb2.HealthCheckResponse.SERVING
        # those that are slow make way for the others
        end = time.monotonic() + PATIENCE
        while not answered(channel):
            assert time.monotonic() < end
        assert being_received(server) <= grpc_front.UPLOADS
    wait_until(lambda: being_received(server) == server._core._waiting == 0)


def answered(channel) -> bool:
    """Whether a Predict is answered; if not, it is UNAVAILABLE."""
    try:
        return call(channel, REQUEST) == REQUEST
    except grpc.RpcError as error:
        assert error.code() == grpc.StatusCode.UNAVAILABLE
        return False


def test_an_answer_that_is_not_taken_counts_until_its_connection_ends(monkeypatch):
    """But it does not keep its place. gRPC keeps its bytes that long."""
    monkeypatch.setattr(grpc_front, "CLIENT_SECONDS", 0.5)
    age = ("grpc.max_connection_age_ms", 2000)
    others = [option for option in grpc_front.OPTIONS if option[0] != age[0]]
    monkeypatch.setattr(grpc_front, "OPTIONS", [*others, age])
    large = predict_pb2.PredictRequest(model_spec={"name": "toy", "signature_name": "large"})
    text = large.SerializeToString()
    limits = {"max_waiting_requests": 1, "request_timeout_in_seconds": 1}
    with (
        ScriptedServer(answer, **limits) as server,
        Http2Client(server.grpc_port, window=0) as client,
        grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel,
    ):
        client.begin(1)
        client.send(1, struct.pack("!?I", False, len(text)) + text, last=True)
        wait_until(lambda: server._core._bytes > 8 << 20)
        assert call(channel, REQUEST) == REQUEST
        time.sleep(1)
        assert server._core._bytes > 8 << 20
        wait_until(lambda: server._core._bytes == 0)
        assert call(channel, REQUEST) == REQUEST


def test_those_who_watch_the_health_do_not_shut_predictions_off():
    with (
        ScriptedServer(answer, max_waiting_requests=2) as server,
        grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}") as channel,
    ):
        stub = health_pb2_grpc.HealthStub(channel)
        watches = [stub.Watch(health_pb2.HealthCheckRequest()) for _ in range(20)]
        for watch in watches:
            assert next(watch).status == health_pb2.HealthCheckResponse.SERVING
        assert call(channel, REQUEST) == REQUEST


def test_statuses_with_an_engine_behind(shared_server):
    """What the models' processes say comes over both interfaces in the same words."""
    with Toy(f"127.0.0.1:{shared_server.grpc_port}") as toy:
        assert toy.predict("half_plus", x=[2.0])["y"] == [4.0]
        status, message = refusal(toy.predict, "refuse", x=[-1.0])
        assert status == "INVALID_ARGUMENT" and "x must not be negative" in message
        body = {"signature_name": "refuse", "instances": [-1.0]}
        code, document = ask(shared_server, "POST", "/v1/models/toy:predict", body)
        assert code == 400 and document["error"] == message
        started = time.monotonic()
        inputs = {"x": [1.0], "seconds": [1000.0]}
        assert refusal(toy.predict, "slow", timeout=0.5, **inputs)[0] == "DEADLINE_EXCEEDED"
        assert time.monotonic() - started < 5
        assert toy.predict("half_plus", x=[2.0])["y"] == [4.0]
        # a message whose beginning can be read, its inputs not
        broken = REQUEST + b"\x12\x05\xff\xff\xff\xff\xff"
        with pytest.raises(grpc.RpcError) as caught:
            toy.channel.unary_unary(PREDICT)(broken, timeout=PATIENCE)
        assert caught.value.code().name == "INTERNAL"
        assert caught.value.details() == "Exception deserializing request!"
