"""The REST interface over real HTTP: paths, statuses, keep-alive, limits, and a stop that finishes
what it has accepted.
"""

import concurrent.futures
import gzip
import http.client
import json
import socket
import time

import grpc
import pytest
from fake_core import FakeCore

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.server.connections import Limits
from rnnsearch_tf.extras.server.rest import HEADER_LIMIT, HTTP_STATUS, RestServer

METRICS = "/monitoring/prometheus/metrics"


@pytest.fixture(scope="module")
def server():
    server = RestServer(
        FakeCore(), metrics_path=METRICS, timeout=7, limits=Limits(body=100_000, client_timeout=1)
    )
    server.start()
    yield server
    server.stop(0)


@pytest.fixture
def own_server():
    """A server that a test may stop, with its core."""
    core = FakeCore()
    server = RestServer(core)
    server.start()
    yield server, core
    core.gate.set()
    server.stop(0)


def ask(server, method, path, body=None, connection=None):
    """(status, decoded JSON) of one request."""
    own = connection or http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    own.request(
        method, path, body if isinstance(body, (bytes, str, type(None))) else json.dumps(body)
    )
    response = own.getresponse()
    text = response.read()
    if connection is None:
        own.close()
    assert response.getheader("Content-Type") == "application/json"
    return response.status, json.loads(text)


def raw(server, request, finish=True):
    """The bytes that come back for the bytes sent, until the server closes."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as connection:
        connection.sendall(request)
        if finish:
            connection.shutdown(socket.SHUT_WR)
        return b"".join(iter(lambda: connection.recv(65536), b""))


def test_rows_and_columns(server):
    status, answer = ask(server, "POST", "/v1/models/toy:predict", {"instances": ["é", "b"]})
    assert status == 200 and [row["translation"] for row in answer["predictions"]] == ["é", "B"]
    assert ask(
        server,
        "POST",
        "/v1/models/toy/versions/3:predict",
        {"signature_name": "half", "inputs": [3, 4]},
    ) == (200, {"outputs": [1.5, 2.0]})
    assert (
        ask(
            server,
            "POST",
            "/v1/models/toy/labels/stable:predict",
            {"signature_name": "half", "instances": [1]},
        )[0]
        == 200
    )


def ask_compressed(server, body, encoding="gzip"):
    """(status, decoded JSON) of a :predict whose body is sent with this Content-Encoding."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("POST", "/v1/models/toy:predict", body, {"Content-Encoding": encoding})
    response = connection.getresponse()
    answer = response.status, json.loads(response.read())
    connection.close()
    return answer


@pytest.mark.parametrize("encoding", ["gzip", "GZIP"])
def test_a_gzip_body_is_unpacked(server, encoding):
    for rows in (["é", "b"], ["a" * 90_000]):
        status, answer = ask_compressed(
            server, gzip.compress(json.dumps({"instances": rows}).encode()), encoding
        )
        assert status == 200 and len(answer["predictions"]) == len(rows)


def test_a_body_of_exactly_the_limit(server):
    """100,000 bytes, packed or not; one more is refused, a packed one before it is unpacked any
    further.
    """
    body = json.dumps({"instances": ["b"]}).encode()
    for size, plain, packed in ((100_000, 200, 200), (100_001, 413, 429)):
        padded = body + b" " * (size - len(body))
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
        connection.request("POST", "/v1/models/toy:predict", padded)
        assert connection.getresponse().status == plain
        connection.close()
        assert ask_compressed(server, gzip.compress(padded))[0] == packed
    status, answer = ask_compressed(server, gzip.compress(b" " * (64 << 20)))
    assert (
        status == 429
        and "expected a request of at most 100000 bytes, got a gzip body of more" in answer["error"]
    )


@pytest.mark.parametrize(
    "body",
    [b"{}", gzip.compress(b'{"instances": ["b"]}')[:-5], gzip.compress(b"{}") * 2, b""],
    ids=["plain", "cut", "two", "none"],
)
def test_a_body_that_is_no_gzip_is_refused(server, body):
    status, answer = ask_compressed(server, body)
    assert status == 400 and "Content-Encoding: gzip" in answer["error"]


def test_status_and_metadata(server):
    expected = {
        "model_version_status": [
            {
                "version": "3",
                "state": "AVAILABLE",
                "status": {"error_code": "OK", "error_message": ""},
            }
        ]
    }
    for path in (
        "/v1/models/toy",
        "/v1/models/toy/versions/3",
        "/v1/models/toy/labels/stable",
        "/V1/Models/toy",
    ):
        assert ask(server, "GET", path) == (200, expected)
    status, answer = ask(server, "GET", "/v1/models/toy/metadata")
    assert (
        status == 200
        and answer["model_spec"]["name"] == "toy"
        and answer["model_spec"]["version"] == "3"
    )
    signature = answer["metadata"]["signature_def"]["signature_def"]["half"]
    assert (
        signature["inputs"]["x"]["dtype"] == "DT_FLOAT"
        and signature["inputs"]["x"]["name"] == "x:0"
    )


