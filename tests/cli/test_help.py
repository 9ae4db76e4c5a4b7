"""Real processes that need no model: help at once, wrong usage, exit codes, nothing on the wrong
stream.
"""

import logging
import os
import pathlib
import subprocess
import sys
import time
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


def process(*words, **options):
    return subprocess.run(
        [sys.executable, "-m", "rnnsearch_tf", *words],
        capture_output=True,
        text=True,
        encoding="utf-8",
        timeout=60,
        **options,
    )


def test_no_verb_imports_tensorflow_for_help_or_for_wrong_usage():
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_TENSORFLOW], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("usage: rnnsearch") == len(VERBS) + 1


def test_help_answers_at_once_on_standard_output():
    started = time.monotonic()
    done = process("translate", "--help")
    assert time.monotonic() - started < 2  # importing TensorFlow alone takes longer
    assert (done.returncode, done.stderr) == (0, "")
    assert "end symbol included, not length-normalized" in " ".join(done.stdout.split())


def test_help_lists_every_verb_once_under_a_group():
    lines = process("--help").stdout.splitlines()
    groups = [line for line in lines if line.endswith(":") and not line.startswith((" ", "usage:"))]
    listed = [line.split()[0] for line in lines if line.startswith("  ")]
    modules = (pathlib.Path(__file__).parents[2] / "rnnsearch_tf" / "cli").glob("*.py")
    verbs = [
        path.stem.replace("_", "-")
        for path in modules
        if "\ndef arguments(parser" in path.read_text(encoding="utf-8")
    ]
    assert sorted(listed) == sorted(verbs)
    assert len(groups) == len(set(groups)) >= 5
    assert groups[0] == "first steps:" and listed[0] == "demo"


def test_the_installed_program_is_the_same():
    program = os.path.join(os.path.dirname(sys.executable), "rnnsearch")
    if not os.path.exists(program):
        pytest.skip("rnnsearch is not installed beside this Python")
    done = subprocess.run(
        [program, "--help"], capture_output=True, text=True, encoding="utf-8", timeout=60
    )
    assert (done.returncode, done.stdout) == (0, process("--help").stdout)


def test_help_in_a_plain_c_locale_is_still_utf8():
    done = process(
        "--help",
        env={
            "PATH": os.environ["PATH"],
            "LC_ALL": "C",
            "PYTHONCOERCECLOCALE": "0",
            "PYTHONUTF8": "0",
        },
    )
    assert done.returncode == 0 and "VERB …" in done.stdout


