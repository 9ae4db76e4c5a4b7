"""The REST interface over real HTTP: paths, statuses, keep-alive, limits, and a stop that finishes
what it has accepted. The models' answers are written here, except where a test takes the toy.
"""

import concurrent.futures
import gzip
import http.client
import json
import re
import socket
import time

import grpc
import pytest
from rest_calls import HEAD, ask, connected, post, read_to_the_end
from scripted_server import ScriptedServer
from toy_calls import Toy, toy_server

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.server.errors import ServingError
from rnnsearch_tf.extras.server.frames import Kind
from rnnsearch_tf.extras.server.rest import HEADER_LIMIT, HTTP_STATUS

METRICS = "/monitoring/prometheus/metrics"
LIMIT = 100_000  # bytes of a request
PATIENCE = 20  # seconds for any one answer


def answer(name, kind, data, seconds):
    """What the scripted model does: it sends back the document, or fails as it is told to."""
    if kind == Kind.REST_METADATA:
        return b'{"model_spec": {"name": "toy"}}'
    document = json.loads(data)
    if "fail" in document:
        raise ServingError(grpc.StatusCode[document["fail"]], "as asked")
    if "broken" in document:
        raise ZeroDivisionError("a fault that is planted")
    return json.dumps({"predictions": document["instances"]}).encode()


@pytest.fixture(scope="module")
def server():
    options = {"rest_api_timeout_in_ms": 7000, "max_request_bytes": LIMIT, "no_page": True}
    with ScriptedServer(answer, **options) as server:
        yield server


@pytest.fixture
def own_server():
    """A server that a test may stop."""
    server = ScriptedServer(answer)
    server.start()
    yield server
    server.process.gate.set()
    server.stop(0)


def raw(server, request):
    """The bytes that come back for the bytes sent, until the server closes."""
    with connected(server) as connection:
        connection.sendall(request)
        return read_to_the_end(connection)


@pytest.mark.parametrize("path", ["toy", "toy/versions/3", "TOY", "%74oy"])
def test_a_prediction_goes_to_the_model_that_the_path_names(server, path):
    status, document = post(server, {"instances": ["é"]}, f"/v1/models/{path}:predict")
    if path == "TOY":  # names have cases
        assert (status, document) == (404, {"error": "Servable not found for request: Latest(TOY)"})
    else:
        assert (status, document) == (200, {"predictions": ["é"]})
    assert post(server, {"instances": [1]}, "/V1/Models/toy:Predict")[0] == 200


@pytest.mark.parametrize("encoding", ["gzip", "GZIP"])
def test_a_gzip_body_is_unpacked(server, encoding):
    for rows in (["é", "b"], ["a" * 90_000]):
        packed = gzip.compress(json.dumps({"instances": rows}).encode())
        headers = {"Content-Encoding": encoding}
        assert post(server, packed, headers=headers) == (200, {"predictions": rows})


def test_a_body_of_exactly_the_limit(server):
    """100,000 bytes, packed or not; one more is refused, a packed one before it is unpacked any
    further.
    """
    packing = {"Content-Encoding": "gzip"}
    text = json.dumps({"instances": ["b"]}).encode()
    for size, plain, packed in ((LIMIT, 200, 200), (LIMIT + 1, 413, 429)):
        padded = text + b" " * (size - len(text))
        assert post(server, padded)[0] == plain
        assert post(server, gzip.compress(padded), headers=packing)[0] == packed
    status, document = post(server, gzip.compress(b" " * (64 << 20)), headers=packing)
    message = "expected a request of at most 100000 bytes, got a gzip body of more"
    assert status == 429 and message in document["error"]


@pytest.mark.parametrize(
    "body",
    [b"{}", gzip.compress(b'{"instances": ["b"]}')[:-5], gzip.compress(b"{}") * 2, b""],
    ids=["plain", "cut", "two", "none"],
)
def test_a_body_that_is_no_gzip_is_refused(server, body):
    status, document = post(server, body, headers={"Content-Encoding": "gzip"})
    assert status == 400 and "Content-Encoding: gzip" in document["error"]


