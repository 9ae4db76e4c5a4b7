"""The gRPC client and a server that answers as told: order, streaming, retries, deadlines, TLS."""

import contextlib
import itertools
import json
import shutil
import socket
import subprocess
import threading
import time

import grpc
import pytest
from fake_server import FakeServer
from tensorflow.core.framework import types_pb2

import rnnsearch_tf.extras.server.client
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.extras.server.client import ADVICE, CHANNEL_OPTIONS, Client, tls_credentials


@pytest.fixture
def server():
    server = FakeServer()
    yield server
    server.stop()


@pytest.fixture
def client(server):
    with Client(server.address, "mt", deadline=20) as client:
        yield client


def texts(translations):
    return [each.text for each in translations]


def refusal(function, *arguments):
    with pytest.raises(UserError) as caught:
        function(*arguments)
    return str(caught.value)


def test_one_request(server):
    with Client(server.address, "mt", version=3, signature="translate") as client:
        assert texts(client.translate(["é", "", "a\0b"])) == ["É", "", "A\0B"]
        assert client.translate([]) == []
    (request,) = server.requests
    tensor = request.inputs["text"]
    assert (
        request.model_spec.name,
        request.model_spec.version.value,
        request.model_spec.signature_name,
    ) == ("mt", 3, "translate")
    assert tensor.dtype == types_pb2.DT_STRING and [
        dim.size for dim in tensor.tensor_shape.dim
    ] == [3]
    assert list(tensor.string_val) == ["é".encode(), b"", b"a\0b"] and not request.output_filter


def test_texts_are_those_of_every_translator(client):
    """One text, bytes, an iterator; never the letters of a text."""
    assert client.translate("a cat").text == client.translate(b"a cat").text == "A CAT"
    assert texts(client.translate(iter([b"a cat", "\u00e9"]))) == ["A CAT", "\u00c9"]
    with pytest.raises(UsageError, match=r"texts: expected a list of texts, got int 5"):
        client.translate(5)
    with pytest.raises(UsageError, match=r"texts\[1\]: expected a text as str, got NoneType"):
        client.translate(["a", None])


def test_texts_that_were_cut_are_said(client, caplog):
    client.translate(["a", "b" * 100])
    assert not caplog.records
    client.translate(["a", "b" * 101, "c" * 200])
    assert "model mt: 2 of 3 texts are longer than the model takes, and were cut" in caplog.text


def test_how_sure_the_model_is_comes_with_a_second_request(server):
    with Client(server.address, "mt", version=3, confidence=True) as client:
        assert client.translate(["ab cd", "", "é"]) == [
            ("AB CD", None, pytest.approx(0.5), [0.25, 0.25]),
            ("", None, 0, []),
            ("É", None, pytest.approx(0.2), [0.1]),
        ]
    first, second = server.requests
    assert second.model_spec.signature_name == "confidence" and second.model_spec.version.value == 3
    assert list(second.inputs["source"].string_val) == [b"ab cd", b"", "é".encode()]
    assert list(second.inputs["target"].string_val) == [b"AB CD", b"", "É".encode()]


def test_the_latest_version_or_a_label(server, client):
    client.translate(["a"])
    assert (
        not server.requests[0].model_spec.HasField("version")
        and not server.requests[0].model_spec.version_label
    )
    with Client(server.address, "mt", label="stable") as labelled:
        labelled.translate(["a"])
    assert server.requests[1].model_spec.version_label == "stable"


def test_the_order_is_kept_though_the_first_is_the_last_to_finish(server, client):
    results = client.translate_batches([["wait"], ["b"], ["c", "d"]], concurrency=3)
    threading.Thread(
        target=lambda: (
            server.waiting.wait(20),
            until(lambda: len(server.requests) == 3),
            server.gate.set(),
        )
    ).start()
    assert [texts(result) for result in results] == [["WAIT"], ["B"], ["C", "D"]]


def until(condition):
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)


def test_a_result_comes_while_the_next_batch_is_awaited(server, client):
    more = threading.Event()

    def batches():
        yield ["a"]
        assert more.wait(20)
        yield ["b"]

    results = client.translate_batches(batches(), concurrency=2)
    assert texts(next(results)) == ["A"]
    more.set()
    assert [texts(result) for result in results] == [["B"]]


def test_the_input_is_not_read_far_ahead(server, client):
    taken = []
    endless = ([taken.append(number) or "wait"] for number in itertools.count())
    results = client.translate_batches(endless, concurrency=2)
    threading.Thread(target=lambda: (until(lambda: len(taken) > 4), server.gate.set())).start()
    assert texts(next(results)) == ["WAIT"]
    results.close()
    assert len(taken) <= 6  # 2 × 2 submitted, one in hand, one more when the first was done


