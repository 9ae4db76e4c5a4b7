"""`rnnsearch client`: lines in, lines out, against a server in this process."""

import os
import subprocess
import sys
import threading

import grpc
import pytest
from fake_server import FakeServer

from rnnsearch_tf.cli.main import run

REQUIRED = ["--server", "localhost:1", "--model-name", "mt"]


@pytest.fixture
def server():
    server = FakeServer()
    yield server
    server.stop()


def start(server, *words):
    """The command as a process that has 100 seconds; its standard streams are pipes."""
    command = [
        sys.executable,
        "-m",
        "rnnsearch_tf",
        "client",
        "--server",
        server.address,
        "--model-name",
        "mt",
        *words,
    ]
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # pytest's own has it
    environment = {
        name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"
    }
    process = subprocess.Popen(command, env=environment, **pipes)
    watchdog = threading.Timer(100, process.kill)
    watchdog.daemon = True
    watchdog.start()
    return process


def send(process, line):
    process.stdin.write(line)
    process.stdin.flush()


def test_a_line_in_is_a_line_out_and_a_refusal_ends_it_though_more_may_come(server):
    process = start(server)
    for line, expected in ((b"a\n", b"A\n"), (b"\n", b"\n"), ("é\n".encode(), "É\n".encode())):
        send(process, line)
        assert process.stdout.readline() == expected
    server.refusals = [grpc.StatusCode.NOT_FOUND]
    send(process, b"b\n")
    assert process.wait(100) == 1  # standard input is still open
    (line,) = process.stderr.read().decode().splitlines()
    assert line.startswith(f"rnnsearch: error: {server.address}: model mt: expected a translation")
    assert process.stdout.read() == b""
    process.communicate()


def test_files_in_order_in_batches(server, tmp_path, capsys):
    first = tmp_path / "a.txt"
    second = tmp_path / "b.txt"
    output = tmp_path / "out.txt"
    lines = [f"line {number}" if number % 7 else "" for number in range(250)]
    first.write_text("\n".join(lines[:100]) + "\n")
    second.write_text("\n".join(lines[100:]) + "\n")
    words = ["client", "--server", server.address, "--model-name", "mt", "--batch-size", "8"]
    words += ["--concurrency", "3", "--output", str(output)]
    assert run([*words, str(first), str(second)]) == 0
    assert output.read_text() == "".join(line.upper() + "\n" for line in lines)
    assert max(len(request.inputs["text"].string_val) for request in server.requests) == 8
    assert len(server.requests) == 13 + 19
    captured = capsys.readouterr()
    assert captured.out == "" == captured.err


@pytest.mark.parametrize(
    "words, message",
    [
        (["--server", "localhost", "--model-name", "mt"], "--server: expected HOST:PORT, got"),
        ([*REQUIRED, "--deadline", "0"], "--deadline: expected seconds above 0, got '0'"),
        ([*REQUIRED, "--tls-key", "k"], "expected --tls-certificate and --tls-key together"),
        (
            [*REQUIRED, "--tls-key", "k", "--tls-certificate", "c"],
            "--tls-key: expected --tls-ca with it",
        ),
    ],
)
def test_wrong_usage(words, message, capsys):
    assert run(["client", *words]) == 2
    assert message in capsys.readouterr().err
