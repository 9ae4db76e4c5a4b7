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


@pytest.mark.slow
def test_a_line_in_is_a_line_out_and_a_refusal_ends_it_though_more_may_come(server):
    process = start(server)
    for line, expected in ((b"a\n", b"A\n"), (b"\n", b"\n"), ("é\n".encode(), "É\n".encode())):
        send(process, line)
        assert process.stdout.readline() == expected
    server.refusals = [grpc.StatusCode.NOT_FOUND]
    send(process, b"b\n")
    assert process.wait(100) == 1  # standard input is still open
    assert (
        process.stderr.read().decode()
        == f"rnnsearch: error: {server.address}: model mt: expected a translation, got NOT_FOUND:"
        " refused with NOT_FOUND; check the model's name and version\n"
    )
    assert process.stdout.read() == b""
    process.communicate()


def test_a_reader_that_leaves_ends_it_quietly(server):
    process = start(server)
    send(process, b"a\n")
    assert process.stdout.readline() == b"A\n"
    process.stdout.close()
    send(process, b"b\n")
    assert process.wait(100) == 141
    assert process.stderr.read() == b""
    process.stdin.close()
    process.stderr.close()


def test_files_in_order_in_batches(server, tmp_path, capsys):
    first = tmp_path / "a.txt"
    second = tmp_path / "b.txt"
    output = tmp_path / "out.txt"
    lines = [f"line {number}" if number % 7 else "" for number in range(250)]
    first.write_text("\n".join(lines[:100]) + "\n")
    second.write_text("\n".join(lines[100:]))
    server.refusals = [grpc.StatusCode.UNAVAILABLE] * 2
    words = [
        "client",
        "--server",
        server.address,
        "--model-name",
        "mt",
        "--batch-size",
        "8",
        "--concurrency",
        "3",
        "--output",
        str(output),
    ]
    assert run([*words, str(first), str(second)]) == 0
    assert output.read_text() == "".join(line.upper() + "\n" for line in lines)
    assert max(len(request.inputs["text"].string_val) for request in server.requests) == 8
    assert len(server.requests) == 13 + 19 + 2
    captured = capsys.readouterr()
    assert captured.out == "" == captured.err


def test_confidence_stands_after_tabs(server, tmp_path, capsys):
    (tmp_path / "in").write_text("ab cd\n\n")
    assert (
        run(
            [
                "client",
                "--server",
                server.address,
                "--model-name",
                "mt",
                "--confidence",
                str(tmp_path / "in"),
            ]
        )
        == 0
    )
    assert capsys.readouterr().out == "AB CD\t0.500\t0.250 0.250\n\t0.000\t\n"


@pytest.mark.parametrize(
    "words, message",
    [
        (
            ["--server", "localhost", "--model-name", "mt"],
            (
                "--server: expected HOST:PORT, ipv4:IP:PORT,IP:PORT or dns:///NAME:PORT, got"
                " 'localhost'"
            ),
        ),
        (["--server", "localhost:99999", "--model-name", "mt"], "--server: expected HOST:PORT"),
        (
            ["--server", "http://localhost:8501", "--model-name", "mt", "--deadline", "1"],
            "--server: expected HOST:PORT",
        ),
        (
            ["--server", "a:1,b:2", "--model-name", "mt"],
            "--server: expected HOST:PORT, ipv4:IP:PORT,IP:PORT or dns:///NAME:PORT, got 'a:1,b:2'",
        ),
        (
            ["--server", "ipv4:10.0.0.1:1,10.0.0.2", "--model-name", "mt"],
            "--server: expected HOST:PORT",
        ),
        (
            [*REQUIRED, "--model-version", "1", "--version-label", "x"],
            "expected --model-version or --version-label, got both",
        ),
        ([*REQUIRED, "--model-version", "x"], "--model-version: expected a whole number"),
        (
            [*REQUIRED, "--model-version", str(2**63)],
            "--model-version: expected a whole number from 0 to 9223372036854775807",
        ),
        ([*REQUIRED, "--deadline", "0"], "--deadline: expected seconds above 0, got '0'"),
        ([*REQUIRED, "--deadline", "nan"], "--deadline: expected seconds above 0, got 'nan'"),
        ([*REQUIRED, "--batch-size", "0"], "--batch-size: expected a whole number, at least 1"),
        ([*REQUIRED, "--concurrency", "0"], "--concurrency: expected a whole number, at least 1"),
        ([*REQUIRED, "--tls-key", "k"], "expected --tls-certificate and --tls-key together"),
        (
            [*REQUIRED, "--tls-key", "k", "--tls-certificate", "c"],
            "--tls-key: expected --tls-ca with it",
        ),
        ([*REQUIRED, "--tls", "k"], "unknown option --tls; did you mean --tls-"),
    ],
    ids=[
        "no_port",
        "port",
        "url",
        "names",
        "second_port",
        "both",
        "version",
        "large_version",
        "deadline",
        "nan",
        "batch",
        "concurrency",
        "pair",
        "ca",
        "unknown",
    ],
)
def test_wrong_usage(words, message, capsys):
    assert run(["client", *words]) == 2
    assert message in capsys.readouterr().err