def test_an_error_of_the_input_comes_in_its_turn(client):
    def batches():
        yield ["a"]
        raise UserError("no more to read")

    results = client.translate_batches(batches(), concurrency=2)
    assert texts(next(results)) == ["A"]
    assert refusal(next, results) == "no more to read"


def test_unavailable_is_tried_again_after_a_pause(server, client):
    server.refusals = [grpc.StatusCode.UNAVAILABLE] * 2
    before = time.monotonic()
    assert texts(client.translate(["a"])) == ["A"]
    assert len(server.requests) == 3
    assert time.monotonic() - before > 0.5


def without_pauses(monkeypatch, pause="0.01s"):
    """The client's own service configuration with other pauses."""
    options = dict(CHANNEL_OPTIONS)
    configuration = json.loads(options["grpc.service_config"])
    configuration["methodConfig"][0]["retryPolicy"] |= {
        "initialBackoff": pause,
        "maxBackoff": pause,
    }
    options["grpc.service_config"] = json.dumps(configuration)
    monkeypatch.setattr(rnnsearch_tf.extras.server.client, "CHANNEL_OPTIONS", [*options.items()])


def test_unavailable_is_tried_until_the_deadline_and_then_said(server, monkeypatch):
    """Beyond the five times of gRPC."""
    without_pauses(monkeypatch)
    server.refusals = [grpc.StatusCode.UNAVAILABLE] * 12
    with Client(server.address, "mt", deadline=20) as client:
        assert texts(client.translate(["a"])) == ["A"]
    assert len(server.requests) == 13
    server.refusals = [grpc.StatusCode.UNAVAILABLE] * 100_000
    with Client(server.address, "mt", deadline=1) as client:
        assert refusal(client.translate, ["a"]) == (
            f"{server.address}: model mt: expected a translation, got UNAVAILABLE: refused with"
            " UNAVAILABLE; the server is busy or starting; try again later"
        )


def test_advice_fits_the_error():
    assert "name and version" in ADVICE[grpc.StatusCode.NOT_FOUND]
    assert "signature" in ADVICE[grpc.StatusCode.FAILED_PRECONDITION]
    assert "gRPC port" in ADVICE[grpc.StatusCode.UNIMPLEMENTED]
    assert "longer deadline" in ADVICE[grpc.StatusCode.DEADLINE_EXCEEDED]
    for code in (grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.RESOURCE_EXHAUSTED):
        assert "smaller batches" in ADVICE[code]


@pytest.mark.parametrize(
    "code",
    sorted(set(grpc.StatusCode) - {grpc.StatusCode.OK, grpc.StatusCode.UNAVAILABLE}, key=str),
    ids=lambda code: code.name,
)
def test_nothing_else_is_tried_again(server, client, code):
    server.refusals = [code]
    message = refusal(client.translate, ["a"])
    assert (
        f"{server.address}: model mt: expected a translation, got {code.name}: refused with"
        f" {code.name}; {ADVICE.get(code, 'see the server')}" in message
    )
    assert len(server.requests) == 1


def test_a_server_that_is_not_up_yet():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    started = []
    with Client(f"127.0.0.1:{port}", "mt", deadline=20) as client:
        timer = threading.Timer(0.5, lambda: started.append(FakeServer(port)))
        timer.start()
        assert texts(client.translate(["a"])) == ["A"]
    timer.join()
    started[0].stop()


@pytest.mark.parametrize("version", [-1, 2**63])
def test_a_version_that_no_server_has(version):
    with pytest.raises(UsageError, match=f"version: expected a whole number .*, got {version}"):
        Client("127.0.0.1:1", "mt", version=version)


@pytest.mark.parametrize("deadline", [1e10, float("inf")])
def test_a_deadline_that_grpc_cannot_hold_is_a_long_one(server, deadline):
    with Client(server.address, "mt", deadline=deadline) as client:
        assert client.translate("a").text == "A"


def test_a_server_that_never_comes_up_is_given_up_at_the_deadline():
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    before = time.monotonic()
    with Client(f"127.0.0.1:{port}", "mt", deadline=1) as client:
        message = refusal(client.translate, ["a"])
    assert "got DEADLINE_EXCEEDED" in message and "check the address" in message
    assert 0.9 < time.monotonic() - before < 5


def test_a_server_that_does_not_answer_in_time(server):
    before = time.monotonic()
    with Client(server.address, "mt", deadline=0.5) as client:
        assert "got DEADLINE_EXCEEDED" in refusal(client.translate, ["wait"])
    assert 0.4 < time.monotonic() - before < 5


