"""What is done at every update keeps no memory: a training may have millions of them."""

import types

import pytest
from process_memory import STATUS, anonymous_memory

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import load_config
from rnnsearch_tf.training.callbacks import Clock, Schedule
from rnnsearch_tf.training.checkpoint import TrainingState

UPDATES = 2_000


def schedule():
    """Sets another learning rate every time."""
    state = TrainingState()
    callback = Schedule(
        state,
        load_config(
            overrides=["training.schedule=cosine", f"training.maximum_updates={3 * UPDATES}"]
        ).training,
    )
    callback.set_model(types.SimpleNamespace(optimizer=keras.optimizers.Adam()))

    def update():
        callback.on_train_batch_begin(0)
        state.batches += 1

    return update


def clock():
    """Counts the time of every update."""
    callback = Clock(TrainingState())

    def update():
        callback.on_train_batch_begin(0)
        callback.on_train_batch_end(0, {"target_tokens": 1.0})

    return update


@pytest.mark.slow
@pytest.mark.skipif(not STATUS.exists(), reason="this system has no /proc")
@pytest.mark.parametrize("make", [schedule, clock])
def test_an_update_keeps_no_memory(make):
    update = make()
    for _ in range(500):
        update()
    before = anonymous_memory()
    for _ in range(UPDATES):
        update()
    # a number that TensorFlow keeps takes 770 bytes
    assert anonymous_memory() - before < 400 * UPDATES