@pytest.mark.parametrize(
    "words, parts",
    [
        (["tranlate"], ["unknown verb 'tranlate'", "did you mean translate?"]),
        (["plot_attention"], ["unknown verb", "did you mean plot-attention?"]),
        (["--modle", "x"], ["unknown option '--modle'"]),
        (["zzzzzz"], ["unknown verb", "expected one of "]),
        (["--quit"], ["unknown option '--quit'", "did you mean --quiet?"]),
        (["--quiet"], ["expected a verb with --quiet"]),
        (["--verbose", "tranlate"], ["unknown verb 'tranlate'"]),
        (
            ["translate", "--model", "x", "--verbos"],
            ["unknown option --verbos", "did you mean --verbose?"],
        ),
        (["--quiet", "translate", "--model", "x", "--verbose"], ["--quiet or --verbose, got both"]),
        (["translate", "--modl", "x"], ["unknown option --modl", "did you mean --model?"]),
        (
            ["translate", "--model", "x", "--beamsize=3"],
            ["unknown option --beamsize", "did you mean --beam-size?"],
        ),
        (["translate", "--model", "x", "--beam", "3"], ["unknown option --beam", "--beam-size"]),
        (["translate", "-model", "x"], ["unknown option -model", "did you mean --model?"]),
        (["translate", "–model=x"], ["unknown option –model", "did you mean --model?"]),
        (["translate", "--model", "x", "—beam-size", "3"], ["did you mean --beam-size?"]),
        (["translate"], ["required: --model"]),
        (["translate", "--model"], ["--model", "expected one argument"]),
        (["translate", "--model", "x", "--beam-size", "0"], ["--beam-size", "at least 1", "'0'"]),
        (
            ["translate", "--model", "x", "--beam-size", "many"],
            ["--beam-size", "expected a whole number", "'many'"],
        ),
        (["score", "--model", "x", "source"], ["required: TARGET"]),
        (["align", "--model", "x", "a", "b", "c"], ["unrecognized arguments: c"]),
        (["sample", "--model", "x", "-n", "0"], ["-n", "at least 1", "'0'"]),
        (["train", "--output", "x"], ["expected --config"]),
        (["train", "--config", "no.yaml", "--output", "x"], ["no.yaml", "found none"]),
        (["fidelity", "--config", "no.yaml"], ["no.yaml", "found none"]),
        (["average", "x", "--output", ""], ["--output: expected a value, got an empty one"]),
        (["evaluate", "--model", "x", "--reference", ""], ["--reference: expected a value"]),
        (["client", "--server=x:1", "--model-name=x", "--tls-ca="], ["--tls-ca: expected a value"]),
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
        (["embed", "--model", "m", "phrases", "--method", "pca", "f"], {"files": ["f"]}),
        (["embed", "phrases", "--model", "m", "f", "--side", "source", "g"], {"files": ["f", "g"]}),
        (["embed", "words", "--model", "m"], {"what": "words", "files": []}),
        (["translate", "f", "--model", "m", "--quiet", "g"], {"files": ["f", "g"]}),
        (["translate", "--model", "m", "--", "f", "--g"], {"files": ["f", "--g"]}),
        (["import", "nematus", "f", "--output", "o", "g"], {"files": ["f", "g"]}),
        (["score", "f", "--model", "m", "g"], {"source": "f", "target": "g"}),
        (["options", "f", "--quiet", "g"], {"names": ["f", "g"]}),
    ],
    ids=str,
)
def test_options_stand_before_between_and_after_the_other_arguments(words, expected):
    found = vars(parser_of(words[0]).parse(words[1:]))
    assert {name: found[name] for name in expected} == expected


@pytest.fixture
def talkative(monkeypatch):
    """A verb that shows progress, logs at every level, writes a result and fails."""

    def work(arguments):
        print("progress", file=sys.stderr)
        for level in ("debug", "info", "warning"):
            getattr(logging.getLogger("rnnsearch_tf"), level)(level)
        print("result")
        raise UserError("it failed")

    module = types.SimpleNamespace(__doc__="Talks.", arguments=lambda parser: None, run=work)
    monkeypatch.setitem(VERBS, "talk", "talks")
    monkeypatch.setitem(sys.modules, "rnnsearch_tf.cli.talk", module)
    return module


@pytest.mark.parametrize(
    "words, shown",
    [
        (["talk"], ["progress", "warning"]),
        (["talk", "--quiet"], []),
        (["--quiet", "talk"], []),
        (["talk", "--verbose"], ["progress", "debug", "info", "warning"]),
    ],
)
def test_how_much_a_verb_says(talkative, capsys, words, shown):
    assert run(words) == 1
    captured = capsys.readouterr()
    assert captured.out == "result\n"
    assert [line.removeprefix("rnnsearch: ") for line in captured.err.splitlines()] == [
        *shown,
        "error: it failed",
    ]


def test_a_verb_may_say_more_by_itself(talkative, capsys):
    talkative.LOG_LEVEL = logging.INFO
    assert run(["talk"]) == 1 and "info" in capsys.readouterr().err
    assert run(["talk", "--quiet"]) == 1 and "info" not in capsys.readouterr().err


