"""A training that is killed and resumed is the one that never was: weights, optimizer, metrics and files, to the last bit."""

import io
import json
import pathlib
import random
import subprocess
import sys
import zipfile

import h5py
import numpy as np
import pytest

PROGRAM = pathlib.Path(__file__).with_name("killed.py")
SMALL = ["model.system=cslm", "model.second_hidden_size=6"]


def trained(folder, *words):
    """Run killed.py; what it printed, as a list of dictionaries."""
    done = subprocess.run([sys.executable, PROGRAM, folder, *words], capture_output=True, text=True, timeout=3000)
    assert done.returncode == 0, done.stderr[-3000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def arrays(file):
    """{name: array} of an .h5 file."""
    found = {}
    with h5py.File(file) as content:
        content.visititems(lambda name, item: found.update({name: item[()]}) if isinstance(item, h5py.Dataset) else None)
    return found


def everything(run):
    """All that a RUN says, times aside: {name: value}."""
    found, timed = {}, ("minutes", "target_tokens_per_second")
    state = json.loads((run / "checkpoints" / "state.json").read_text())
    with zipfile.ZipFile(run / "checkpoints" / state["model"]) as archive:
        found |= {f"saved {name}": array for name, array in arrays(io.BytesIO(archive.read("model.weights.h5"))).items()}
    found["state"] = {key: value for key, value in state.items() if key not in ("seconds", "model", "model_sha256", "sha256", "metrics_bytes")}
    for path in [run / "best" / "model.weights.h5", *sorted((run / "evaluated").iterdir())]:
        found |= {f"{path.name} {name}": array for name, array in arrays(path).items()}
    records = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    found["metrics"] = [{key: value for key, value in record.items() if key not in timed} for record in records]
    found["checksums"] = [line.split()[1] for line in (run / "SHA256SUMS").read_text().splitlines()]
    assert not list(run.rglob("partial-*")), "half-written files"
    return found


def assert_same(one, other):
    one, other = everything(one), everything(other)
    assert one.keys() == other.keys()
    for name in one:
        same = np.array_equal(one[name], other[name]) if isinstance(one[name], np.ndarray) else one[name] == other[name]
        assert same, f"{name}: {one[name]} is not {other[name]}"


def test_two_kills(tmp_path):
    """In the middle of an evaluation, and of a checkpoint in the middle of an epoch."""
    trained(tmp_path, "whole", "killed=evaluate:1,save:5", "--", *SMALL)
    assert len(everything(tmp_path / "whole")["metrics"]) > 6
    assert_same(tmp_path / "whole", tmp_path / "killed")


@pytest.mark.slow
@pytest.mark.parametrize("settings", [SMALL, ["model.alignment_size=5", "model.maxout_size=4", "model.output_rank=null"]], ids=["cslm", "rnnsearch"])
def test_kills_at_ten_random_moments(tmp_path, settings):
    trained(tmp_path, "warm", "--", *settings)
    [whole] = trained(tmp_path, "whole", "--", *settings)
    moments = [random.uniform(0.1, whole["seconds"]) for _ in range(10)]
    trained(tmp_path, *(f"killed{number}={moment:.2f}" for number, moment in enumerate(moments)), "--", *settings)
    for number, moment in enumerate(moments):
        try:
            assert_same(tmp_path / "whole", tmp_path / f"killed{number}")
        except AssertionError as error:
            raise AssertionError(f"killed after {moment:.2f} s: {error}") from None
