"""What needs no model: help at once, what the program says of itself, how much a command says."""

import logging
import pathlib
import re
import subprocess
import sys
import types

import pytest

from rnnsearch_tf.cli.main import COMMANDS, parser_of, run
from rnnsearch_tf.config import option_fields, shipped_configs
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.progress import progress

HEAVY = ("tensorflow", "keras", "numpy", "sacrebleu", "matplotlib")

WITHOUT_TENSORFLOW = f"""
import sys
from rnnsearch_tf.cli.main import COMMANDS, run
for name in COMMANDS:
    assert run([name, "--help"]) == 0, name
assert run(["--help"]) == 0
assert "yaml" not in sys.modules, "help reads no YAML"
assert run(["translate", "--model", "no-such-folder"]) == 1
assert run(["translate", "--model", "a", "--beam-size", "0"]) == 2
assert run(["train", "--config", "phrasebook", "--output", "x", "--set", "data.batch_size=0"]) == 2
loaded = [name for name in {HEAVY} if name in sys.modules]
assert not loaded, loaded
"""


def printed(capsys, *words, code=0):
    assert run(list(words)) == code
    streams = capsys.readouterr()
    return streams.out if code == 0 else streams.err


def test_no_command_imports_tensorflow_for_help_or_for_wrong_usage():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("usage: rnnsearch") == len(COMMANDS) + 1


def test_help_lists_every_command_once_under_a_group(capsys):
    lines = printed(capsys, "--help").splitlines()
    groups = [line for line in lines if line.endswith(":") and not line.startswith((" ", "usage:"))]
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    modules = (pathlib.Path(__file__).parents[2] / "rnnsearch_tf" / "cli").glob("*.py")
    commands = [
        path.stem.replace("_", "-")
        for path in modules
        if "\ndef arguments(parser" in path.read_text(encoding="utf-8")
    ]
    assert sorted(listed) == sorted(commands) == sorted(COMMANDS)
    assert len(groups) == len(set(groups)) >= 5


def test_flags_are_few_and_help_fits_a_screen(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    count = 0
    for name in COMMANDS:
        text = parser_of(name).format_help()
        assert text.count("\n") < 45, name
        flags = set(re.findall(r"^  (--?[a-z][\w-]*)", text, re.MULTILINE)) - {"-h", "--quiet"}
        count += len(flags)
    assert 60 < count <= 90


def test_alone_it_says_what_to_do_next(capsys):
    text = printed(capsys)
    names = [line.split()[1] for line in text.splitlines() if line.startswith("  rnnsearch ")]
    assert names and set(names) <= set(COMMANDS)
    assert printed(capsys, "help", "translate") == printed(capsys, "translate", "--help")
    assert printed(capsys, "--version").startswith("rnnsearch ")


@pytest.mark.parametrize(
    "words, expected",
    [
        (["translate", "f", "--model", "m", "--quiet", "g"], {"files": ["f", "g"]}),
        (["score", "f", "--model", "m", "g"], {"source": "f", "target": "g"}),
        (["translate", "--model", "m"], {"files": ["-"]}),
    ],
    ids=str,
)
def test_options_stand_before_between_and_after_the_other_arguments(words, expected):
    found = vars(parser_of(words[0]).parse(words[1:]))
    assert {name: found[name] for name in expected} == expected


def test_options_lists_every_configuration_with_its_purpose_and_every_option(capsys):
    text = printed(capsys, "options")
    configurations, _, options = text.partition("\noptions ")
    lines = [line for line in configurations.splitlines()[1:] if not line.startswith("   ")]
    assert [line.split()[0] for line in lines] == list(shipped_configs())
    assert all(line.split()[1:] for line in lines)
    assert "Cho et al. 2014a" in text  # the abbreviation does not end a sentence
    words = options.replace(",", " ").split()
    assert {name.rpartition(".")[2] for name, _ in option_fields()} <= set(words)


def test_a_configuration_is_printed_as_it_is_and_an_option_explained(capsys):
    path = shipped_configs()["phrasebook"]
    assert printed(capsys, "options", "phrasebook") == path.read_text(encoding="utf-8")
    for name, field in option_fields():
        text = printed(capsys, "options", name)
        assert " ".join(field.metadata["meaning"].split()) in " ".join(text.split())
    first, *_ = printed(capsys, "options", "search.beam_size").splitlines()
    assert first == "search.beam_size: 12  (hypotheses; at least 1)"
    for asked, option, count in (
        ("training.", "training.optimizer", sum(n.startswith("tr") for n, _ in option_fields())),
        ("dropout", "model.embedding_dropout", 3),
    ):
        lines = [line for line in printed(capsys, "options", asked).splitlines() if line[0] != " "]
        assert lines[0].startswith(f"{option}: ") and len(lines) == count


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
    monkeypatch.setitem(COMMANDS, "talk", "talks")
    monkeypatch.setitem(sys.modules, "rnnsearch_tf.cli.talk", module)
    assert run(words) == 1
    captured = capsys.readouterr()
    assert captured.out == "result\n"
    assert [line.removeprefix("rnnsearch: ") for line in captured.err.splitlines()] == [
        *shown,
        "error: it failed",
    ]


def test_progress_is_for_terminals_and_not_for_logs(monkeypatch, capsys):
    for is_terminal in (True, False):
        monkeypatch.setattr(sys.stderr, "isatty", lambda: is_terminal, raising=False)
        assert list(progress(range(4), doing="counting", unit="numbers")) == [0, 1, 2, 3]
        assert ("counting: 100%" in capsys.readouterr().err) == is_terminal


def test_the_module_is_the_program(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "rnnsearch_tf.export"],
        capture_output=True,
        cwd=tmp_path,
        timeout=60,
    )
    assert done.returncode == 2, done.stderr.decode()
