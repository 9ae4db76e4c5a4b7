"""A training that is killed and resumed is the one that never was: weights, optimizer, metrics and
files, to the last bit.
"""

import io
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time
import zipfile

import h5py
import numpy as np
import pytest
from killed import LANGUAGE_MODEL as SMALL
from killed import SETTINGS

from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.training import fit as driver
from rnnsearch_tf.training.development import Development
from rnnsearch_tf.training.schedule import TrainingSchedule

PROGRAM = pathlib.Path(__file__).parents[1] / "killed.py"


def trained(folder, *words):
    """Run killed.py; what it printed, as a list of dictionaries."""
    done = subprocess.run(
        [sys.executable, PROGRAM, folder, *words],
        capture_output=True,
        text=True,
        timeout=3000,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def arrays(file):
    """{name: array} of an .h5 file."""
    found = {}
    with h5py.File(file) as content:
        content.visititems(
            lambda name, item: (
                found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None
            )
        )
    return found


def saved_state(run):
    """The counters of the checkpoint."""
    with zipfile.ZipFile(run.checkpoint) as archive:
        return json.loads(archive.read("training.json"))


def everything(run):
    """All that a RUN says, times aside: {name: value}."""
    found = {}
    timed = ("minutes", "target_tokens_per_second")
    with zipfile.ZipFile(Run(run).checkpoint) as archive:
        found |= {
            f"saved {name}": array
            for name, array in arrays(io.BytesIO(archive.read("model.weights.h5"))).items()
        }
    found["state"] = {
        key: value
        for key, value in saved_state(Run(run)).items()
        if key not in ("seconds", "metrics_bytes")
    }
    for path in [run / "best" / "model.weights.h5", *sorted((run / "evaluated").iterdir())]:
        found |= {f"{path.name} {name}": array for name, array in arrays(path).items()}
    records = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    found["metrics"] = [
        {key: value for key, value in record.items() if key not in timed} for record in records
    ]
    assert not list(run.rglob("partial-*")), "half-written files"
    return found


def assert_same(one, other):
    one = everything(one)
    other = everything(other)
    assert one.keys() == other.keys()
    for name in one:
        same = (
            np.array_equal(one[name], other[name])
            if isinstance(one[name], np.ndarray)
            else one[name] == other[name]
        )
        assert same, f"{name}: {one[name]} is not {other[name]}"


def test_kills_in_phases_and_between_files(tmp_path):
    """One after the other: before the first, the fifth, … file takes its place (configuration,
    vocabularies, checkpoints, weights), and in the middle of an evaluation.
    """
    between = ",".join(f"replace:{number}" for number in (1, 5, 20))
    trained(tmp_path, "whole", f"killed={between},evaluate:1,replace:11", "--", *SMALL)
    assert len(everything(tmp_path / "whole")["metrics"]) > 6
    assert_same(tmp_path / "whole", tmp_path / "killed")


RNNSEARCH = ["model.alignment_size=5", "model.maxout_size=4", "model.output_rank=null"]
RNNSEARCH += ["model.hidden_dropout=0.2", "model.readout_dropout=0.2"]


def test_a_kill_of_a_model_that_translates(tmp_path):
    """With dropout of states, a decoder and BLEU; in a checkpoint in the middle of an epoch."""
    trained(tmp_path, "whole", "killed=save:5", "--", *RNNSEARCH)
    assert_same(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.slow
@pytest.mark.parametrize(
    "settings, kills",
    [(SMALL, 20), (RNNSEARCH, 7)],
    ids=["cslm", "rnnsearch"],
)
def test_kills_at_random_moments(tmp_path, settings, kills):
    """Each kill in a training of its own. Another seed every day; RNNSEARCH_SEED=… gives those of
    another day again.
    """
    seed = int(os.environ.get("RNNSEARCH_SEED", time.strftime("%Y%m%d")))
    print(f"RNNSEARCH_SEED={seed}")  # pytest shows it where the test fails
    generator = random.Random(seed)
    [whole] = trained(tmp_path, "whole", "--", *settings)
    moments = [generator.uniform(0.1, whole["seconds"]) for _ in range(kills)]
    trained(
        tmp_path,
        *(f"killed{number}={moment:.2f}" for number, moment in enumerate(moments)),
        "--",
        *settings,
    )
    for number, moment in enumerate(moments):
        try:
            assert_same(tmp_path / "whole", tmp_path / f"killed{number}")
        except AssertionError as error:
            raise AssertionError(
                f"killed after {moment:.2f} s (RNNSEARCH_SEED={seed}): {error}"
            ) from None


@pytest.fixture
def stop(monkeypatch):
    """stop(which, owner, attribute, number): a signal comes in the middle of that call, once."""

    def arrange(which, owner, attribute, number):
        left = [number]
        called = getattr(owner, attribute)

        def watched(*arguments, **keywords):
            left[0] -= 1
            if not left[0]:
                assert signal.getsignal(which) != signal.SIG_DFL, "it would end this process"
                os.kill(os.getpid(), which)
            return called(*arguments, **keywords)

        monkeypatch.setattr(owner, attribute, watched)

    return arrange


PHASES = {  # (where a signal comes, in which call of it, batches that are saved then)
    "vocabularies": (driver, "build_texts", 1, None),
    "first checkpoint": (TranslationModel, "save", 1, 0),
    "update": (TrainingSchedule, "on_train_batch_end", 3, 3),
    "evaluation": (Development, "_loss", 1, 8),
    "checkpoint": (TranslationModel, "save", 5, 13),  # after the next update
}


@pytest.mark.parametrize(
    "phases",
    [["vocabularies", "update"], pytest.param(list(PHASES), marks=pytest.mark.slow)],
    ids=["two", "all"],
)
def test_a_signal_in_a_phase(tmp_path, stop, monkeypatch, capsys, phases):
    """SIGTERM, or Ctrl-C's SIGINT: exit code 130 each time; if nothing was saved yet the same
    command starts anew, else --resume continues; nothing is lost.
    """
    settings = [word for setting in [*SETTINGS, *SMALL] for word in ("--set", setting)]
    (tmp_path / "c.yaml").write_text("")
    command = ["train", "--config", str(tmp_path / "c.yaml"), *settings, "--output"]
    assert rnnsearch([*command, str(tmp_path / "whole")]) == 0
    capsys.readouterr()
    run = Run(tmp_path / "stopped")
    handler = signal.getsignal(signal.SIGTERM)
    for phase in phases:
        owner, attribute, number, batches = PHASES[phase]
        resume = ["--resume"] if run.checkpoint.exists() else []
        stop(signal.SIGINT if phase == "update" else signal.SIGTERM, owner, attribute, number)
        assert rnnsearch([*command, str(run), *resume]) == 130, phase
        monkeypatch.undo()
        out, said = capsys.readouterr()
        assert "rnnsearch: interrupted" in said and "Traceback" not in said and not out
        if batches is not None:
            assert saved_state(run)["batches"] == batches, phase
            assert f"Resume with: {run.resume_command}" in said
        assert signal.getsignal(signal.SIGTERM) == handler
    for _ in range(2):  # the second has nothing left to train
        assert rnnsearch([*command, str(run), "--resume"]) == 0
        assert json.loads(capsys.readouterr().out)["batches"] == saved_state(run)["batches"]
        assert_same(tmp_path / "whole", run.path)
