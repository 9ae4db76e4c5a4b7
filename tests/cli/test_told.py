"""What people are told of a bad model, by one real process: train, evaluate, translate, average."""

import json
import os
import subprocess
import sys

import pytest
from tiny_run import SETTINGS

from rnnsearch_tf.cli.main import run
from rnnsearch_tf.data.phrasebook import phrasebook

PROGRAM = """
import json, sys
from rnnsearch_tf.cli.main import run
from rnnsearch_tf.training import length_advice

length_advice.SECONDS_OF_MEASURING = 0  # not a minute
for words in json.loads(sys.argv[1]):
    code = run(words)
    for stream in (sys.stdout, sys.stderr):
        print(f"\\0{code}", file=stream, flush=True)
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory):
    """{name of a command: (its exit code, standard output, standard error)}, all in one process."""
    folder = tmp_path_factory.mktemp("told")
    for side, lines in zip(("source", "target"), phrasebook(200, 1, "train")):
        (folder / side).write_text("".join(f"{line}\n" for line in lines[:9]), encoding="utf-8")
    changes = [
        *SETTINGS,
        "training.epochs=1000",
        "training.maximum_updates=4",
        "training.evaluate_every=2",
        "training.evaluate_sentences=4",
        "data.batch_size=20",
    ]
    sets = [word for change in changes for word in ("--set", change)]
    (folder / "empty.yaml").write_text("model: {}\n")
    still = [*sets, "--set", "training.learning_rate=1e-30", "--set", "training.optimizer=sgd"]
    commands = {
        "train": ["train", "--config", "empty.yaml", "--output", "run", *sets],
        "from": ["train", "--from", "run", "--output", "again", *still],
        "average": ["average", "run"],
        "version": ["version"],
    }
    process = subprocess.run(
        [sys.executable, "-c", PROGRAM, json.dumps(list(commands.values()))],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=500,
        env=os.environ | {"TF_CPP_MIN_LOG_LEVEL": "3"},
    )
    assert process.returncode == 0, process.stderr
    streams = [stream.split("\0") for stream in (process.stdout, process.stderr)]
    found = {}
    for name, out, err, after in zip(commands, *streams, streams[0][1:]):
        first = out.partition("\n")[2] if found else out  # the code of the command before
        found[name] = int(after.split("\n")[0]), first, err
    assert {code for code, *_ in found.values()} == {0}, process.stderr
    return found


@pytest.mark.slow
def test_a_training_that_is_too_short_says_so_twice(said):
    """200 pairs in batches of 20: 10 updates are one pass; in the first minute and at the end."""
    _, out, err = said["train"]
    assert "this text needs about 1,000: " in err
    assert "; set training.maximum_updates=1000 (Ctrl-C saves; then rnnsearch train" in err
    last = err.strip().splitlines()[-1]
    assert last.startswith("4 updates, 0.4 epochs: too few to learn from; this text needs about")
    assert "; development BLEU " in last and ": mostly unusable: too little text, or" in last
    resume = "rnnsearch train --output run --resume --set training.maximum_updates=1000"
    assert last.endswith(f"go on: {resume}")
    assert "done. Next" not in err and "\n\ndevelopment" not in err
    assert json.loads(out)["enough"] is False


def test_a_training_that_is_no_better_than_its_start_says_so(said):
    _, out, err = said["from"]
    last = err.strip().splitlines()[-1]
    assert last.startswith("4 updates brought no development BLEU better than that of the start, ")
    assert "again holds the weights it began with" in last and "done. Next" not in err
    assert json.loads(out)["enough"] is False


def test_the_next_step_and_the_version_are_said(said):
    assert "Next, to see whether it is better" in said["average"][2]
    assert "rnnsearch evaluate --model run/averaged --source F --reference F" in said["average"][2]
    assert said["version"][1].startswith("rnnsearch ")


@pytest.mark.parametrize(
    "word, guess",
    [
        ("list", "expected one of aer, "),
        ("verion", "expected one of"),
        ("transalte", "did you mean translate?"),
        ("eval", "did you mean evaluate?"),
    ],
)
def test_a_far_guess_is_none(word, guess, capsys):
    assert run([word]) == 2
    assert guess in capsys.readouterr().err