@pytest.mark.parametrize(
    "refusals, pause, own_pause, said",
    [(1, "1.2s", 0.1, "DEADLINE_EXCEEDED"), (5, "0.01s", 1.2, "UNAVAILABLE")],
    ids=["grpc", "own"],
)
def test_all_tries_share_one_deadline(server, monkeypatch, refusals, pause, own_pause, said):
    """Unavailable at first, then no answer: the last try has what is left of it, gRPC's or the
    client's own.
    """
    without_pauses(monkeypatch, pause)
    monkeypatch.setattr(rnnsearch_tf.extras.server.client, "PAUSE", own_pause)
    before = time.monotonic()
    server.refusals = [grpc.StatusCode.UNAVAILABLE] * refusals
    with Client(server.address, "mt", deadline=2) as client:
        assert f"got {said}" in refusal(client.translate, ["wait"])
    assert 1.9 < time.monotonic() - before < 2.9
    assert len(server.requests) == refusals + 1


def test_closing_gives_up_what_is_under_way(server):
    client = Client(server.address, "mt", deadline=60)
    threading.Thread(target=lambda: (server.waiting.wait(20), client.close())).start()
    before = time.monotonic()
    closed = (
        f"{server.address}: model mt: expected an answer, got none before the client was closed"
    )
    assert refusal(client.translate, ["wait"]) == closed
    assert time.monotonic() - before < 10
    assert refusal(client.translate, ["a"]) == closed, "and so are those that come later"


def test_an_answer_that_is_no_translation(client):
    assert "expected 2 strings as output `translation`, got 1 (DT_STRING)" in refusal(
        client.translate, ["lose", "b"]
    )


def test_an_answer_that_breaks_off_in_its_middle_is_asked_for_again(server):
    """gRPC repeats a request only as long as nothing of the answer has come. Here a proxy ends the
    connection in the middle of the first answer.
    """
    with Proxy(server.port, 4000) as proxy, Client(proxy.address, "mt", deadline=20) as client:
        assert texts(client.translate(["a" * 10_000])) == ["A" * 10_000]
    assert len(server.requests) == 2 == proxy.connections


class Proxy:
    """Hands bytes on between clients and a port; of the first connection only `most` bytes that
    come back, then it ends.
    """

    def __init__(self, port, most):
        self._port, self._most = port, most
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.address = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections = 0

    def __enter__(self):
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *error):
        self._listener.close()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self.connections += 1
                server = socket.create_connection(("127.0.0.1", self._port))
                most = self._most if self.connections == 1 else float("inf")
                for words in ((client, server, float("inf")), (server, client, most)):
                    threading.Thread(target=self._copy, args=words, daemon=True).start()

    def _copy(self, source, target, left):
        with contextlib.suppress(OSError):
            while left > 0 and (data := source.recv(1 << 16)):
                target.sendall(data[: min(left, len(data))])
                left -= len(data)
            for each in (source, target):
                each.shutdown(socket.SHUT_RDWR)


@pytest.mark.skipif(not shutil.which("openssl"), reason="makes certificates with openssl")
def test_tls(tmp_path):
    key = tmp_path / "key.pem"
    certificate = tmp_path / "certificate.pem"
    subprocess.run(
        [
            "openssl",
            "req",
            "-x509",
            "-newkey",
            "ec",
            "-pkeyopt",
            "ec_paramgen_curve:prime256v1",
            "-nodes",
            "-days",
            "1",
            "-keyout",
            key,
            "-out",
            certificate,
            "-subj",
            "/CN=localhost",
            "-addext",
            "subjectAltName=IP:127.0.0.1",
        ],
        check=True,
        capture_output=True,
    )
    pair = (key.read_bytes(), certificate.read_bytes())
    server = FakeServer(
        credentials=grpc.ssl_server_credentials([pair], pair[1], require_client_auth=True)
    )
    with Client(
        server.address, "mt", credentials=tls_credentials(certificate, certificate, key)
    ) as client:
        assert texts(client.translate(["a"])) == ["A"]
    # no certificate of its own; no TLS at all
    for credentials in (
        tls_credentials(certificate),
        None,
    ):
        with Client(server.address, "mt", deadline=0.5, credentials=credentials) as client:
            message = refusal(client.translate, ["a"])
            assert "got DEADLINE_EXCEEDED" in message and "with TLS on both sides" in message
    server.stop()
    for files, reason in (
        ([tmp_path / "none.pem"], "no such file or directory"),
        ([key], "no certificate or crl found"),
        ([certificate, key, certificate], "[ssl] pem lib"),
        ([certificate, certificate, tmp_path / "none.pem"], "no such file or directory"),
    ):
        message = refusal(tls_credentials, *files)
        assert f"{files[-1]}: expected " in message and f"in PEM, got: {reason}" in message
