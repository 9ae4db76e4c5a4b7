"""Learning rate and limits, against the formulas written out."""

import math
import types

import pytest

from rnnsearch_tf.config import load_config
from rnnsearch_tf.training.schedule import (
    TrainingSchedule,
    TrainingState,
    learning_rate,
    share_done,
)


def settings(*overrides):
    return load_config(overrides=[f"training.{text}" for text in overrides]).training


@pytest.mark.parametrize("batches", [0, 5, 9, 10, 400])
def test_warm_up_then_constant(batches):
    rate = learning_rate(
        TrainingState(batches=batches), settings("learning_rate=0.5", "warmup_updates=10")
    )
    assert rate == pytest.approx(0.5 * min(1.0, (batches + 1) / 10))


@pytest.mark.parametrize(
    "epoch, batch, halvings",
    [(0, 3, 0), (4, 9, 0), (5, 0, 1), (5, 4, 1), (5, 5, 2), (6, 0, 3), (7, 4, 5), (7, 5, 6)],
)
def test_halving_every_half_epoch_after_five(epoch, batch, halvings):
    """Sutskever et al. 2014, §3.4: 0.7; halved at 5, 5.5, 6, ... epochs, here of ten batches. The
    callback learns the size of an epoch at the end of the first.
    """
    config = settings("learning_rate=0.7", "schedule=halving", "epochs=9")
    schedule = TrainingSchedule(config)
    schedule.set_model(types.SimpleNamespace(stop_training=False))
    for number in range(10 * epoch + batch):
        schedule.on_train_batch_end(number)
        if number % 10 == 9:
            schedule.on_epoch_end(number // 10)
    assert learning_rate(schedule.state, config) == 0.7 * 0.5**halvings


@pytest.mark.parametrize("updates", [0, 250, 500, 1000])
def test_cosine_by_updates(updates):
    config = settings("learning_rate=2", "schedule=cosine", "maximum_updates=1000")
    rate = learning_rate(TrainingState(batches=updates), config)
    assert rate == pytest.approx(1 + math.cos(math.pi * updates / 1000))


def test_the_limit_that_is_further_along_counts():
    config = settings("maximum_updates=100", "maximum_minutes=10")
    assert share_done(TrainingState(batches=20, seconds=300), config) == pytest.approx(0.5)
    assert share_done(TrainingState(batches=80, seconds=300), config) == pytest.approx(0.8)
    assert share_done(TrainingState(batches=800, seconds=300), config) == 1.0
    assert share_done(TrainingState(batches=800, seconds=300), settings()) == 0.0


@pytest.mark.parametrize(
    "limits, batches",
    [(["epochs=2"], 6), (["epochs=9", "maximum_minutes=1e-9"], 1), (["maximum_updates=5"], 5)],
)
def test_the_schedule_ends_at_every_limit(limits, batches):
    """Of three batches an epoch."""
    schedule = TrainingSchedule(settings(*limits))
    model = types.SimpleNamespace(stop_training=False)
    schedule.set_model(model)
    for epoch in range(4):
        for batch in range(3):
            if not model.stop_training:
                schedule.on_train_batch_end(batch)
        if not model.stop_training:
            schedule.on_epoch_end(epoch)
    assert schedule.state.batches == batches


def test_an_interrupted_epoch_of_a_notebook_is_not_counted():
    """The next ``fit`` begins the epoch anew: the size of an epoch stays."""
    schedule = TrainingSchedule(settings("epochs=9"))
    schedule.set_model(types.SimpleNamespace(stop_training=False))
    for batches, is_interrupted in ((10, False), (6, True), (10, False)):
        schedule.on_epoch_begin(0)
        for batch in range(batches):
            schedule.on_train_batch_end(batch)
        if not is_interrupted:
            schedule.on_epoch_end(0)
    assert (schedule.state.epoch, schedule.state.epoch_size) == (2, 10)