def test_a_real_process_exits_2_too():
    done = process("tranlate")
    assert (done.returncode, done.stdout) == (2, "")
    assert (
        done.stderr
        == "rnnsearch: error: unknown verb 'tranlate'; did you mean translate?; see rnnsearch"
        " --help\n"
    )


def test_fidelity_marks_what_departs(capsys, tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text("preset: groundhog\nmodel:\n  hidden_size: 64\n  unit: gru_reset_after\n")
    assert run(["fidelity", "--config", str(path), "--set", "model.biases=none"]) == 0
    captured = capsys.readouterr()
    rows = {
        line.split()[0]: line.split()[1:]
        for line in captured.out.splitlines()
        if "." in line.split(" ")[0]
    }
    assert captured.err == ""
    assert rows["model.hidden_size"] == ["64", "1000", "1000", "neither"]
    assert rows["model.unit"] == ["gru_reset_after", "gru", "gru", "neither"]
    assert rows["model.biases"] == ["none", "none", "groundhog", "paper"]
    assert rows["model.output_rank"] == ["620", "none", "620", "authors"]
    assert rows["training.rho"] == ["0.95", "0.95", "0.95", "both"]
    assert rows["training.loss_reduction"] == ["sum", "-", "sum", "authors"]
    assert "2 of " in captured.out


@pytest.mark.parametrize(
    "name, other",
    [("deep-lstm", True), ("cslm", True), ("rnnsearch-30", False), ("encoder-decoder", False)],
)
def test_fidelity_says_that_a_system_is_of_another_paper(capsys, name, other):
    assert run(["fidelity", "--config", name]) == 0
    first = capsys.readouterr().out.splitlines()[0]
    assert first.startswith("compared with RNNsearch of Bahdanau et al. 2015;") == other


def test_fidelity_knows_that_rnnencdec_sorted_fewer_batches(capsys):
    """sort_k_batches of the authors' state.py: 20 for RNNsearch, 10 for RNNencdec."""
    for name, row in (
        ("rnnsearch-30", ["20", "20", "20", "both"]),
        ("rnnencdec-30", ["20", "20", "10", "paper"]),
    ):
        assert run(["fidelity", "--config", name]) == 0
        rows = [line.split() for line in capsys.readouterr().out.splitlines()]
        assert ["data.batches_read_ahead", *row] in rows


@pytest.mark.parametrize(
    "name, expected",
    [
        (
            "encoder-decoder",  # Cho et al. 2014a as printed
            {
                "model.system": ["encoder_decoder", "encoder_decoder", "rnnencdec", "paper"],
                "data.batching": ["unsorted", "unsorted", "paper", "paper"],
                "target.vocabulary_size": ["15001", "-", "15001", "authors"],
                "training.global_clipnorm": ["1", "-", "1", "authors"],
                "search.shrinking_beam": ["false", "-", "true", "neither"],
                "model.embedding_size": ["100", "100", "100", "both"],
            },
        ),
        (
            "encoder-decoder-groundhog",
            {
                "model.system": ["rnnencdec", "encoder_decoder", "rnnencdec", "authors"],
                "data.batching": ["paper", "unsorted", "paper", "authors"],
                "data.batches_read_ahead": ["10", "-", "10", "authors"],
                "data.maximum_source_length": ["30", "-", "30", "authors"],
            },
        ),
    ],
)
def test_fidelity_compares_phrase_models_with_their_paper(capsys, name, expected):
    assert run(["fidelity", "--config", name]) == 0
    output = capsys.readouterr().out
    rows = {line.split()[0]: line.split()[1:] for line in output.splitlines() if line.strip()}
    assert {option: rows[option] for option in expected} == expected
    assert "15,000 most frequent words" in output and "30,000" not in output
    departing = [option for option, row in rows.items() if row[-1:] == ["neither"]]
    assert bool(departing) == (name == "encoder-decoder")
    # what has no effect is not compared: neither model has attention
    assert "model.alignment_size" not in rows