def test_status_and_metadata(server):
    row = {"version": "3", "state": "AVAILABLE"}
    status = {"error_code": "OK", "error_message": ""}
    expected = {"model_version_status": [row | {"status": status}]}
    for path in ("/v1/models/toy", "/v1/models/toy/versions/3", "/V1/Models/toy"):
        assert ask(server, "GET", path) == (200, expected)
    for path in ("/v1/models/toy/metadata", "/v1/models/toy/versions/3/METADATA"):
        assert ask(server, "GET", path) == (200, {"model_spec": {"name": "toy"}})


PREDICT = "/v1/models/toy:predict"
REFUSED = {
    "model": ("POST", "/v1/models/none:predict", 404, "not found for request: Latest(none)"),
    "version": ("POST", "/v1/models/toy/versions/9:predict", 404, "Specific(toy, 9)"),
    "label": ("GET", "/v1/models/toy/labels/x", 400, "Unrecognized servable version label: x"),
    "label_predict": ("POST", "/v1/models/toy/labels/x:predict", 400, "version label: x"),
    "label_metadata": ("GET", "/v1/models/toy/labels/x/metadata", 400, "version label: x"),
    "large_version": (
        "GET",
        "/v1/models/toy/versions/9223372036854775808",
        400,
        "Failed to convert version: 92233",
    ),
    "long_version": (
        "GET",
        "/v1/models/toy/versions/" + "9" * 5000,
        400,
        "Failed to convert version: 9",
    ),
    "largest_version": (
        "GET",
        "/v1/models/toy/versions/9223372036854775807",
        404,
        "Could not find version 9223372036854775807 of model toy",
    ),
    "no_version": (
        "GET",
        "/v1/models/toy/versions/x",
        400,
        "Malformed request: GET /v1/models/toy",
    ),
    "classify": ("POST", "/v1/models/toy:classify", 501, ":classify is not served"),
    "regress": ("POST", "/v1/models/toy:regress", 501, ":regress is not served"),
    "no_name": ("GET", "/v1/models", 400, "Missing model name in request."),
    "method": ("PUT", "/v1/models/toy", 400, "Malformed request: PUT /v1/models/toy"),
    "get_predict": ("GET", PREDICT, 400, f"Malformed request: GET {PREDICT}"),
    "post_status": ("POST", "/v1/models/toy", 400, "Malformed request: POST /v1/models/toy"),
    "path": ("GET", "/v1/nothing", 400, "Malformed request: GET /v1/nothing"),
    "elsewhere": ("GET", "/", 404, "Not found: /"),
    "metrics": ("POST", METRICS, 404, f"Not found: {METRICS}"),
    "bytes": ("GET", "/v1/models/%ff", 404, "of model \ufffd"),
    "zero": ("GET", "/v1/models/toy%00", 404, "of model toy\0"),
}


@pytest.mark.parametrize("name", sorted(REFUSED))
def test_what_is_refused(server, name):
    method, path, status, message = REFUSED[name]
    actual, document = ask(server, method, path, b"{}" if method == "POST" else None)
    assert actual == status and list(document) == ["error"] and message in document["error"]


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
    assert post(server, {"fail": code.name}) == (expected, {"error": "as asked"})
    assert HTTP_STATUS[code] == expected


def test_a_fault_of_the_server_is_a_500_and_the_next_request_is_answered(server, caplog):
    status, document = post(server, {"broken": True})
    assert status == 500 and list(document) == ["error"]
    assert "a fault that is planted" in caplog.text
    assert ask(server, "GET", "/v1/models/toy")[0] == 200


def test_a_connection_serves_many_requests(server):
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=PATIENCE)
    connection.connect()
    port = connection.sock.getsockname()
    for status, body in (
        (200, {"instances": ["a"]}),
        (400, {"fail": "INVALID_ARGUMENT"}),
        (500, {"broken": True}),
        (200, {"instances": ["b"]}),
    ):
        assert post(server, body, connection=connection)[0] == status
    assert connection.sock.getsockname() == port
    connection.close()


