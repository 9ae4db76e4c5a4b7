"""``train --from``: a real process that is interrupted and resumed, and what is refused before
anything is trained.
"""

import signal
import subprocess
import sys
import time

import pytest
import yaml
from tiny_run import write_run

from rnnsearch_tf.cli.main import run

SYSTEM = [
    "model.system=cslm",
    "model.alignment_size=1000",
    "model.maxout_size=500",
    "model.output_rank=620",
    "model.second_hidden_size=8",
]
SOURCE = "The zebra sees a green door ."


@pytest.fixture(scope="module")
def general(tmp_path_factory):
    """A RUN of the smallest system, whose training is traced in no time."""
    return write_run(tmp_path_factory.mktemp("general") / "run", SYSTEM, unknown_words=None)


@pytest.fixture
def new_text(general, tmp_path):
    words = ["--config", str(general / "config.yaml"), "--set", "data.corpus=files"]
    for side, line in (("source", SOURCE), ("target", "Le zèbre voit une porte verte .")):
        (tmp_path / side).write_text(f"{line}\n" * 50, encoding="utf-8")
        words += ["--set", f"data.train_{side}={tmp_path / side}"]
    return [*words, "--set", "data.held_out=0"]


@pytest.mark.slow
def test_interrupted_and_resumed_without_the_run(general, new_text, tmp_path):
    output = tmp_path / "mine"
    settings = ["training.epochs=100000", "training.evaluate_every=5"]
    settings += ["data.batch_size=10", "data.maximum_length=50"]
    words = [sys.executable, "-m", "rnnsearch_tf", "train", "--from", general, "--output", output]
    words += ["--new-words", "5", *new_text]
    words += [word for setting in settings for word in ("--set", setting)]
    with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        started = time.monotonic()
        while not (output / "best" / "model.weights.h5").exists():
            assert process.poll() is None and time.monotonic() - started < 300
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=200)
    errors = errors.decode()
    assert (process.returncode, out) == (130, b"") and "Traceback" not in errors, errors
    known = (general / "vocabulary.source.txt").read_text(encoding="utf-8").split("\n")
    new = [word for word in SOURCE.split() if word not in known]
    assert (
        0 < len(new) < 5
        and f"starting from the best weights of {general}, with {len(new)} new source and" in errors
    )
    assert f"Resume with: rnnsearch train --output {output} --resume" in errors
    state = output / "checkpoints" / "state.json"
    batches = yaml.safe_load(state.read_text())["batches"]
    assert (
        run(
            [
                "train",
                "--output",
                str(output),
                "--resume",
                "--set",
                f"training.maximum_updates={batches + 3}",
            ]
        )
        == 0
    )
    assert yaml.safe_load(state.read_text())["batches"] == batches + 3
    assert f"began from: the best weights of `{general}`" in (output / "model_card.md").read_text(
        encoding="utf-8"
    )
