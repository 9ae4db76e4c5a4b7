"""More requests and connections than the server takes, and clients that are slow: it says so, or
drops them, and health and status answer all the while.
"""

import collections
import concurrent.futures
import contextlib
import os
import resource
import socket
import time

import grpc
import pytest
from grpc_health.v1 import health_pb2, health_pb2_grpc
from http2_frames import PREDICT
from rest_calls import HEAD, ask, connected, post, read_to_the_end
from scripted_server import ScriptedServer
from tensorflow_serving.apis import get_model_status_pb2, model_service_pb2_grpc, predict_pb2
from toy_calls import Toy, decoded
from toy_model import Gate

from rnnsearch_tf.extras.server import core, process, rest
from rnnsearch_tf.extras.server.frames import Kind

SOON = 3  # seconds: what is answered at once, by a busy machine; 0.02 on a quiet one
LONG = 60
WAITING = 300
STREAMS = 250  # calls of a connection; the server takes 256
REQUEST = predict_pb2.PredictRequest(model_spec={"name": "toy"}).SerializeToString()
LARGE = 12 << 20  # bytes of an answer


def answer(name, kind, data, seconds):
    """What the scripted model says: over gRPC the request, over REST a document, or a large one."""
    if kind == Kind.PREDICT:
        return data
    return b'"%s"' % (b"a" * LARGE) if b"large" in data else b'{"predictions": []}'


@pytest.fixture(scope="module")
def server():
    with ScriptedServer(answer, max_waiting_requests=WAITING) as server:
        yield server


@pytest.fixture
def gate(server):
    """Predictions wait until this is set; set it is afterwards."""
    server.process.gate.clear()
    yield server.process.gate
    server.process.gate.set()


