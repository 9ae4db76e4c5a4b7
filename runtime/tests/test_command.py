"""The command, in a process of its own."""

from __future__ import annotations

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
from typing import Any

import pytest

pytest.importorskip("onnx")

RUNTIME = str(pathlib.Path(__file__).parents[1])
COMMAND = [sys.executable, "-m", "rnnsearch_runtime.cli"]
ENVIRONMENT = os.environ | {"PYTHONPATH": RUNTIME, "LC_ALL": "C", "PYTHONUTF8": "0"}


def run(*words: Any, text: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [*COMMAND, *map(str, words)], input=text, capture_output=True, env=ENVIRONMENT, timeout=60
    )


def start(*words: Any) -> subprocess.Popen[bytes]:
    pipe = subprocess.PIPE
    return subprocess.Popen(
        [*COMMAND, *map(str, words)], stdin=pipe, stdout=pipe, stderr=pipe, env=ENVIRONMENT
    )


def test_a_line_in_is_a_line_out(model: pathlib.Path) -> None:
    text = "\ufeffthe cat\r\n\n  \nétÉ été\nthe\x0b\u2028cat\nsleeps".encode()
    result = run("--model", model, text=text)
    assert result.stdout.decode() == "le chat\n\n\n<unk> sommer\nle chat\ndort\n"
    assert (result.returncode, result.stderr) == (0, b"")
    assert run("--model", model).stdout == b""
    many = run("--model", model, "--batch-size", 3, text=b"the\ncat sleeps\n" * 500)
    assert many.stdout == b"le\nchat dort\n" * 500


def test_json(model: pathlib.Path) -> None:
    words = "--model", model, "--json", "--n-best", 2
    found = json.loads(run(*words, text=b"the cat").stdout)
    assert found["source_tokens"] == ["the", "cat"] and found["tokens"] == ["le", "chat"]
    assert (found["text"], found["score"], found["log_probability"]) == ("le chat", -1.5, -1.5)
    assert found["finished"] and round(found["probability"], 4) == 0.6065  # exp(-0.5)
    assert found["token_probabilities"] == [["le", 0.6065], ["chat", 0.6065]]
    assert [row.index(max(row)) for row in found["alignment"]] == [0, 1, 2]
    assert [each["score"] for each in found["nbest"]] == [-1.5, -4.5]
    assert "nbest" not in json.loads(run(*words[:3], text=b"the \xff\n").stdout)
    refused = run("--model", model, "--n-best", 2, text=b"the cat")
    assert refused.returncode == 2 and b"add --json" in refused.stderr


def test_lines_are_answered_as_they_come(model: pathlib.Path) -> None:
    process = start("--model", model)
    assert process.stdin and process.stdout
    for source, target in [(b"the", b"le\n"), (b"cat", b"chat\n"), (b"", b"\n")]:
        process.stdin.write(source + b"\n")
        process.stdin.flush()
        assert process.stdout.readline() == target  # before the pipe is closed
    process.stdin.write(b"sleeps")
    process.stdin.close()
    assert process.stdout.read() == b"dort\n"
    assert process.wait(60) == 0


def test_the_reader_goes_away(model: pathlib.Path) -> None:
    process = start("--model", model)
    assert process.stdin and process.stdout and process.stderr
    process.stdout.close()
    process.stdin.write(b"the\n" * 10)
    process.stdin.close()
    assert process.wait(60) == 141
    assert process.stderr.read() == b""


def test_interrupt(model: pathlib.Path) -> None:
    # a suite in the background of a shell ignores SIGINT, and so would what it starts
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    process = start("--model", model)
    signal.signal(signal.SIGINT, ignored)
    assert process.stdin and process.stdout and process.stderr
    process.stdin.write(b"the\n")
    process.stdin.flush()
    assert process.stdout.readline() == b"le\n"
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130


def test_an_error_is_one_line() -> None:
    for words, code in (
        (["--model", "nothing.onnx"], 1),
        (["--unknown"], 2),
        (["--batch-size", "0"], 2),
    ):
        result = run(*words)
        assert (result.returncode, result.stdout) == (code, b"")
        assert result.stderr.splitlines()[-1].startswith(b"rnnsearch-translate: error: ")
        assert b"Traceback" not in result.stderr
