"""More requests and connections than the server takes: it says so, and health and status answer all
the while.
"""

import collections
import concurrent.futures
import contextlib
import http.client
import json
import resource
import socket
import threading
import time

import grpc
import pytest
from fake_core import FakeCore
from tensorflow_serving.apis import (
    get_model_metadata_pb2,
    get_model_status_pb2,
    model_service_pb2_grpc,
    prediction_service_pb2_grpc,
)
from toy_calls import Toy, decoded
from toy_model import Gate
from watched_server import watched_server

from rnnsearch_tf.extras.server import connections
from rnnsearch_tf.extras.server import json_tensors
from rnnsearch_tf.extras.server.connections import Limits
from rnnsearch_tf.extras.server.rest import RestServer

SOON = 3  # seconds: what is answered at once, by a busy machine; 0.02 on a quiet one
LONG = 60
BATCHING = (
    "max_batch_size { value: 1 } num_batch_threads { value: 1 } max_enqueued_batches { value:"
    " 100000 }"
)
"""One call of the graph at a time, so that those that wait take no processor."""


@pytest.fixture(scope="module")
def busy(toy_base, tmp_path_factory):
    """A server of 1,000 waiting predictions, with metrics."""
    folder = tmp_path_factory.mktemp("busy")
    (folder / "batching.config").write_text(BATCHING)
    (folder / "monitoring.config").write_text('prometheus_config { enable: true path: "/metrics" }')
    flags = [
        "--enable_batching",
        f"--batching_parameters_file={folder}/batching.config",
        "--rest_api_timeout_in_ms=100000",
        f"--monitoring_config_file={folder}/monitoring.config",
    ]
    with watched_server(toy_base, *flags) as server:
        yield server


def get(address, path):
    """(status, seconds until the answer had come) on a connection of its own."""
    started = time.monotonic()
    with contextlib.closing(http.client.HTTPConnection(address, timeout=LONG)) as connection:
        connection.request("GET", path)
        response = connection.getresponse()
        response.read()
        return response.status, time.monotonic() - started


def check_that_it_answers(server):
    """Health, status, metadata, a refused reload and the metrics, each soon."""
    assert server.healthy_after() < SOON
    for path in ("/v1/models/toy", "/v1/models/toy/metadata", "/metrics"):
        status, seconds = get(server.rest, path)
        assert status == 200 and seconds < SOON, path
    with grpc.insecure_channel(server.grpc) as channel:
        models = model_service_pb2_grpc.ModelServiceStub(channel)
        predictions = prediction_service_pb2_grpc.PredictionServiceStub(channel)
        models.GetModelStatus(
            get_model_status_pb2.GetModelStatusRequest(model_spec={"name": "toy"}), timeout=SOON
        )
        fields = {"model_spec": {"name": "toy"}, "metadata_field": ["signature_def"]}
        predictions.GetModelMetadata(
            get_model_metadata_pb2.GetModelMetadataRequest(**fields), timeout=SOON
        )


@pytest.mark.parametrize("interface", ["grpc", "rest"])
def test_health_and_status_answer_while_predictions_fill_the_threads(busy, tmp_path, interface):
    gate = Gate(tmp_path)
    body = json.dumps({"signature_name": "gate", "instances": [gate.path]})

    def post():
        with contextlib.closing(http.client.HTTPConnection(busy.rest, timeout=LONG)) as connection:
            connection.request("POST", "/v1/models/toy:predict", body)
            return connection.getresponse().status

    with Toy(busy.grpc) as toy, concurrent.futures.ThreadPoolExecutor(150) as pool:
        asked = [
            (
                toy.begin("gate", timeout=LONG, path=[gate.path])
                if interface == "grpc"
                else pool.submit(post)
            )
            for _ in range(150)
        ]
        try:
            gate.wait_until_entered()
            time.sleep(0.5)  # the others arrive
            check_that_it_answers(busy)
            assert not any(call.done() for call in asked)
        finally:
            gate.open()
        if interface == "grpc":
            assert all(
                decoded(call.result())["opened"].tolist() == [gate.path.encode()] for call in asked
            )
        else:
            assert all(call.result() == 200 for call in asked)


