"""Several workers make the updates that one process makes on the whole batch."""

import os
import pathlib
import subprocess
import sys

import ml_dtypes
import numpy as np
import pytest
import worker

from rnnsearch_tf.distributed.addresses import free_addresses, worker_variable
from rnnsearch_tf.distributed.workers import SingleWorker

TESTS = pathlib.Path(__file__).parents[1]


def weights(folder, count, names):
    """[{name: array}] of every worker's training, then of every worker's sums in bfloat16."""
    addresses = free_addresses(count)
    path = os.pathsep.join([str(TESTS.parent), str(TESTS)])
    environments = [
        {**os.environ, "TF_CONFIG": worker_variable(index, addresses), "PYTHONPATH": path}
        for index in range(count)
    ]
    command = [sys.executable, TESTS / "worker.py", folder, *names]
    processes = [
        subprocess.Popen(command, env=each, stderr=subprocess.PIPE, text=True)
        for each in environments
    ]
    ends = [process.communicate(timeout=600)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * count, ends
    return [
        dict(np.load(folder / f"{name}-{index}.npz"))
        for name in ("worker", "sums")
        for index in range(count)
    ]


def check_sums_in_bfloat16(chief, *others):
    """Large gradients are rounded, and a sum of rounded ones once more; rows of an embedding are
    not, and small gradients never.
    """
    each = [worker.gradients(index) for index in range(1 + len(others))]

    def rounded(values):
        return values.astype(ml_dtypes.bfloat16).astype(np.float32)

    rows = np.zeros((worker.WORDS, 6), np.float32)
    for own in each:
        rows[own["indices"]] += rounded(own["rows"])
    np.testing.assert_array_equal(chief["rows"], rows)
    np.testing.assert_allclose(chief["bias"], sum(own["bias"] for own in each), rtol=1e-6)
    matrix = sum(rounded(own["matrix"]) for own in each)
    if others[1:]:
        # in which order they are summed is not promised
        np.testing.assert_allclose(chief["matrix"], matrix, rtol=2**-8, atol=2**-7)
    else:
        np.testing.assert_array_equal(chief["matrix"], rounded(matrix))
    assert all(np.array_equal(chief[name], other[name]) for name in chief for other in others)


@pytest.mark.parametrize(
    "count, names",
    [
        (2, ["batch_mean", "skip"]),
        pytest.param(2, list(worker.COMBINATIONS), marks=pytest.mark.slow),
        pytest.param(3, list(worker.COMBINATIONS), marks=pytest.mark.slow),
    ],
    ids=["2-some", "2-all", "3-all"],
)
def test_workers_together_make_the_updates_of_one_process(tmp_path, count, names):
    """Reductions of the loss, accumulation, clipping, gradients that are not finite, ragged
    batches, shares without a row; the slow cases have every row of worker.COMBINATIONS.
    """
    alone = worker.trained(SingleWorker(), names)
    found = weights(tmp_path, count, names)
    check_sums_in_bfloat16(*found[count:])
    chief, *others = found[:count]
    assert chief.keys() == alone.keys()
    for name, expected in alone.items():
        np.testing.assert_allclose(chief[name], expected, rtol=1e-9, atol=1e-9, err_msg=name)
        assert all(np.array_equal(chief[name], other[name], equal_nan=True) for other in others), (
            name
        )
    for name in names:
        assert not np.array_equal(alone[f"{name} 0"], alone[f"{name} start"]), name
