"""Requests made to break the server: it refuses them by name, keeps running, and its memory does
not grow.
"""

import concurrent.futures
import contextlib
import gzip
import http.client
import json
import re
import struct
import time

import grpc
import psutil
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from http2_frames import Http2Client
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import predict_pb2
from watched_server import status, watched_server

from rnnsearch_tf.extras.server import core

MEBI = 1 << 20
LIMIT = 16 * MEBI  # bytes of a request
PATIENCE = 30  # seconds for any one answer


@pytest.fixture(scope="module")
def watched(toy_base):
    with watched_server(toy_base, f"--max_request_bytes={LIMIT}") as server:
        yield server


@pytest.fixture
def server(watched):
    """It has survived every test, and so has the process of its model."""
    watched.forget_peak()
    restarts = starts_again(watched)
    yield watched
    log = "".join(watched.log[-20:])
    assert watched.process.poll() is None, f"the server is gone\n{log}"
    assert starts_again(watched) == restarts, log


def starts_again(server) -> int:
    """How often the model's process was started again."""
    connection = http.client.HTTPConnection(server.rest, timeout=PATIENCE)
    connection.request("GET", "/monitoring/prometheus/metrics")
    page = connection.getresponse().read().decode()
    connection.close()
    return int(float(re.search(r'model_restarts\{model_name="toy"\} (\S+)', page)[1]))


def own(server, name="VmRSS") -> int:
    """Bytes of the process that listens."""
    return status(psutil.Process(server.process.pid), name)


def healthy(server) -> tuple[bool, float]:
    """(whether the health service says SERVING, seconds until it had answered)."""
    started = time.monotonic()
    with grpc.insecure_channel(server.grpc, [("grpc.use_local_subchannel_pool", 1)]) as channel:
        stub = health_pb2_grpc.HealthStub(channel)
        answer = stub.Check(health_pb2.HealthCheckRequest(), timeout=PATIENCE)
    serves = answer.status == health_pb2.HealthCheckResponse.SERVING
    return serves, time.monotonic() - started


def wait_until_healthy(server):
    end = time.monotonic() + PATIENCE
    while not healthy(server)[0]:
        assert time.monotonic() < end, "the model does not answer"


def request(shape, values=(b"a",), name="text", dtype=types_pb2.DT_STRING, signature=""):
    """The bytes of a PredictRequest."""
    message = predict_pb2.PredictRequest(model_spec={"name": "toy", "signature_name": signature})
    tensor = message.inputs[name]
    tensor.dtype = dtype
    for size in shape:
        tensor.tensor_shape.dim.add(size=size)
    (tensor.string_val if dtype == types_pb2.DT_STRING else tensor.float_val).extend(values)
    return message.SerializeToString()


def predict(server, body, timeout=PATIENCE, compression=None):
    """(status, message) of a Predict whose request is these bytes, on a connection of its own."""
    options = [
        ("grpc.max_send_message_length", -1),
        ("grpc.max_receive_message_length", -1),
        ("grpc.use_local_subchannel_pool", 1),
    ]
    with grpc.insecure_channel(server.grpc, options) as channel:
        try:
            channel.unary_unary("/tensorflow.serving.PredictionService/Predict")(
                body, timeout=timeout, compression=compression
            )
        except grpc.RpcError as error:
            return error.code().name, error.details()
    return "OK", ""


def post(server, body, timeout=PATIENCE, headers={}):
    """(status, decoded answer) of a :predict over REST."""
    connection = http.client.HTTPConnection(server.rest, timeout=timeout)
    try:
        text = body if isinstance(body, bytes) else json.dumps(body)
        connection.request("POST", "/v1/models/toy:predict", text, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read())
    finally:
        connection.close()


def nested(value, depth):
    for _ in range(depth):
        value = [value]
    return value


@pytest.mark.parametrize("rank", [2, 31, 32, 33, 34, 48, 63, 64, 65, 128, 254, 255, 500])
def test_a_rank_is_answered_or_refused_and_nothing_more(server, rank):
    """Up to 32 dimensions the model's own operations say what they take; beyond, no tensor reaches
    them.
    """
    taken = rank <= 32
    for arguments in (
        {},
        {"values": [1.0], "name": "x", "dtype": types_pb2.DT_FLOAT, "signature": "half_plus"},
    ):
        status, message = predict(server, request([1] * rank, **arguments))
        assert status == "INVALID_ARGUMENT" or taken and status == "OK", message
    for form in ("instances", "inputs"):
        for values in (nested("a", rank), nested([], rank - 1)):  # one, and none at all
            assert post(server, {form: values})[0] in ((200, 400) if taken else (400,))
        status = post(server, {form: nested(1.0, rank), "signature_name": "half_plus"})[0]
        assert status in ((200, 400) if taken else (400,))
    assert predict(server, request([1]))[0] == "OK"


SMALL = {
    "rows": request([2_000_000]),
    "many_rows": request([60_000_000]),
    "columns": request([1, 20_000_000]),
    "long_value": request([1, 600_000], [b"a" * 100_000]),
    "long_rows": request([500], [b"a" * 3_000_000]),
    "floats": request([16_000_000], [1.0], "x", types_pb2.DT_FLOAT, "half_plus"),
    "nothing": request([1 << 40, 0], []),
    "nothing_within": request([1, 1 << 40, 0], []),
}


