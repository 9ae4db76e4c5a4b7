"""Real processes with a model: streaming, damaged input, a reader that leaves, Ctrl-C, --resume."""

import json
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time
import zipfile

import yaml


RNNSEARCH = [sys.executable, "-m", "rnnsearch_tf"]
# pytest's own has it
ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "TF_CPP_MIN_LOG_LEVEL"}

TRAINING = {
    "data": {
        "corpus": "phrasebook",
        "phrasebook_size": 60,
        "batching": "bucketed",
        "batch_size": 8,
    },
    "model": dict(
        system="cslm", embedding_size=8, hidden_size=8, second_hidden_size=8
    ),  # traced in no time
    "training": dict(epochs=2000, evaluate_sentences=4, evaluate_every=10),
    "search": dict(beam_size=2),
}


def test_a_finished_line_in_is_a_finished_line_out(run_folder):
    """One line at a time through a pipe that stays open."""
    pipes = dict(stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    with subprocess.Popen(
        [*RNNSEARCH, "translate", "--model", run_folder], env=ENVIRONMENT, **pipes
    ) as process:
        watchdog = threading.Timer(200, process.kill)  # whoever waits for more input waits for ever
        watchdog.start()
        answers = []
        for line in (b"The door is white.\n", b"\n", b"caf\xc3\xa9 x\n"):
            process.stdin.write(line)
            process.stdin.flush()
            answers.append(process.stdout.readline())
        # a last line without its newline
        rest, errors = process.communicate(b"She goes.", timeout=200)
        watchdog.cancel()
    assert process.returncode == 0
    assert all(line.endswith(b"\n") for line in answers)
    assert [bool(line.strip()) for line in answers] == [True, False, True]
    assert rest.endswith(b"\n") and rest.count(b"\n") == 1 and rest.strip()
    assert errors == b""


def test_ctrl_c_saves_and_resume_goes_on(tmp_path):
    config = tmp_path / "c.yaml"
    output = tmp_path / "run"
    config.write_text(yaml.safe_dump(TRAINING))
    started = time.monotonic()
    with subprocess.Popen(
        [*RNNSEARCH, "train", "--config", config, "--output", output],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        while not (output / "best" / "model.weights.h5").exists():
            assert process.poll() is None and time.monotonic() - started < 300
            time.sleep(0.1)
        process.send_signal(signal.SIGINT)
        out, errors = process.communicate(timeout=200)
    assert process.returncode == 130, errors.decode()
    assert out == b""
    assert f"rnnsearch train --output {output} --resume" in errors.decode()
    assert "Traceback" not in errors.decode()
    batches = _batches(output)

    limit = ["--set", f"training.maximum_updates={batches + 20}"]
    words = [*RNNSEARCH, "train", "--output", output, "--resume", *limit]
    done = subprocess.run(words, capture_output=True, timeout=300)
    assert done.returncode == 0, done.stderr.decode()
    assert _batches(output) == batches + 20
    assert yaml.safe_load(done.stdout)["batches"] == batches + 20
    assert done.stdout.count(b"\n") == 1


def _batches(folder: pathlib.Path) -> int:
    with zipfile.ZipFile(folder / "checkpoints" / "last.keras") as archive:
        return json.loads(archive.read("training.json"))["batches"]