@pytest.mark.parametrize("count", [4000, pytest.param(10_000, marks=pytest.mark.slow)])
def test_beyond_the_queue_is_unavailable(busy, tmp_path, count):
    gate = Gate(tmp_path)
    with Toy(busy.grpc) as toy:
        request = toy.request("gate", None, "", {"path": [gate.path]})
        asked = [toy.stub.Predict.future(request, timeout=2 * LONG) for _ in range(count)]
        try:
            gate.wait_until_entered()
            end = time.monotonic() + LONG
            # 64 threads, 1,000 in the queue
            while sum(call.done() for call in asked) < count - 1064:
                assert time.monotonic() < end, (
                    f"{sum(call.done() for call in asked)} of {count} refused"
                )
                assert busy.healthy_after() < SOON
                time.sleep(0.1)
            check_that_it_answers(busy)
        finally:
            gate.open()
        statuses = collections.Counter(
            call.exception().code().name if call.exception() else "OK" for call in asked
        )
    assert statuses == {"OK": 1064, "UNAVAILABLE": count - 1064}


@pytest.fixture
def rest():
    """rest(**limits) → (address, FakeCore) of a REST server without a model."""
    servers = []

    def start(threads=4, **limits):
        core = FakeCore()
        server = RestServer(core, threads=threads, timeout=LONG, limits=Limits(**limits))
        server.start()
        servers.append((server, core))
        return ("127.0.0.1", server.port), core

    yield start
    for server, core in servers:
        core.gate.set()
        server.stop(0)


def is_closed(connection):
    """Whether the server has closed it by now."""
    connection.settimeout(0.01)
    try:
        return connection.recv(1 << 20) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


HEAD = b"POST /v1/models/toy:predict HTTP/1.1\r\nHost: x\r\n"


def test_beyond_the_queue_of_rest_is_503(rest):
    address, core = rest(threads=2, waiting=3)
    core.gate.clear()
    request = HEAD + b'Content-Length: 20\r\n\r\n{"instances": ["a"]}'
    refused = []

    def ask():
        with socket.create_connection(address, timeout=LONG) as connection:
            connection.sendall(request)
            answer = connection.recv(100)
            if b" 503 " in answer:
                refused.append(answer + b"".join(iter(lambda: connection.recv(1000), b"")))
            return answer[9:12]

    with concurrent.futures.ThreadPoolExecutor(9) as pool:
        asked = [pool.submit(ask) for _ in range(9)]
        try:
            assert core.arrived.wait(LONG)
            assert get("%s:%d" % address, "/v1/models/toy")[1] < SOON
            end = time.monotonic() + 10
            # two threads and three places; before the threads took any, three
            while len(refused) < 4 and time.monotonic() < end:
                time.sleep(0.01)
        finally:
            core.gate.set()
        statuses = collections.Counter(call.result() for call in asked)
    assert 4 <= statuses[b"503"] <= 6 and statuses[b"200"] == 9 - statuses[b"503"]
    assert all(
        answer.endswith(b'{"error": "Too many requests are waiting; try again later"}')
        for answer in refused
    )


