"""The exit codes: examples of each, and whatever happens is one line."""

import errno
import os
import signal
import subprocess
import sys

import pytest

from rnnsearch_tf.cli import main
from rnnsearch_tf.training import fit

EXAMPLES = [
    (0, []),
    (0, ["--version"]),
    (0, ["help", "train"]),
    (0, ["options", "phrasebook"]),
    (1, ["aer", "nothing-here", "nor-here"]),
    (1, ["translate", "--model", "nothing-here"]),
    (2, ["tranlate"]),
    (2, ["help", "tranlate"]),
    (2, ["aer"]),
    (2, ["options", "phrasebok"]),
]


@pytest.mark.parametrize("code, words", EXAMPLES, ids=str)
def test_an_example_of_each(code, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main.run(words) == code
    said = capsys.readouterr()
    assert said.out or code and said.err


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_before_the_first_update(number, capsys, monkeypatch, request, tmp_path):
    # a shell's background jobs ignore SIGINT
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, ignored))
    before = signal.getsignal(signal.SIGTERM)

    def stopped(*arguments):
        assert signal.getsignal(number) != signal.SIG_DFL, "it would end this process"
        signal.raise_signal(number)
        raise AssertionError("nothing came of the signal")

    monkeypatch.setattr(fit, "train", stopped)
    output = str(tmp_path / "run")
    assert main.run(["train", "--config", "phrasebook", "--output", output]) == 130
    assert capsys.readouterr() == ("", "rnnsearch: interrupted\n")
    assert signal.getsignal(signal.SIGTERM) == before


def test_a_reader_that_leaves_is_141_without_a_word(capsys, monkeypatch):
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w", encoding="utf-8") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        code = main.run(["options"])
        stream.write("more")  # as Python's own flush when it ends
    assert (code, capsys.readouterr().err) == (141, "")


@pytest.mark.parametrize(
    "error, code, text",
    [
        (
            ZeroDivisionError("division\nby zero"),
            1,
            "unexpected error: ZeroDivisionError: division by zero (RNNSEARCH_DEBUG=1",
        ),
        (MemoryError(), 1, "unexpected error: MemoryError"),
        (PermissionError(errno.EACCES, "Permission denied", "/x/y"), 1, "/x/y: Permission denied"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "No space left on device"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (RuntimeError("of a graph: KeyboardInterrupt: \nTraceback"), 130, "interrupted"),
    ],
)
def test_whatever_happens_is_one_line(capsys, monkeypatch, error, code, text):
    def explode(argv):
        raise error

    monkeypatch.setattr(main, "_dispatch", explode)
    assert main.run(["translate"]) == code
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and text in captured.err


def test_a_developer_sees_the_traceback(monkeypatch):
    def explode(argv):
        raise ZeroDivisionError

    monkeypatch.setattr(main, "_dispatch", explode)
    monkeypatch.setenv("RNNSEARCH_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        main.run(["translate"])


def test_a_module_ends_with_the_code(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "rnnsearch_tf.export"],
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 2, done.stderr.decode()
