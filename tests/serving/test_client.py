"""The gRPC client and a server that answers as told: order, streaming, retries, deadlines, TLS."""

import itertools
import shutil
import socket
import subprocess
import threading
import time

import grpc
import pytest
from fake_server import FakeServer
from tensorflow.core.framework import types_pb2

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.server.client import Client, tls_credentials


@pytest.fixture
def fake():
    server = FakeServer()
    yield server
    server.stop()


@pytest.fixture
def client(fake):
    with Client(fake.address, "mt", deadline=20) as client:
        yield client


def texts(translations):
    return [each.text for each in translations]


def test_one_request(fake):
    with Client(fake.address, "mt", version=3, signature="translate") as client:
        assert texts(client.translate(["é", b"", "a\0b"])) == ["É", "", "A\0B"]
        assert client.translate([]) == []
    (request,) = fake.requests
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


def test_texts_that_were_cut_are_said(client, caplog):
    client.translate(["a", "b" * 100])
    assert not caplog.records
    client.translate(["a", "b" * 101, "c" * 200])
    assert "model mt: 2 of 3 texts are longer than the model takes, and were cut" in caplog.text


def test_the_order_is_kept_though_the_first_is_the_last_to_finish(fake, client):
    results = client.translate_batches([["wait"], ["b"], ["c", "d"]], concurrency=3)
    threading.Thread(
        target=lambda: (
            fake.waiting.wait(20),
            until(lambda: len(fake.requests) == 3),
            fake.gate.set(),
        )
    ).start()
    assert [texts(result) for result in results] == [["WAIT"], ["B"], ["C", "D"]]


def until(condition):
    end = time.monotonic() + 20
    while not condition() and time.monotonic() < end:
        time.sleep(0.005)


def test_a_result_comes_while_the_next_batch_is_awaited(client):
    more = threading.Event()

    def batches():
        yield ["a"]
        assert more.wait(20)
        yield ["b"]

    results = client.translate_batches(batches(), concurrency=2)
    assert texts(next(results)) == ["A"]
    more.set()
    assert [texts(result) for result in results] == [["B"]]


def test_the_input_is_not_read_far_ahead(fake, client):
    taken = []
    endless = ([taken.append(number) or "wait"] for number in itertools.count())
    results = client.translate_batches(endless, concurrency=2)
    threading.Thread(target=lambda: (until(lambda: len(taken) > 4), fake.gate.set())).start()
    assert texts(next(results)) == ["WAIT"]
    results.close()
    assert len(taken) <= 7  # 2 × 2 submitted, one in hand, two more when the first was done


def test_an_error_of_the_input_comes_in_its_turn(client):
    def batches():
        yield ["a"]
        raise UserError("no more to read")

    results = client.translate_batches(batches(), concurrency=2)
    assert texts(next(results)) == ["A"]
    with pytest.raises(UserError, match="no more to read"):
        next(results)


def test_unavailable_is_tried_again_and_nothing_else(fake, client):
    fake.refusals = [grpc.StatusCode.UNAVAILABLE] * 2
    assert texts(client.translate(["a"])) == ["A"]
    assert len(fake.requests) == 3
    fake.refusals = [grpc.StatusCode.NOT_FOUND]
    message = f"{fake.address}: model mt: expected a translation, got NOT_FOUND: refused with"
    with pytest.raises(UserError, match=message):
        client.translate(["a"])
    assert len(fake.requests) == 4


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


def test_a_server_that_does_not_answer_in_time(fake):
    before = time.monotonic()
    with Client(fake.address, "mt", deadline=0.5) as client:
        with pytest.raises(UserError, match="got DEADLINE_EXCEEDED"):
            client.translate(["wait"])
    assert 0.4 < time.monotonic() - before < 5


def test_an_answer_that_is_no_translation(client):
    with pytest.raises(UserError, match="expected 2 strings as output `translation`, got 1"):
        client.translate(["lose", "b"])


def test_two_replicas_share_the_requests_and_one_that_ends_costs_no_answer():
    first, second = FakeServer(), FakeServer()
    address = f"ipv4:{first.address},{second.address}"
    with Client(address, "mt", deadline=60) as client:
        while not (first.requests and second.requests):
            client.translate(["a"])
        before = len(first.requests), len(second.requests)
        for number in range(20):
            client.translate([str(number)])
        shares = len(first.requests) - before[0], len(second.requests) - before[1]
        assert shares == (10, 10)
        second.stop()
        answers = client.translate_batches(([f"{k} a"] for k in range(20)), concurrency=4)
        assert [texts(batch) for batch in answers] == [[f"{k} A"] for k in range(20)]
    first.stop()


@pytest.mark.skipif(not shutil.which("openssl"), reason="makes certificates with openssl")
def test_tls(tmp_path):
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    words = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 1"
    words += " -subj /CN=localhost -addext subjectAltName=IP:127.0.0.1"
    subprocess.run(
        ["openssl", *words.split(), "-keyout", key, "-out", certificate],
        check=True,
        capture_output=True,
    )
    pair = (key.read_bytes(), certificate.read_bytes())
    server = FakeServer(
        credentials=grpc.ssl_server_credentials([pair], pair[1], require_client_auth=True)
    )
    credentials = tls_credentials(certificate, certificate, key)
    with Client(server.address, "mt", credentials=credentials) as client:
        assert texts(client.translate(["a"])) == ["A"]
    for credentials in (tls_credentials(certificate), None):
        with Client(server.address, "mt", deadline=0.5, credentials=credentials) as client:
            with pytest.raises(UserError, match="expected a translation, got "):
                client.translate(["a"])
    server.stop()
