"""Requests made to break the server: it refuses them by name, keeps running, and its memory does
not grow.
"""

import concurrent.futures
import http.client
import json
import socket

import grpc
import pytest
from tensorflow.core.framework import types_pb2
from tensorflow_serving.apis import predict_pb2
from watched_server import watched_server

MEBI = 1 << 20
PATIENCE = 30  # seconds for any one answer


@pytest.fixture(scope="module")
def keep_server(toy_base):
    """A server for every test here; a new one where the last has not survived."""
    running = []

    def current():
        if not running or running[-1][0].process.poll() is not None:
            manager = watched_server(toy_base)
            running.append((manager.__enter__(), manager))
        return running[-1][0]

    yield current
    for _, manager in running:
        manager.__exit__(None, None, None)


@pytest.fixture
def server(keep_server):
    server = keep_server()
    server.forget_peak()
    yield server
    assert server.process.poll() is None, (
        f"the server is gone: {server.process.poll()}\n{''.join(server.log[-20:])}"
    )


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
    """(status, message) of a Predict whose request is these bytes."""
    options = [("grpc.max_send_message_length", -1), ("grpc.max_receive_message_length", -1)]
    with grpc.insecure_channel(server.grpc, options) as channel:
        try:
            channel.unary_unary("/tensorflow.serving.PredictionService/Predict")(
                body, timeout=timeout, compression=compression
            )
        except grpc.RpcError as error:
            return error.code().name, error.details()
    return "OK", ""


def post(server, body, timeout=PATIENCE):
    """(status, decoded answer) of a :predict over REST."""
    connection = http.client.HTTPConnection(server.rest, timeout=timeout)
    try:
        connection.request(
            "POST", "/v1/models/toy:predict", body if isinstance(body, bytes) else json.dumps(body)
        )
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
    assert (
        "expected at most 512 rows in a request, got 50000" in message
        and "--max_request_rows" in message
    )
    status, answer = post(server, {"instances": ["a sentence ."] * 50_000})
    assert status == 400 and "expected at most 512 rows in a request, got 50000" in answer["error"]
    assert post(server, {"inputs": ["a sentence ."] * 513})[0] == 400
    assert predict(server, request([512], [b"a sentence ."] * 512))[0] == "OK"
    assert len(post(server, {"instances": ["a sentence ."] * 512})[1]["predictions"]) == 512
    assert server.peak() - before < 200 * MEBI


def test_what_is_long_to_read_does_not_fill_the_memory_either(server):
    """Bodies just below the limit that unfold as much as their format lets them, eight at once."""
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
    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        asked = [pool.submit(predict, server, empty, 60) for _ in range(4)]
        asked += [pool.submit(post, server, body, 60) for name, body in bodies.items()]
        delays = []
        while not all(future.done() for future in asked):
            delays.append(server.healthy_after())
    statuses = [future.result()[0] for future in asked]
    assert statuses == ["INVALID_ARGUMENT"] * 4 + [400] * 4 + [200]
    assert server.peak() - before < 1200 * MEBI
    assert max(delays) < 5


def test_bodies_beyond_the_limit(server):
    before = server.memory()
    assert predict(server, request([1], [b"a" * (17 * MEBI)]))[0] == "RESOURCE_EXHAUSTED"
    for _ in range(3):
        assert (
            predict(server, request([1], [b"a" * (200 * MEBI)]), compression=grpc.Compression.Gzip)[
                0
            ]
            == "RESOURCE_EXHAUSTED"
        )
    head = b"POST /v1/models/toy:predict HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % (
        17 * MEBI
    )
    host, port = server.rest.split(":")
    with socket.create_connection((host, int(port)), timeout=PATIENCE) as connection:
        connection.sendall(head)
        assert b" 413 " in connection.recv(1000)
    assert server.peak() - before < 200 * MEBI
