"""What is done at every update keeps no memory: a training may have millions of them."""

import ctypes
import gc
import pathlib
import types

import pytest

from rnnsearch_tf.config import load_config
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.training.schedule import TrainingSchedule

STATUS = pathlib.Path("/proc/self/status")
UPDATES = 2_000


def anonymous_memory():
    """Bytes of this process that are of no file; what is free already is given back first."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    [line] = [line for line in STATUS.read_text().splitlines() if line.startswith("RssAnon")]
    return 1024 * int(line.split()[1])


@pytest.mark.skipif(not STATUS.exists(), reason="this system has no /proc")
def test_another_learning_rate_every_time():
    limit = f"training.maximum_updates={3 * UPDATES}"
    schedule = TrainingSchedule(load_config(overrides=["training.schedule=cosine", limit]).training)
    schedule.set_model(types.SimpleNamespace(optimizer=keras.optimizers.Adam()))

    def update(number):
        for _ in range(number):
            schedule.on_train_batch_begin(0)
            schedule.on_train_batch_end(0)

    update(500)
    before = anonymous_memory()
    update(UPDATES)
    # a number that TensorFlow keeps takes 770 bytes
    assert anonymous_memory() - before < 400 * UPDATES
