"""Several workers and several replicas make the updates that one process makes on the whole batch."""

import contextlib
import json
import os
import pathlib
import socket
import subprocess
import sys

import numpy as np
import pytest
import worker

from rnnsearch_tf.workers import Alone

TESTS = pathlib.Path(__file__).parents[1]


def addresses(count):
    """Addresses of this machine with free ports."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [f"127.0.0.1:{each.getsockname()[1]}" for each in sockets]


def started(count, *words, **options):
    """Processes of worker.py, or of another program named by `words`."""
    cluster = {"worker": addresses(count)}
    for index in range(count):
        task = {"cluster": cluster, "task": {"type": "worker", "index": index}}
        environment = {**os.environ, "TF_CONFIG": json.dumps(task), "PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])}
        yield subprocess.Popen([sys.executable, *words], env=environment, stderr=subprocess.PIPE, text=True, **options)


def weights(folder, count):
    """[{name: array}] of every worker."""
    processes = list(started(count, str(TESTS / "worker.py"), str(folder)))
    ends = [process.communicate(timeout=600)[1] for process in processes]
    assert [process.returncode for process in processes] == [0] * count, ends
    return [dict(np.load(folder / f"worker-{index}.npz")) for index in range(count)]


@pytest.mark.parametrize("count", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_workers_together_make_the_updates_of_one_process(tmp_path, count):
    """Every reduction of the loss, accumulation, clipping, gradients that are not finite, ragged batches, shares without a row."""
    alone = worker.trained(Alone())
    chief, *others = weights(tmp_path, count)
    assert chief.keys() == alone.keys()
    for name, expected in alone.items():
        np.testing.assert_allclose(chief[name], expected, rtol=1e-9, atol=1e-9, err_msg=name)
        assert all(np.array_equal(chief[name], other[name], equal_nan=True) for other in others), name
    moved = {name.split()[0] for name in alone if name.endswith(" 0") and np.ptp(alone[name]) > 0}
    assert moved == worker.COMBINATIONS.keys()