def test_requests_that_are_sent_together_are_answered_in_order(server):
    request = b'Content-Length: 17\r\n\r\n{"instances":[%d]}'
    last = HEAD + b"Connection: close\r\n"
    received = raw(server, HEAD + request % 1 + HEAD + request % 2 + last + request % 3)
    bodies = [part.partition(b"\r\n\r\n")[2] for part in received.split(b"HTTP/1.1 200 OK")[1:]]
    assert [json.loads(body)["predictions"] for body in bodies] == [[1], [2], [3]]


def test_http_of_all_kinds(server):
    head = HEAD + b"Connection: close\r\n"
    chunks = b'6\r\n{"inst\r\n10\r\nances": ["a"]}  \r\n0\r\n\r\n'
    assert b'"predictions": ["a"]' in raw(
        server, head + b"Transfer-Encoding: chunked\r\n\r\n" + chunks
    )
    assert b" 400 " in raw(server, b"GET / HTTP/1.1\r\nX: ".ljust(HEADER_LIMIT + 100, b"x"))
    assert b" 400 " in raw(server, b"\0\1\2\r\n\r\n")
    assert b" 400 " in raw(server, "GET /v1/models/é HTTP/1.1\r\n\r\n".encode())
    assert b" 400 " in raw(server, head + b"Content-Length: -1\r\n\r\n")
    assert b" 400 " in raw(server, head + b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n")
    assert b" 400 " in raw(server, head + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}")
    assert b" 400 " in raw(server, head + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n")
    with connected(server) as connection:  # gone before the end: nobody to answer
        connection.sendall(head + b"Content-Length: 50\r\n\r\nhalf")
        connection.shutdown(socket.SHUT_WR)
        assert read_to_the_end(connection) == b""
    assert ask(server, "GET", "/v1/models/toy")[0] == 200


GOOD_HOSTS = ["localhost", "LocalHost:1234", "127.0.0.1", "[::1]:8501"]
BAD_HOSTS = ["evil.example", "localhost.evil.example", "10.0.0.1:8501", "é", "[", "", "::1"]


@pytest.mark.parametrize("host", [*GOOD_HOSTS, *BAD_HOSTS])
def test_only_names_of_this_machine_are_taken_for_the_host(server, host, caplog):
    """So no web page can reach the server by a name of its own that leads to 127.0.0.1."""
    for path in ("/v1/models/toy", METRICS):
        head = f"GET {path} HTTP/1.1\r\nConnection: close\r\nHost: {host}\r\n\r\n"
        received = raw(server, head.encode("latin-1"))
        assert received.startswith(b"HTTP/1.1 200 " if host in GOOD_HOSTS else b"HTTP/1.1 400 ")
        if host not in GOOD_HOSTS:
            assert b"name it in --allowed_hosts" in received and b"AVAILABLE" not in received
    assert not caplog.text


@pytest.mark.parametrize("hosts", [b"", b"Host: localhost\r\nHost: localhost\r\n"])
def test_a_request_has_exactly_one_host(server, hosts):
    request = b"GET /v1/models/toy HTTP/1.1\r\nConnection: close\r\n" + hosts + b"\r\n"
    assert raw(server, request).startswith(b"HTTP/1.1 400 ")


@pytest.mark.parametrize(
    "flags, taken, refused",
    [
        ({"allowed_hosts": "mt.example,localhost"}, ["mt.example:80", "localhost"], ["127.0.0.1"]),
        ({"host": "0.0.0.0"}, ["evil.example", "127.0.0.1"], []),
        ({"host": "0.0.0.0", "allowed_hosts": "mt.example"}, ["mt.example"], ["127.0.0.1"]),
    ],
    ids=["named", "every_address", "every_address_named"],
)
def test_hosts_can_be_chosen(flags, taken, refused):
    with ScriptedServer(answer, port=0, **flags) as server:
        for host in taken + refused:
            connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=PATIENCE)
            connection.request("GET", "/v1/models/toy", headers={"Host": host})
            assert connection.getresponse().status == (200 if host in taken else 400)
            connection.close()


@pytest.mark.parametrize(
    "host, reached_by", [("::", ["127.0.0.1", "::1"]), ("::1", ["::1"]), ("0.0.0.0", ["127.0.0.1"])]
)
def test_every_address_of_a_host(host, reached_by):
    with ScriptedServer(answer, port=0, host=host) as server:
        for address in reached_by:
            with socket.create_connection((address, server.rest_port), timeout=20) as connection:
                connection.sendall(b"GET /v1/models/toy HTTP/1.1\r\nHost: localhost\r\n\r\n")
                assert b" 200 " in connection.recv(100)


def test_a_deadline_comes_from_the_timeout(server):
    assert post(server, {"instances": ["a"]})[0] == 200
    assert server.process.seconds == 7


def test_metrics(own_server):
    for body in ({"instances": ["a"]}, {"fail": "INVALID_ARGUMENT"}):
        post(own_server, body)
    post(own_server, {}, "/v1/models/made-up:predict")
    assert post(own_server, b" " * (5 << 20))[0] == 413
    page = metrics(own_server)
    count = ":tensorflow:serving:request_count"
    assert f'{count}{{model_name="toy",status="OK"}} 1' in page
    assert f'{count}{{model_name="toy",status="INVALID_ARGUMENT"}} 1' in page
    assert f'{count}{{model_name="toy",status="RESOURCE_EXHAUSTED"}} 1' in page
    assert f'{count}{{model_name="other",status="NOT_FOUND"}} 1' in page
    assert f'{LATENCY}{{API="Predict",entrypoint="REST",model_name="toy"}} 1' in page


def test_a_client_that_goes_away_is_no_fault_of_the_server(own_server):
    with connected(own_server) as connection:
        connection.sendall(HEAD + b"Content-Length: 1000\r\n\r\n{")
        time.sleep(0.2)  # until the server reads its body
    count = ":tensorflow:serving:request_count"
    end = time.monotonic() + PATIENCE
    while not (lines := [line for line in metrics(own_server) if line.startswith(count)]):
        assert time.monotonic() < end
        time.sleep(0.05)
    assert lines == [f'{count}{{model_name="toy",status="CANCELLED"}} 1']


LATENCY = ":tensorflow:serving:request_latency_count"


def metrics(server):
    """The lines of the metrics' page, with whole numbers and labels in order."""
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=PATIENCE)
    connection.request("GET", METRICS)
    response = connection.getresponse()
    kind = response.getheader("Content-Type")
    assert response.status == 200 and kind.startswith("text/plain; version=0.0.4")
    lines = response.read().decode().splitlines()
    connection.close()
    return [re.sub("{(.*)}", in_order, line.removesuffix(".0")) for line in lines]