@contextlib.contextmanager
def channels(server, count):
    """Channels that have a connection each."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    with contextlib.ExitStack() as stack:
        yield [
            stack.enter_context(grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}", options))
            for _ in range(count)
        ]


def check_that_it_answers(server):
    """Health, status and the metrics, each soon."""
    started = time.monotonic()
    with channels(server, 1) as [channel]:
        stub = health_pb2_grpc.HealthStub(channel)
        check = stub.Check(health_pb2.HealthCheckRequest(), timeout=SOON)
        assert check.status == health_pb2.HealthCheckResponse.SERVING
        request = get_model_status_pb2.GetModelStatusRequest(model_spec={"name": "toy"})
        stub = model_service_pb2_grpc.ModelServiceStub(channel)
        assert stub.GetModelStatus(request, timeout=SOON).model_version_status
    assert ask(server, "GET", "/v1/models/toy")[0] == 200
    with connected(server) as connection:
        page = b"GET /monitoring/prometheus/metrics HTTP/1.1\r\nHost: localhost\r\n"
        connection.sendall(page + b"Connection: close\r\n\r\n")
        assert b"request_count" in read_to_the_end(connection)
    assert time.monotonic() - started < 2 * SOON


def wait_until(condition, seconds=LONG):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came so far"
        time.sleep(0.01)


@pytest.mark.parametrize("count", [1200, pytest.param(4000, marks=pytest.mark.slow)])
def test_beyond_the_queue_is_unavailable(server, gate, count):
    with channels(server, -(-count // STREAMS)) as connections:
        predictions = [channel.unary_unary(PREDICT) for channel in connections]
        asked = [predictions[k // STREAMS].future(REQUEST, timeout=2 * LONG) for k in range(count)]
        wait_until(lambda: sum(call.done() for call in asked) == count - WAITING)
        check_that_it_answers(server)
        status, document = post(server, {})  # both interfaces wait together
        message = "Too many requests are in progress; try again later"
        assert (status, document) == (503, {"error": message})
        assert server.process.waiting == WAITING
        gate.set()
        statuses = collections.Counter(
            (call.exception().code().name, call.exception().details()) if call.exception() else "OK"
            for call in asked
        )
    assert statuses == {"OK": WAITING, ("UNAVAILABLE", message): count - WAITING}
    assert post(server, {})[0] == 200


def test_beyond_the_queue_of_rest_is_503(server, gate):
    more = 20
    request = HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}"
    with contextlib.ExitStack() as stack:
        asked = [stack.enter_context(connected(server)) for _ in range(WAITING + more)]
        for connection in asked:
            connection.sendall(request)
        wait_until(lambda: server.process.waiting == WAITING)
        check_that_it_answers(server)
        gate.set()
        answers = [read_to_the_end(connection) for connection in asked]
    assert collections.Counter(answer[9:12] for answer in answers) == {
        b"200": WAITING,
        b"503": more,
    }
    refused = b'{"error": "Too many requests are in progress; try again later"}'
    assert sum(answer.endswith(refused) for answer in answers) == more


@pytest.mark.parametrize("interface", ["grpc", "rest"])
def test_all_are_answered_when_the_model_has_more_to_do_than_it_can_at_once(
    shared_server, interface
):
    count = 5 * process.SMALL_RUNS
    inputs = {"x": [1.0], "seconds": [0.1]}
    rows = [{"x": 1.0, "seconds": 0.1}]
    body = {"signature_name": "slow", "instances": rows}
    with Toy(f"127.0.0.1:{shared_server.grpc_port}") as toy:
        with concurrent.futures.ThreadPoolExecutor(count) as pool:
            asked = [
                (
                    toy.begin("slow", timeout=LONG, **inputs)
                    if interface == "grpc"
                    else pool.submit(post, shared_server, body)
                )
                for _ in range(count)
            ]
            check_that_it_answers(shared_server)
            answers = [call.result(LONG) for call in asked]
    if interface == "grpc":
        assert all(decoded(answer)["y"].tolist() == [1.0] for answer in answers)
    else:
        assert answers == [(200, {"predictions": [1.0]})] * count


def test_what_waits_too_long_for_a_model_that_is_stuck_is_unavailable(
    served, toy_base, tmp_path, monkeypatch
):
    """The model's process reads a pipe to which nobody writes; the requests that do not run yet are
    refused soon, and all goes on when the pipe is written to.
    """
    monkeypatch.setattr(process, "QUEUE_SECONDS", 0.5)
    server = served(toy_base)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with Toy(f"127.0.0.1:{server.grpc_port}") as toy:
        stuck = [
            toy.begin("block", timeout=LONG, path=[str(pipe)]) for _ in range(process.SMALL_RUNS)
        ]
        wait_until(pipe.with_name("pipe.entered").exists)
        wait_until(lambda: server._models.process("toy")._small._free.locked())
        stuck[0].cancel()  # its run goes on, so its place stays taken
        late = toy.begin("half_plus", timeout=LONG, x=[2.0])
        error = late.exception()
        assert error.code().name == "UNAVAILABLE" and "The model is busy" in error.details()
        body = {"signature_name": "half_plus", "instances": [2.0]}
        status, document = post(server, body)
        assert status == 503 and "The model is busy" in document["error"]
        assert ask(server, "GET", "/v1/models/toy")[0] == 200
        assert toy.status()[2].state == get_model_status_pb2.ModelVersionStatus.AVAILABLE
        assert not any(call.done() for call in stuck[1:])
        wait_until(lambda: toy.health() == "NOT_SERVING")
        for call in stuck:
            while not call.done():  # each reader takes one writer
                with contextlib.suppress(OSError):  # nobody reads
                    os.close(os.open(pipe, os.O_WRONLY | os.O_NONBLOCK))
                time.sleep(0.01)
        assert toy.predict("half_plus", x=[2.0])["y"] == [4.0]
        wait_until(lambda: toy.health() == "SERVING")


def test_two_large_requests_run_at_once_and_small_ones_do_not_wait_for_them(
    shared_server, tmp_path
):
    gates = [Gate(tmp_path, f"gate{number}") for number in range(process.LARGE_RUNS + 1)]
    with Toy(f"127.0.0.1:{shared_server.grpc_port}") as toy:
        calls = []
        for gate in gates:
            calls.append(toy.begin("gate", path=[gate.path, "a" * process.SMALL]))
            if gate is not gates[-1]:
                gate.wait_until_entered()
        for _ in range(20):
            assert toy.predict("half_plus", x=[2.0])["y"] == [4.0]
        assert not gates[-1].file.with_name(f"{gates[-1].file.name}.entered").exists()
        gates[0].open()
        gates[-1].wait_until_entered()
        for gate in gates:
            gate.open()
        for call in calls:
            call.result(LONG)


@pytest.fixture
def many_files():
    """This process may have 8,000 connections."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(max(soft, 8000), hard), hard))
    yield
    resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