REFUSED = {
    "model": (
        "POST",
        "/v1/models/none:predict",
        {"instances": [1]},
        404,
        "Servable not found for request: Latest(none)",
    ),
    "version": (
        "POST",
        "/v1/models/toy/versions/9:predict",
        {"instances": [1]},
        404,
        "Specific(toy, 9)",
    ),
    "label": (
        "GET",
        "/v1/models/toy/labels/x",
        None,
        400,
        "Unrecognized servable version label: x",
    ),
    "signature": (
        "POST",
        "/v1/models/toy:predict",
        {"signature_name": "s", "inputs": 1},
        400,
        'signature name: "s" not found in',
    ),
    "large_version": (
        "GET",
        "/v1/models/toy/versions/9223372036854775808",
        None,
        400,
        "Failed to convert version: 92233",
    ),
    "long_version": (
        "GET",
        "/v1/models/toy/versions/" + "9" * 5000,
        None,
        400,
        "Failed to convert version: 9",
    ),
    "classify": ("POST", "/v1/models/toy:classify", {}, 501, ":classify is not served"),
    "json": ("POST", "/v1/models/toy:predict", b"{", 400, "JSON Parse error"),
    "json_first": ("POST", "/v1/models/none:predict", b"{", 400, "JSON Parse error"),
    "no_body": ("POST", "/v1/models/toy:predict", None, 400, "The document is empty"),
    "inputs": (
        "POST",
        "/v1/models/toy:predict",
        {"instances": [1]},
        400,
        "is not of expected type: string",
    ),
    "no_name": ("GET", "/v1/models", None, 400, "Missing model name in request."),
    "method": ("PUT", "/v1/models/toy", None, 400, "Malformed request: PUT /v1/models/toy"),
    "get_predict": (
        "GET",
        "/v1/models/toy:predict",
        None,
        400,
        "Malformed request: GET /v1/models/toy:predict",
    ),
    "path": ("GET", "/v1/nothing", None, 400, "Malformed request: GET /v1/nothing"),
    "elsewhere": ("GET", "/", None, 404, "Not found: /"),
    "bytes": ("GET", "/v1/models/%ff", None, 404, "Latest(\ufffd)"),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_refused(server, name):
    method, path, body, status, message = REFUSED[name]
    actual, answer = ask(server, method, path, body)
    assert actual == status and list(answer) == ["error"] and message in answer["error"]


@pytest.mark.parametrize(
    "code", sorted(set(grpc.StatusCode) - {grpc.StatusCode.OK}, key=str), ids=lambda code: code.name
)
def test_every_status_has_its_number(server, code):
    expected = {
        "INVALID_ARGUMENT": 400,
        "FAILED_PRECONDITION": 400,
        "OUT_OF_RANGE": 400,
        "UNAUTHENTICATED": 401,
        "PERMISSION_DENIED": 403,
        "NOT_FOUND": 404,
        "ALREADY_EXISTS": 409,
        "ABORTED": 409,
        "RESOURCE_EXHAUSTED": 429,
        "CANCELLED": 499,
        "UNIMPLEMENTED": 501,
        "UNAVAILABLE": 503,
        "DEADLINE_EXCEEDED": 504,
    }.get(code.name, 500)
    body = {"signature_name": "fail", "inputs": [code.name]}
    assert ask(server, "POST", "/v1/models/toy:predict", body) == (expected, {"error": "as asked"})
    assert HTTP_STATUS[code] == expected


def test_a_fault_of_the_server_is_a_500_and_the_next_request_is_answered(server, caplog):
    assert (
        ask(server, "POST", "/v1/models/toy:predict", {"signature_name": "broken", "inputs": [1]})[
            0
        ]
        == 500
    )
    assert "a fault of the server" in caplog.text
    assert ask(server, "GET", "/v1/models/toy")[0] == 200


def test_a_connection_serves_many_requests(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.connect()
    port = connection.sock.getsockname()
    for status, body in ((200, {"instances": ["a"]}), (400, b"{"), (200, {"instances": ["b"]})):
        assert ask(server, "POST", "/v1/models/toy:predict", body, connection)[0] == status
    assert connection.sock.getsockname() == port
    connection.close()


def test_http_of_all_kinds(server):
    head = b"POST /v1/models/toy:predict HTTP/1.1\r\nHost: x\r\nConnection: close\r\n"
    chunks = b'6\r\n{"inst\r\n10\r\nances": ["a"]}  \r\n0\r\n\r\n'
    assert b'"translation": "A"' in raw(
        server, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks
    )
    # said before the body is sent
    assert b" 413 " in raw(server, head + b"Content-Length: 100001\r\n\r\n", finish=False)
    assert b" 431 " in raw(server, b"GET / HTTP/1.1\r\nX: ".ljust(HEADER_LIMIT, b"x"), finish=False)
    assert b" 400 " in raw(server, b"\0\1\2\r\n\r\n")
    assert b" 400 " in raw(server, head + b"Content-Length: -1\r\n\r\n")
    # gone before the end: nobody to answer
    assert raw(server, head + b"Content-Length: 50\r\n\r\nhalf") == b""
    assert ask(server, "GET", "/v1/models/toy")[0] == 200


@pytest.mark.parametrize(
    "request_head",
    [
        b"POST /v1/models/toy:predict HTTP/1.1\r\nContent-Length: " + b"9" * 5000,
        b"GET http://[::1/v1/models/toy HTTP/1.1",
    ],
    ids=["digits", "address"],
)
def test_a_head_that_python_cannot_read_is_the_clients_fault(server, caplog, request_head):
    assert b" 400 " in raw(server, request_head + b"\r\n\r\n")
    assert not caplog.text


@pytest.mark.parametrize(
    "host, reached_by", [("::", ["127.0.0.1", "::1"]), ("::1", ["::1"]), ("0.0.0.0", ["127.0.0.1"])]
)
def test_every_address_of_a_host(host, reached_by):
    server = RestServer(FakeCore(), host)
    server.start()
    try:
        for address in reached_by:
            with socket.create_connection((address, server.port), timeout=20) as connection:
                connection.sendall(b"GET /v1/models/toy HTTP/1.1\r\n\r\n")
                assert b" 200 " in connection.recv(100)
    finally:
        server.stop(0)


def test_a_deadline_comes_from_the_timeout(server):
    before = time.monotonic()
    assert ask(server, "POST", "/v1/models/toy:predict", {"instances": ["a"]})[0] == 200
    assert before + 7 <= server._application._core.deadline <= time.monotonic() + 7


def test_metrics(own_server):
    core = FakeCore()
    server = RestServer(core, metrics_path="/numbers")
    server.start()
    for body in ({"instances": ["a"]}, {"instances": [1]}):
        ask(server, "POST", "/v1/models/toy:predict", body)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request("GET", "/numbers")
    response = connection.getresponse()
    page = response.read().decode()
    connection.close()
    server.stop(0)
    assert response.status == 200 and response.getheader("Content-Type").startswith(
        "text/plain; version=0.0.4"
    )
    assert ':tensorflow:serving:request_count{model_name="toy",status="OK"} 1\n' in page
    assert (
        ':tensorflow:serving:request_count{model_name="toy",status="INVALID_ARGUMENT"} 1\n' in page
    )
    assert 'request_latency_count{model_name="toy",API="Predict",entrypoint="REST"} 1\n' in page
    assert ask(own_server[0], "GET", METRICS)[0] == 404  # off unless told


def test_a_stop_finishes_what_has_been_accepted(own_server):
    server, core = own_server
    idle = socket.create_connection(("127.0.0.1", server.port), timeout=20)
    core.gate.clear()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answer = pool.submit(ask, server, "POST", "/v1/models/toy:predict", {"instances": ["a"]})
        assert core.arrived.wait(20)
        stopped = pool.submit(server.stop, 20)
        assert idle.recv(1) == b""  # the stop has begun: idle connections are closed
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", server.port), timeout=20)
        assert not answer.done() and not stopped.done()
        core.gate.set()
        assert answer.result(20)[0] == 200
        stopped.result(20)
    idle.close()


def test_a_stop_does_not_wait_longer_than_its_grace(own_server):
    server, core = own_server
    core.gate.clear()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answer = pool.submit(ask, server, "POST", "/v1/models/toy:predict", {"instances": ["a"]})
        assert core.arrived.wait(20)
        server.stop(0.05)
        with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
            answer.result(20)
    assert not server._thread.is_alive()


def test_a_taken_port_is_said(server):
    with pytest.raises(
        UserError,
        match=(
            f"127.0.0.1:{server.port}: expected a free address for REST, got: Address already"
            " in use"
        ),
    ):
        RestServer(FakeCore(), port=server.port).start()


def test_many_at_once(server):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        bodies = [{"signature_name": "half", "inputs": [number]} for number in range(200)]
        answers = pool.map(lambda body: ask(server, "POST", "/v1/models/toy:predict", body), bodies)
        assert [answer["outputs"][0] for _, answer in answers] == [
            number / 2 for number in range(200)
        ]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_client_that_sends_on_hears_that_its_body_is_too_large(server, chunked):
    body = b"a" * (30 << 20)
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    connection.request(
        "POST",
        "/v1/models/toy:predict",
        iter([body]) if chunked else body,
        encode_chunked=chunked,
        headers={"Transfer-Encoding": "chunked"} if chunked else {},
    )
    response = connection.getresponse()
    assert response.status == 413 and b"exceeds" in response.read()
    connection.close()
    assert ask(server, "GET", "/v1/models/toy")[0] == 200


@pytest.mark.parametrize(
    "path",
    [
        METRICS,
        "/v1/models/toy",
        "/v1/models/toy/metadata",
        "/v1/models/",
        "/elsewhere",
        "/v1/models/toy:predict",
    ],
)
def test_a_head_is_answered_as_a_get_without_the_body(server, path):
    """A body behind it would be taken for the beginning of the next answer on this connection."""
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=20)
    found = []
    for method in ("HEAD", "GET", "HEAD", "GET"):
        connection.request(method, path)
        response = connection.getresponse()
        body = response.read()
        assert bool(body) == (method == "GET")
        found.append((response.status, response.getheader("Content-Type")))
    connection.close()
    assert len(set(found)) == 1
