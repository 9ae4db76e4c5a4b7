"""The command, in a process of its own."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
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


def test_what_is_no_utf_8_text_is_refused(model: pathlib.Path) -> None:
    text = b"the cat\n"
    files = [module.compress(text) for module in (bz2, gzip, lzma)]
    for data in (*files, text.decode().encode("utf-16")):
        result = run("--model", model, text=data)
        assert (result.returncode, result.stdout) == (1, b"")
        assert b"stdin: expected UTF-8, got UTF-16 or compressed text; convert it" in result.stderr


def test_invalid_utf_8(model: pathlib.Path) -> None:
    result = run("--model", model, "--json", text=b"the \xff\n\xef\xbf\xbd\n")
    assert json.loads(result.stdout.splitlines()[0])["source_tokens"] == ["the", "\ufffd"]
    assert b"replaced by U+FFFD in 1 line(s)" in result.stderr


def test_output_types(model: pathlib.Path) -> None:
    text = b"the cat\n\ncat\n"
    assert run("--model", model, "--n-best", 2, text=text).stdout.decode().splitlines() == [
        "0 ||| le chat ||| LogProbability= -1.500000 Length= 2 ||| -1.500000",
        "0 ||| le chat ||| LogProbability= -4.500000 Length= 2 ||| -4.500000",
        "1 |||  ||| LogProbability= 0.000000 Length= 0 ||| 0.000000",
        "2 ||| chat ||| LogProbability= -1.000000 Length= 1 ||| -1.000000",
    ]
    assert run("--model", model, "--n-best", 1, text=b"the cat\n").stdout == b"le chat\n"
    hard = run("--model", model, "--alignment", text=text)
    assert hard.stdout == b"le chat\t0-0 1-1\n\t\nchat\t0-0\n"
    words = "--json", "--n-best", 2, "--alignment"
    found = json.loads(run("--model", model, *words, text=b"the cat").stdout)
    second = {"text": "le chat", "score": -4.5, "log_probability": -4.5}
    second |= {"tokens": ["le", "chat"]}
    matrix = found["nbest"][1].pop("alignment")
    assert [row.index(max(row[:-1])) for row in matrix[:-1]] == [0, 1]
    assert found["nbest"][1] == second
    soft = json.loads(run("--model", model, "--json", "--alignment", text=b"cat\n").stdout)
    assert soft["alignment"] == [[1.0, 0.0], [0.0, 1.0]] and "nbest" not in soft
    assert found["source_tokens"] == ["the", "cat"] and found["score"] == -1.5


def test_probabilities(model: pathlib.Path) -> None:
    words = "--model", model, "--probabilities"  # three tokens of exp(-0.5)
    assert run(*words, text=b"the cat\n").stdout == b"le chat\t0.607\n"
    both = run(*words, "--alignment", text=b"the cat\n")
    assert both.stdout == b"le chat\t0-0 1-1\t0.607\n"
    found = json.loads(run(*words, "--json", text=b"the cat\n").stdout)
    assert found["probability"] == 0.6065
    refused = run(*words, "--n-best", 2)
    assert refused.returncode == 2 and b"expected no n-best list with it" in refused.stderr


def test_links_of_words_from_those_of_pieces() -> None:
    np = pytest.importorskip("numpy")
    from rnnsearch_runtime.cli import _pharaoh, _shares

    class Pieces:
        tokenization = "sentencepiece"

    source = _shares(["▁th", "e", "▁", "cat"], Pieces())
    assert source.tolist() == [[1, 0], [1, 0], [0, 1], [0, 1]]
    assert _shares(["▁a▁bcd"], Pieces()).tolist() == [[0.25, 0.75]]
    assert _shares(["▁"], Pieces()).shape == (1, 0)
    weights = np.array([[0.3, 0.3, 0.1, 0.2, 0.1], [0.0] * 5], np.float32)
    assert _pharaoh(weights, source, np.eye(1)) == "0-0"
    assert _pharaoh(weights, source[:, :0], np.eye(1)) == ""
    # a word that attends to the end symbol alone has no link
    ended = np.array([[0.9, 0.1, 0.0], [0.0, 0.0, 1.0], [0.0, 0.0, 1.0]], np.float32)
    assert _pharaoh(ended, np.eye(2), np.eye(2)) == "0-0"


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
    assert process.stderr.read() == b"rnnsearch-translate: interrupted\n"


def test_closed_streams(model: pathlib.Path) -> None:
    shell = f'exec "$0" -m rnnsearch_runtime.cli --model {model}'
    for redirection in ("<&-", ">&-", "2>&-", "<&- >&- 2>&-"):
        result = subprocess.run(
            ["sh", "-c", f"{shell} {redirection}", sys.executable],
            input=b"the\n\n",
            capture_output=True,
            env=ENVIRONMENT,
            timeout=60,
        )
        expected = b"le\n\n" if redirection == "2>&-" else b""
        assert (result.returncode, result.stdout, result.stderr) == (0, expected, b"")


@pytest.mark.parametrize(
    "words, code, message",
    [
        (["--model", "nothing.onnx"], 1, "error: nothing.onnx: expected a model file"),
        (["--n-best", "0"], 2, "expected a whole number, at least 1, got '0'"),
        (["--n-best", "3"], 2, "--n-best 3: expected at most 2"),
        (["--unknown"], 2, "unrecognized arguments: --unknown"),
    ],
)
def test_errors(model: pathlib.Path, words: list[str], code: int, message: str) -> None:
    words = words if "--model" in words else ["--model", str(model), *words]
    result = run(*words)
    assert (result.returncode, result.stdout) == (code, b"")
    assert message in result.stderr.decode() and "Traceback" not in result.stderr.decode()


def test_overlong_line(model: pathlib.Path) -> None:
    result = run("--model", model, text=b"the cat\nthe\n" + b"a" * 1_200_000)
    assert result.returncode == 1 and b"at most 1,048,576 bytes" in result.stderr
    assert result.stdout == b"le chat\nle\n"  # what came before it is translated


def test_help_and_version() -> None:
    assert run("--version").stdout == b"rnnsearch-translate 0.1.0\n"
    assert b"--json" in run("--help").stdout