@pytest.mark.parametrize("sent", [b"", b"GET /v1"], ids=["idle", "half_a_request"])
def test_connections_do_not_shut_others_off(server, gate, many_files, sent):
    with contextlib.ExitStack() as stack:
        working = stack.enter_context(connected(server))
        working.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")
        wait_until(lambda: server.process.waiting)
        for _ in range(1300):
            stack.enter_context(connected(server)).sendall(sent)
        late = stack.enter_context(connected(server))
        late.sendall(b"GET /v1/models/toy HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in late.recv(1000)
        check_that_it_answers(server)
        gate.set()
        assert b" 200 " in working.recv(1000)  # who works is left alone


def test_connections_beyond_the_limit_are_refused_until_silent_ones_are_dropped(monkeypatch):
    monkeypatch.setattr(rest, "CONNECTIONS", 20)
    monkeypatch.setattr(rest, "CLIENT_SECONDS", 1.0)
    with ScriptedServer(answer) as server, contextlib.ExitStack() as stack:
        silent = [stack.enter_context(connected(server)) for _ in range(30)]
        request = b"GET /v1/models/toy HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n"

        def status():
            with connected(server) as connection:
                connection.sendall(request)
                return read_to_the_end(connection)[9:12]

        assert status() == b"503"
        wait_until(lambda: status() == b"200")
        assert all(connection.recv(1) == b"" for connection in silent)


def is_closed(connection):
    """Whether the server has closed it by now."""
    connection.settimeout(0.01)
    try:
        return connection.recv(1 << 20) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_slow_clients_are_dropped_and_others_are_not(server, gate, monkeypatch):
    monkeypatch.setattr(rest, "CLIENT_SECONDS", 1.0)
    with contextlib.ExitStack() as stack:
        head, body, kept, working = (stack.enter_context(connected(server)) for _ in range(4))
        kept.sendall(b"GET /v1/models/toy HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in kept.recv(1000)
        working.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")
        wait_until(lambda: server.process.waiting)
        started = time.monotonic()
        head.sendall(HEAD)
        body.sendall(HEAD + b"Content-Length: 1000\r\n\r\n{")
        answers = {}
        dropped = {}
        while len(dropped) < 2 and time.monotonic() < started + LONG:
            for name, connection in (("head", head), ("body", body)):
                if name in dropped:
                    continue
                try:
                    connection.sendall(b"X")  # a byte now and then
                    connection.settimeout(0.01)
                    data = connection.recv(1000)
                    if data:
                        answers[name] = data
                    else:
                        dropped[name] = time.monotonic() - started
                except TimeoutError:
                    pass
                except OSError:
                    dropped[name] = time.monotonic() - started
            time.sleep(0.05)
        assert len(dropped) == 2 and 0.9 < min(dropped.values()) < max(dropped.values()) < 10
        assert "head" not in answers and answers["body"].startswith(b"HTTP/1.1 504 ")
        assert not is_closed(kept) and not is_closed(working)
        gate.set()
        working.settimeout(LONG)
        assert b" 200 " in working.recv(1000)
        wait_until(lambda: server._core._bytes == server._core._waiting == 0)


def test_an_idle_connection_is_closed_after_its_time(monkeypatch):
    monkeypatch.setattr(rest, "IDLE_SECONDS", 0.5)
    with ScriptedServer(answer) as server, connected(server) as connection:
        started = time.monotonic()
        connection.sendall(b"GET /v1/models/toy HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert b" 200 " in read_to_the_end(connection)
        assert 0.4 < time.monotonic() - started < rest.CLIENT_SECONDS / 2


@pytest.mark.parametrize("closing", [b"", b"Connection: close\r\n"], ids=["kept", "closing"])
def test_an_answer_that_is_not_taken_is_given_up(server, monkeypatch, closing):
    """While it waits to be taken its bytes count, so that many do not fill the memory."""
    monkeypatch.setattr(rest, "CLIENT_SECONDS", 1.0)
    with socket.socket() as reader:
        reader.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        reader.settimeout(LONG)
        reader.connect(("127.0.0.1", server.rest_port))
        text = b'{"inputs": "large"}'
        reader.sendall(HEAD + closing + b"Content-Length: %d\r\n\r\n" % len(text) + text)
        assert reader.recv(1)  # the answer has begun; the rest is not taken
        assert server._core._bytes > LARGE
        monkeypatch.setattr(core, "MOST_BYTES", LARGE + 100)
        status, document = post(server, {"inputs": "a" * 1000})
        assert status == 503 and "use too much memory" in document["error"]
        wait_until(lambda: server._core._bytes == 0, 10)
        assert len(read_to_the_end(reader)) < LARGE
        assert post(server, {"inputs": "a" * 1000})[0] == 200


def test_a_request_that_comes_slowly_but_in_time_is_answered(server):
    with connected(server) as connection:
        for piece in (HEAD, b"Content-Length: 20\r\n\r\n", b'{"instances": ', b'["a"]}'):
            connection.sendall(piece)
            time.sleep(0.1)
        assert b" 200 " in connection.recv(1000)