@pytest.mark.parametrize("sent", [b"", b"GET /v1"], ids=["idle", "half_a_request"])
def test_connections_do_not_shut_others_off(rest, sent):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 8000), hard), hard))
    try:
        address, core = rest(threads=4, waiting=100)  # it keeps 1,104
        core.gate.clear()
        with contextlib.ExitStack() as stack:
            working = stack.enter_context(socket.create_connection(address, timeout=LONG))
            working.sendall(HEAD + b'Content-Length: 20\r\n\r\n{"instances": ["a"]}')
            assert core.arrived.wait(LONG)
            for _ in range(1300):
                stack.enter_context(socket.create_connection(address, timeout=LONG)).sendall(sent)
            time.sleep(0.5)  # what they sent has been read
            late = stack.enter_context(socket.create_connection(address, timeout=LONG))
            time.sleep(0.2)  # it is accepted before it sends anything
            late.sendall(b"GET /v1/models/toy HTTP/1.1\r\nHost: x\r\n\r\n")
            assert b" 200 " in late.recv(1000)
            status, seconds = get("%s:%d" % address, "/v1/models/toy")
            assert status == 200 and seconds < SOON
            core.gate.set()
            assert b" 200 " in working.recv(1000)  # who works is left alone
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_idle_connections_make_way_before_those_that_are_sending(rest, monkeypatch):
    monkeypatch.setattr(connections, "SPARE_CONNECTIONS", 0)
    monkeypatch.setattr(connections, "NEW", 0.1)
    address, _ = rest(threads=2, waiting=2)

    def connect():
        return stack.enter_context(socket.create_connection(address, timeout=LONG))

    with contextlib.ExitStack() as stack:
        sending = connect()
        sending.sendall(HEAD)
        time.sleep(0.05)
        idle = connect()
        late = connect()
        time.sleep(0.2)  # none of the three is new now
        for _ in range(2):
            connect()
            asking = connect()  # the fifth, then again
            asking.sendall(b"GET /v1/models/toy HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
            # read to its end, so that the server no longer counts the connection
            assert b" 200 " in b"".join(iter(lambda: asking.recv(1 << 16), b""))
        assert is_closed(idle) and is_closed(late) and not is_closed(sending)
        sending.sendall(b'Content-Length: 20\r\n\r\n{"instances": ["a"]}')
        sending.settimeout(LONG)
        assert b" 200 " in sending.recv(1000)


def test_slow_clients_are_dropped_and_others_are_not(rest):
    address, core = rest(client_timeout=1.0, idle_timeout=6.0)
    with contextlib.ExitStack() as stack:
        header, body, idle, working, reader = (
            stack.enter_context(socket.create_connection(address, timeout=LONG)) for _ in range(5)
        )
        header.sendall(HEAD)
        body.sendall(HEAD + b"Content-Length: 1000\r\n\r\n{")
        text = b"a" * (12 << 20)
        reader.sendall(
            HEAD + b'Content-Length: %d\r\n\r\n{"inputs": ["%s"]}' % (len(text) + 15, text)
        )
        reader.recv(1)  # the answer has begun; the rest is not taken
        core.arrived.clear()
        core.gate.clear()
        working.sendall(HEAD + b'Content-Length: 20\r\n\r\n{"instances": ["a"]}')
        assert core.arrived.wait(LONG)
        started = time.monotonic()
        closed = {}
        while len(closed) < 2 and time.monotonic() < started + LONG:
            for name, connection in (("header", header), ("body", body)):
                if name not in closed:
                    with contextlib.suppress(OSError):
                        connection.sendall(b"X")  # a byte now and then
                    if is_closed(connection):
                        closed[name] = time.monotonic() - started
            time.sleep(0.1)
        assert len(closed) == 2 and max(closed.values()) < 5, closed
        assert not is_closed(idle) and not is_closed(working)
        core.gate.set()
        working.settimeout(LONG)
        assert b" 200 " in working.recv(1000)
        received = read_to_the_end(reader)
        assert received < len(text), "the answer that was not taken is given up"
        idle.settimeout(LONG)
        assert idle.recv(1) == b"" and time.monotonic() - started > 3


def read_to_the_end(connection):
    total = 0
    with contextlib.suppress(OSError):
        while data := connection.recv(1 << 16):
            total += len(data)
    return total


def test_a_request_that_comes_slowly_but_in_time_is_answered(rest):
    address, _ = rest(client_timeout=LONG)
    with socket.create_connection(address, timeout=LONG) as connection:
        for piece in (HEAD, b"Content-Length: 20\r\n\r\n", b'{"instances": ', b'["a"]}'):
            connection.sendall(piece)
            time.sleep(0.1)
        assert b" 200 " in connection.recv(1000)


def test_large_bodies_are_read_in_turn(rest, monkeypatch):
    """Eight clients at once: a small body is read beside others, a large one only alone; and every
    one is answered.
    """
    assert most_read_at_once(rest, monkeypatch, json.dumps({"instances": ["a"]}).encode()) > 1
    assert (
        most_read_at_once(rest, monkeypatch, json.dumps({"instances": ["a," * 40] * 2000}).encode())
        == 1
    )


def most_read_at_once(rest, monkeypatch, body):
    address, core = rest(threads=8)
    answers = []
    reading = [0]
    most = [0]
    lock = threading.Lock()
    parse = json_tensors.parse

    def slowly(*arguments):
        with lock:
            reading[0] += 1
            most[0] = max(most[0], reading[0])
        time.sleep(0.1)
        with lock:
            reading[0] -= 1
        return parse(*arguments)

    monkeypatch.setattr(json_tensors, "parse", slowly)

    def post():
        with contextlib.closing(http.client.HTTPConnection(*address, timeout=LONG)) as connection:
            connection.request("POST", "/v1/models/toy:predict", body)
            answers.append(connection.getresponse().status)

    threads = [threading.Thread(target=post) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    monkeypatch.setattr(json_tensors, "parse", parse)
    assert answers == [200] * 8
    return most[0]
