"""Replicas under a MirroredStrategy make the updates that one process makes on the whole batch."""

import json
import os
import pathlib
import subprocess
import sys

import mirrored
import numpy as np
import pytest
from test_nothing_lost import arrays

from rnnsearch_tf.config import load_config
from rnnsearch_tf.training.fit import train

TESTS = pathlib.Path(__file__).parents[1]


def of_replicas(folder, *names) -> str:
    """What mirrored.py says on standard error."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])}
    done = subprocess.run(
        [sys.executable, TESTS / "mirrored.py", folder, *names],
        env=environment,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return done.stderr


@pytest.mark.parametrize(
    "names",
    [["decay_weights"], pytest.param(["sum", "batch_mean", "traced"], marks=pytest.mark.slow)],
    ids="-".join,
)
def test_replicas_together_make_the_updates_of_one_process(tmp_path, names):
    """Plain ``fit`` in the scope of a MirroredStrategy."""
    of_replicas(tmp_path, *names)
    expected = mirrored.trained(names)
    replicas = np.load(tmp_path / "replicas.npz")
    assert expected.keys() == set(replicas)
    for name in expected:
        np.testing.assert_allclose(
            replicas[name], expected[name], rtol=1e-9, atol=1e-9, err_msg=name
        )
    for name in names:
        assert not np.array_equal(expected[f"{name} 0"], expected[f"{name} start"]), name


def records(run):
    """metrics.jsonl without times."""
    timed = ("minutes", "target_tokens_per_second")
    for line in (run / "metrics.jsonl").read_text().splitlines():
        yield {name: value for name, value in json.loads(line).items() if name not in timed}


@pytest.mark.slow
def test_a_whole_training_of_replicas(tmp_path):
    """The same records and weights as of one process, but for the last digits of sums."""
    train(load_config(overrides=mirrored.OPTIONS), tmp_path / "alone")
    assert "sharing every batch between 2 replicas" in of_replicas(tmp_path)
    alone, run = tmp_path / "alone", tmp_path / "run"
    for left, right in zip(records(alone), records(run), strict=True):
        assert left == pytest.approx(right, abs=2e-6)  # six decimals are written
    names = [f"evaluated/{path.name}" for path in (alone / "evaluated").iterdir()]
    assert names
    for name in ("best/model.weights.h5", *names):
        left, right = arrays(alone / name), arrays(run / name)
        assert left.keys() == right.keys()
        for each in left:
            np.testing.assert_allclose(left[each], right[each], rtol=0, atol=1e-6)