def in_order(labels):
    return "{" + ",".join(sorted(labels[1].split(","))) + "}"


def test_a_stop_finishes_what_has_been_accepted(own_server):
    process = own_server.process
    idle = connected(own_server)
    process.gate.clear()
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        answered = pool.submit(post, own_server, {"instances": ["a"]})
        wait_until(lambda: process.waiting)
        stopped = pool.submit(own_server.stop, 20)
        assert idle.recv(1) == b""  # the stop has begun: idle connections are closed
        with pytest.raises(ConnectionRefusedError):
            connected(own_server)
        assert not answered.done() and not stopped.done()
        process.gate.set()
        assert answered.result(PATIENCE) == (200, {"predictions": ["a"]})
        assert stopped.result(PATIENCE)
    idle.close()


def test_a_stop_does_not_wait_longer_than_its_grace(own_server):
    own_server.process.gate.clear()
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        answered = pool.submit(post, own_server, {"instances": ["a"]})
        wait_until(lambda: own_server.process.waiting)
        assert not own_server.stop(0.05)
        assert answered.result(PATIENCE) == (
            503,
            {"error": "The server is shutting down; try again later"},
        )


def wait_until(condition, seconds=PATIENCE):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it never came so far"
        time.sleep(0.01)


def test_a_taken_port_is_said(server):
    another = ScriptedServer(answer, port=0, rest_api_port=server.rest_port)
    message = (
        f"127.0.0.1:{server.rest_port}: expected a free address .* choose another --rest_api_port"
    )
    with pytest.raises(UserError, match=message):
        another.start()