@pytest.mark.parametrize("name", SMALL)
def test_a_few_bytes_do_not_fill_the_memory(server, name):
    before = server.memory()
    assert predict(server, SMALL[name])[0] == "INVALID_ARGUMENT"
    assert server.peak() - before < 400 * MEBI


def test_rows_have_a_limit(server):
    before = server.memory()
    status, message = predict(server, request([50_000], [b"a sentence ."] * 50_000))
    assert status == "INVALID_ARGUMENT"
    assert "expected at most 512 rows in a request, got 50000" in message
    assert "--max_request_rows" in message
    status, answer = post(server, {"instances": ["a sentence ."] * 50_000})
    assert status == 400 and "expected at most 512 rows in a request, got 50000" in answer["error"]
    assert post(server, {"inputs": ["a sentence ."] * 513})[0] == 400
    assert predict(server, request([512], [b"a sentence ."] * 512))[0] == "OK"
    assert len(post(server, {"instances": ["a sentence ."] * 512})[1]["predictions"]) == 512
    assert server.peak() - before < 200 * MEBI


def test_what_is_long_to_read_does_not_fill_the_memory_either(server):
    """Bodies just below the limit that unfold as much as their format lets them, as many as are
    held at once: the model's process is not ended for its memory, and health is answered all the
    while.
    """
    size = 15 * MEBI
    empty = request([size // 2], [b""] * (size // 2))
    bodies = {
        "strings": b'{"instances": [' + b'"",' * (size // 3) + b'""]}',
        "objects": b'{"inputs": [' + b"{}," * (size // 3) + b"{}]}",
        "lists": b'{"inputs": [' + b"[]," * (size // 3) + b"[]]}",
        "numbers": b'{"inputs": [' + b"1," * (size // 2) + b"1]}",
        "escapes": b'{"inputs": ["' + rb"\n" * (size // 2) + b'"]}',
    }
    before = server.memory()
    assert (3 + len(bodies)) * size < core.MOST_BYTES
    with concurrent.futures.ThreadPoolExecutor(3 + len(bodies)) as pool:
        asked = [pool.submit(predict, server, empty, 60) for _ in range(3)]
        asked += [pool.submit(post, server, body, 60) for body in bodies.values()]
        delays = []
        while not all(future.done() for future in asked):
            delays.append(healthy(server)[1])
    statuses = [future.result()[0] for future in asked]
    assert statuses == ["INVALID_ARGUMENT"] * 3 + [400] * 4 + [200]
    assert server.peak() - before < 1200 * MEBI
    assert max(delays) < 5
    wait_until_healthy(server)


def test_many_large_requests_at_once_take_little_memory(server):
    """64 of 15 MiB, almost 1 GiB together: each is answered, or told to come again; small ones are
    answered meanwhile.
    """
    large = request([1], [b"a" * (15 * MEBI)])
    before = own(server)
    with concurrent.futures.ThreadPoolExecutor(64) as pool:
        asked = [pool.submit(predict, server, large, 120) for _ in range(64)]
        small = []
        while not all(call.done() for call in asked):
            small.append(predict(server, request([1]))[0])
            assert healthy(server)[1] < 5
    statuses = [call.result()[0] for call in asked]
    assert set(statuses) <= {"OK", "UNAVAILABLE"} and statuses.count("OK") >= 4
    assert len(small) > 1 and set(small) == {"OK"}
    assert own(server, "VmHWM") - before < 1000 * MEBI
    assert own(server) - before < 250 * MEBI  # what was taken is given back
    assert predict(server, large)[0] == "OK"
    wait_until_healthy(server)


def test_bodies_beyond_the_limit(server):
    before = own(server)
    status, message = predict(server, request([1], [b"a" * (17 * MEBI)]))
    assert status == "RESOURCE_EXHAUSTED" and f"vs. {LIMIT}" in message
    bomb = request([1], [b"a" * (100 * MEBI)])
    for _ in range(2):
        status, _ = predict(server, bomb, compression=grpc.Compression.Gzip)
        assert status == "RESOURCE_EXHAUSTED"
    bomb = gzip.compress(bytes(300 * MEBI), 1)
    assert post(server, bomb, headers={"Content-Encoding": "gzip"})[0] == 429
    status, answer = post(server, b" " * (40 * MEBI))
    assert status == 413 and f"expected a body of at most {LIMIT} bytes" in answer["error"]
    assert own(server, "VmHWM") - before < 200 * MEBI


def test_messages_that_are_not_read_yet_do_not_fill_the_memory(server):
    """40 connections, on each the first 3 MiB of 15 MiB, as far as the server lets them through."""
    before = own(server)
    port = int(server.grpc.split(":")[1])
    with contextlib.ExitStack() as stack:
        clients = [stack.enter_context(Http2Client(port)) for _ in range(40)]
        for client in clients:
            client.begin(1)
            client.send(1, struct.pack("!?I", False, 15 * MEBI))
        for client in clients:
            client.send_what_is_taken(1, 3 * MEBI, seconds=0.1)
        assert predict(server, request([1]))[0] in ("OK", "UNAVAILABLE")
        assert healthy(server)[1] < 5
        assert own(server, "VmHWM") - before < 80 * MEBI
    assert predict(server, request([1]))[0] == "OK"
