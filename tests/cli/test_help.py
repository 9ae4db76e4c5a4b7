"""What needs no model: help at once, wrong usage, how much a command says."""

import logging
import pathlib
import subprocess
import sys
import types

import pytest

from rnnsearch_tf.cli.main import VERBS, parser_of, run
from rnnsearch_tf.errors import UserError

HEAVY = ("tensorflow", "keras", "numpy", "sacrebleu", "matplotlib")

WITHOUT_TENSORFLOW = f"""
import sys
from rnnsearch_tf.cli.main import VERBS, run
for verb in VERBS:
    assert run([verb, "--help"]) == 0, verb
assert run(["--help"]) == 0
assert run(["translate", "--model", "no-such-folder"]) == 1
assert run(["translate", "--model", "a", "--beam-size", "0"]) == 2
loaded = [name for name in {HEAVY} if name in sys.modules]
assert not loaded, loaded
"""


def test_no_command_imports_tensorflow_for_help_or_for_wrong_usage():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("usage: rnnsearch") == len(VERBS) + 1


def test_help_lists_every_command_once_under_a_group(capsys):
    assert run(["--help"]) == 0
    lines = capsys.readouterr().out.splitlines()
    groups = [line for line in lines if line.endswith(":") and not line.startswith((" ", "usage:"))]
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    modules = (pathlib.Path(__file__).parents[2] / "rnnsearch_tf" / "cli").glob("*.py")
    commands = [
        path.stem.replace("_", "-")
        for path in modules
        if "\ndef arguments(parser" in path.read_text(encoding="utf-8")
    ]
    assert sorted(listed) == sorted(commands)
    assert len(groups) == len(set(groups)) >= 5
    assert groups[0] == "first steps:" and listed[0] == "demo"


@pytest.mark.parametrize(
    "words, parts",
    [
        (["transalte"], ["unknown command 'transalte'", "did you mean translate?"]),
        (["zzzzzz"], ["unknown command", "expected one of aer, "]),
        (["translate", "--model", "x", "--beamsize=3"], ["--beamsize; did you mean --beam-size?"]),
        (["translate"], ["required: --model"]),
        (["translate", "--model", "x", "--beam-size", "0"], ["--beam-size", "got '0'"]),
        (
            ["translate", "--model", "x", "--beam-size", "many"],
            ["--beam-size", "expected a whole number", "'many'"],
        ),
        (["align", "--model", "x", "a", "b", "c"], ["unrecognized arguments: c"]),
        (["sample", "--model", "x", "-n", "0"], ["-n", "at least 1", "'0'"]),
        (["train", "--output", "x"], ["expected --config"]),
        (["train", "--config", "no.yaml", "--output", "x"], ["no.yaml", "found none"]),
    ],
)
def test_wrong_usage_is_one_line_and_exit_2(capsys, words, parts):
    assert run(words) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("rnnsearch: error: ") and captured.err.count("\n") == 1
    for part in parts:
        assert part in captured.err


@pytest.mark.parametrize(
    "words, expected",
    [
        (["translate", "f", "--model", "m", "--quiet", "g"], {"files": ["f", "g"]}),
        (["score", "f", "--model", "m", "g"], {"source": "f", "target": "g"}),
    ],
    ids=str,
)
def test_options_stand_before_between_and_after_the_other_arguments(words, expected):
    found = vars(parser_of(words[0]).parse_intermixed_args(words[1:]))
    assert {name: found[name] for name in expected} == expected


@pytest.mark.parametrize(
    "words, shown", [(["talk"], ["progress", "warning"]), (["talk", "--quiet"], [])]
)
def test_how_much_a_command_says(monkeypatch, capsys, words, shown):
    def work(arguments):
        print("progress", file=sys.stderr)
        for level in ("debug", "info", "warning"):
            getattr(logging.getLogger("rnnsearch_tf"), level)(level)
        print("result")
        raise UserError("it failed")

    module = types.SimpleNamespace(__doc__="Talks.", arguments=lambda parser: None, run=work)
    monkeypatch.setitem(VERBS, "talk", "talks")
    monkeypatch.setitem(sys.modules, "rnnsearch_tf.cli.talk", module)
    assert run(words) == 1
    captured = capsys.readouterr()
    assert captured.out == "result\n"
    assert [line.removeprefix("rnnsearch: ") for line in captured.err.splitlines()] == [
        *shown,
        "error: it failed",
    ]