def test_many_at_once(server):
    with concurrent.futures.ThreadPoolExecutor(16) as pool:
        bodies = [{"instances": [number]} for number in range(200)]
        answers = pool.map(lambda body: post(server, body), bodies)
        assert [document["predictions"] for _, document in answers] == [[n] for n in range(200)]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_client_that_sends_on_hears_that_its_body_is_too_large(server, chunked):
    body = b"a" * (30 << 20)
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=PATIENCE)
    connection.request(
        "POST",
        PREDICT,
        iter([body]) if chunked else body,
        encode_chunked=chunked,
        headers={"Transfer-Encoding": "chunked"} if chunked else {},
    )
    response = connection.getresponse()
    assert response.status == 413 and response.getheader("Connection") == "close"
    message = json.loads(response.read())["error"]
    assert message == f"expected a body of at most {LIMIT} bytes, got {len(body)}"
    connection.close()
    assert ask(server, "GET", "/v1/models/toy")[0] == 200


@pytest.mark.parametrize(
    "path", [METRICS, "/v1/models/toy", "/v1/models/toy/metadata", "/v1/models/", "/x", PREDICT]
)
def test_a_head_is_answered_as_a_get_without_the_body(server, path):
    """A body behind it would be taken for the beginning of the next answer on this connection."""
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=PATIENCE)
    found = []
    for method in ("HEAD", "GET", "HEAD", "GET"):
        connection.request(method, path)
        response = connection.getresponse()
        body = response.read()
        assert bool(body) == (method == "GET")
        found.append((response.status, response.getheader("Content-Type")))
        size = int(response.getheader("Content-Length"))
        assert size == len(body) or method == "HEAD" and size > 0
    connection.close()
    assert len(set(found)) == 1


@pytest.fixture(scope="module")
def toy(toy_base):
    """A server of the toy model whose requests have a second."""
    with toy_server(toy_base, rest_api_timeout_in_ms=1000) as server:
        yield server


def test_what_takes_too_long_is_504(toy):
    row = {"x": 1.0, "seconds": 1000.0}
    status, document = post(toy, {"signature_name": "slow", "instances": [row]})
    assert status == 504 and document["error"]
    row["seconds"] = 0.0
    body = {"signature_name": "slow", "instances": [row]}
    assert post(toy, body) == (200, {"predictions": [1.0]})


def test_text_of_all_kinds(toy):
    texts = ["", "é\0", "e\u0301", "\U0001f600", "\u202eabc", "a" * 10_000, '"\\\n']
    status, document = post(toy, {"inputs": texts})
    assert status == 200
    assert document["outputs"]["translation"] == [f"v2:{text}" for text in texts]
    assert document["outputs"]["score"] == [len(text.encode()) for text in texts]
    # Latin-1: the model sees its bytes, the answer is UTF-8 all the same
    status, document = post(toy, b'{"inputs": ["caf\xe9"]}')
    assert status == 200 and document["outputs"] == {
        "score": [4.0],
        "source_truncated": [False],
        "translation": ["v2:caf\ufffd"],
    }


def test_metrics_of_both_interfaces(served, toy_base):
    server = served(toy_base, enable_batching=True)
    assert post(server, {"instances": ["a"]})[0] == 200
    with Toy(f"127.0.0.1:{server.grpc_port}") as client:
        client.predict("half_plus", x=[2.0])
    lines = metrics(server)
    assert ':tensorflow:serving:request_count{model_name="toy",status="OK"} 2' in lines
    for entrypoint in ("REST", "GRPC"):
        labels = f'API="Predict",entrypoint="{entrypoint}",model_name="toy"'
        assert f"{LATENCY}{{{labels}}} 1" in lines
    assert 'rnnsearch_model_restarts{model_name="toy"} 0' in lines
