"""The exit codes, a table by hand: examples of each, and signals to verbs that can be resumed.

Real processes: test_help.py (0 and 2), test_processes.py (130 and 141). test_pipes.py has 141 for
every verb that writes, training/test_nothing_lost.py has 75 for every phase of a training.
"""

import errno
import importlib
import re
import signal
import subprocess
import sys

import pytest
from test_pipes import without_reader

from rnnsearch_tf.cli import main

MEANINGS = {
    0: "done",
    1: "failed",
    2: "wrong usage",
    75: "stopped by SIGTERM and resumable",
    130: "interrupted by Ctrl-C",
    141: "the reader of the output is gone",
}

EXAMPLES = [
    (0, []),
    (0, ["--version"]),
    (0, ["help", "train"]),
    (0, ["--quiet", "configs"]),
    (0, ["fidelity", "--config", "phrasebook"]),
    (1, ["runs", "nothing-here"]),
    (1, ["aer", "nothing-here", "nor-here"]),
    (1, ["doctor", "--config", "your-own-text"]),  # it reports that the files are missing
    (2, ["tranlate"]),
    (2, ["help", "tranlate"]),
    (2, ["aer"]),
    (2, ["configs", "phrasebok"]),
    (2, ["launch", "--workers", "2"]),
]

STOPPED = [
    ("train", "rnnsearch_tf.training.fit:train", ["--config", "phrasebook", "--output", "mine"]),
    (
        "prepare",
        "rnnsearch_tf.data.prepared.writing:prepare",
        ["--config", "phrasebook", "--output", "mine"],
    ),
    (
        "translate-corpus",
        "rnnsearch_tf.extras.bulk.corpus:translate_corpus",
        ["--model", "run", "--input", "s", "--output", "mine"],
    ),
]
"""Verbs that SIGTERM leaves resumable: the engine, and words."""


def test_help_has_the_table():
    said = " ".join(main._overview().split())
    listed = said.partition("Exit code: ")[2].partition(". ")[0]
    listed = re.sub(r" \([^)]*\)", "", listed)  # the verbs
    assert dict(part.split(" ", 1) for part in listed.split(", ")) == {
        str(code): meaning for code, meaning in MEANINGS.items()
    }
    verbs = re.search(r"resumable \((.*?)\)", said).group(1).split(", ")
    assert {*verbs} == {verb for verb, *_ in STOPPED}


@pytest.mark.parametrize("code, words", EXAMPLES, ids=str)
def test_an_example_of_each(code, words, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main.run(words) == code
    said = capsys.readouterr()
    assert said.out or code and said.err


@pytest.mark.parametrize("number, code", [(signal.SIGTERM, 75), (signal.SIGINT, 130)])
@pytest.mark.parametrize("verb, engine, words", STOPPED, ids=[verb for verb, *_ in STOPPED])
def test_a_signal_while_the_engine_works(
    verb, engine, words, number, code, capsys, observe, monkeypatch, request
):
    # a shell's background jobs ignore SIGINT
    ignored = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, ignored))
    before = [signal.getsignal(name) for name in (signal.SIGTERM, signal.SIGINT)]

    def stopped(*arguments):
        assert signal.getsignal(number) != signal.SIG_DFL, "it would end this process"
        signal.raise_signal(number)
        raise AssertionError("nothing came of the signal")

    module, _, name = engine.partition(":")
    monkeypatch.setattr(importlib.import_module(module), name, stopped)
    assert main.run([verb, *words]) == code
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.splitlines()[-1].startswith(
        "rnnsearch: stopped by SIGTERM; " if code == 75 else "rnnsearch: interrupted"
    )
    assert [signal.getsignal(name) for name in (signal.SIGTERM, signal.SIGINT)] == before


def test_without_a_reader(monkeypatch):
    with without_reader() as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        assert main.run(["configs"]) == 141


@pytest.mark.parametrize("name", ["KeyboardInterrupt", "Terminated"])
def test_the_name_of_a_file_is_no_signal(name, capsys, tmp_path, monkeypatch):
    """TensorFlow's errors say so in their text; so does a file's name."""
    monkeypatch.chdir(tmp_path)
    assert main.run(["runs", name]) == 1
    assert name in capsys.readouterr().err
    (tmp_path / name).mkdir()
    assert main.run(["aer", name, name]) == 1
    assert main.run(["fidelity", "--config", f"{name}.yaml"]) == 2
    assert main.run([name]) == 2
    assert main._explain(PermissionError(errno.EACCES, "Permission denied", name)) == 1
    assert main._explain(RuntimeError(f"a graph: {name}: \nTraceback")) in (75, 130)


@pytest.mark.parametrize(
    "words, code", [(["rnnsearch_tf", "runs", "nothing-here"], 1), (["rnnsearch_tf.export"], 2)]
)
def test_a_module_ends_with_the_code(words, code, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, cwd=tmp_path, timeout=60
    )
    assert done.returncode == code, done.stderr.decode()
