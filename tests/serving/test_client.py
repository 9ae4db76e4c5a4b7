"""The gRPC client and `rnnsearch client`, with a server that answers as told: order, streaming,
retries, TLS.
"""

import itertools
import shutil
import subprocess
import sys
import threading
import time

import grpc
import pytest
import tensorflow as tf
from fake_server import FakeServer

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.errors import UsageError, UserError
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


def open_when(fake, condition):
    """Answer the texts `wait` as soon as the condition holds."""

    def wait():
        end = time.monotonic() + 20
        while not condition() and time.monotonic() < end:
            time.sleep(0.005)
        fake.gate.set()

    threading.Thread(target=wait).start()


def test_one_request(fake, caplog):
    with Client(fake.address, "mt", version=3) as client:
        assert client.translate(["é", b"", "a\0b"]) == ["É", "", "A\0B"]
        assert client.translate([]) == []
    (request,) = fake.requests
    spec, tensor = request.model_spec, request.inputs["text"]
    assert (spec.name, spec.version.value, spec.signature_name) == ("mt", 3, "serving_default")
    assert tf.make_ndarray(tensor).tolist() == ["é".encode(), b"", b"a\0b"]
    caplog.set_level("WARNING", "rnnsearch_tf")  # a command before, with --quiet, sets another
    with Client(fake.address, "mt") as client:
        client.translate(["a" * 101, "b"])
        with pytest.raises(UsageError, match="expected a list of sentences, got str"):
            client.translate("a cat")
    assert "1 of 2 texts are longer than the model takes" in caplog.text


def test_the_order_is_kept_though_the_first_is_the_last_to_finish(fake, client):
    open_when(fake, lambda: len(fake.requests) == 3)
    results = client.translate_batches([["wait"], ["b"], ["c", "d"]], concurrency=3)
    assert list(results) == [["WAIT"], ["B"], ["C", "D"]]


def test_the_input_is_not_read_far_ahead(fake, client):
    taken = []
    endless = ([taken.append(number) or "wait"] for number in itertools.count())
    results = client.translate_batches(endless, concurrency=2)
    open_when(fake, lambda: len(taken) > 4)
    assert next(results) == ["WAIT"]
    results.close()
    assert len(taken) <= 7  # 2 × 2 submitted, one in hand, two more when the first was done


def test_unavailable_is_tried_again_and_nothing_else(fake, client):
    fake.refusals = [grpc.StatusCode.UNAVAILABLE] * 2
    assert client.translate(["a"]) == ["A"]
    assert len(fake.requests) == 3
    fake.refusals = [grpc.StatusCode.NOT_FOUND]
    message = f"{fake.address}: model mt: expected a translation, got NOT_FOUND: refused with"
    with pytest.raises(UserError, match=message):
        client.translate(["a"])
    assert len(fake.requests) == 4


def test_two_replicas_share_the_requests_and_one_that_ends_costs_no_answer():
    first, second = FakeServer(), FakeServer()
    address = f"ipv4:{first.address},{second.address}"
    with Client(address, "mt", deadline=60) as client:
        ends = time.monotonic() + 60
        while not (first.requests and second.requests):
            client.translate(["a"])
            assert time.monotonic() < ends
        before = len(first.requests), len(second.requests)
        for number in range(20):
            client.translate([str(number)])
        shares = len(first.requests) - before[0], len(second.requests) - before[1]
        assert shares == (10, 10)
        second.stop()
        answers = client.translate_batches(([f"{k} a"] for k in range(20)), concurrency=4)
        assert list(answers) == [[f"{k} A"] for k in range(20)]
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
        assert client.translate(["a"]) == ["A"]
    for credentials in (tls_credentials(certificate), None):
        with Client(server.address, "mt", deadline=0.5, credentials=credentials) as client:
            with pytest.raises(UserError, match="expected a translation, got "):
                client.translate(["a"])
    server.stop()


def test_the_command_streams_and_a_refusal_ends_it_though_more_may_come(fake):
    words = ["client", "--server", fake.address, "--model-name", "mt"]
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    process = subprocess.Popen([sys.executable, "-m", "rnnsearch_tf", *words], bufsize=0, **pipes)
    watchdog = threading.Timer(100, process.kill)
    watchdog.start()
    for line, expected in ((b"a\n", b"A\n"), (b"\n", b"\n"), ("é\n".encode(), "É\n".encode())):
        process.stdin.write(line)
        assert process.stdout.readline() == expected
    fake.refusals = [grpc.StatusCode.NOT_FOUND]
    process.stdin.write(b"b\n")
    assert process.wait(100) == 1  # standard input is still open
    watchdog.cancel()
    (line,) = process.stderr.read().decode().splitlines()
    assert line.startswith(f"rnnsearch: error: {fake.address}: model mt: expected a translation")
    assert process.communicate()[0] == b""


def test_the_command_takes_files_in_order_in_batches(fake, tmp_path, capsys):
    lines = [f"line {number}" if number % 7 else "" for number in range(250)]
    files = [tmp_path / "a.txt", tmp_path / "b.txt"]
    for file, part in zip(files, (lines[:100], lines[100:])):
        file.write_text("".join(f"{line}\n" for line in part))
    words = ["client", "--server", fake.address, "--model-name", "mt", "--batch-size", "8"]
    assert run([*words, *map(str, files)]) == 0
    captured = capsys.readouterr()
    assert captured.out == "".join(f"{line.upper()}\n" for line in lines) and not captured.err
    assert max(len(request.inputs["text"].string_val) for request in fake.requests) == 8
    assert len(fake.requests) == 13 + 19
