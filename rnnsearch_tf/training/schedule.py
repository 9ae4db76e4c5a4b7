"""The counters of a training, and by them the learning rate and the limits."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Mapping
from typing import Any

import numpy as np

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.runtime.backend import keras

HALVE_AFTER = 5
"""Epochs after which ``halving`` first halves the learning rate (Sutskever et al. 2014)."""

Logs = Mapping[str, Any] | None
"""Keras's argument of a callback: {name of a metric: its value}."""


@dataclasses.dataclass
class TrainingState:
    """Counters of one training, kept across interruptions.

    Attributes:
        batches: batches trained on, over all epochs.
        epoch: current epoch, from 0.
        batches_of_epoch: batches of the current epoch already trained on.
        epoch_size: batches in an epoch; 0: not known yet.
        seconds: training time so far, including evaluations.
        best: best development score so far, or None: BLEU, or the loss of a language model.
        evaluations_since_best: evaluations since the best.
        evaluated, averaged: batches at the last evaluation, and at the last averaging; or None.
        began_from: description of the model that the training started from; None: fresh weights.
        means: {name: [total, count]} of the metrics averaged over the epoch so far.
        metrics_bytes: length of metrics.jsonl.
    """

    batches: int = 0
    epoch: int = 0
    batches_of_epoch: int = 0
    epoch_size: int = 0
    seconds: float = 0.0
    best: float | None = None
    evaluations_since_best: int = 0
    evaluated: int | None = None
    averaged: int | None = None
    began_from: str | None = None
    means: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    metrics_bytes: int = 0


def share_done(state: TrainingState, config: TrainingConfig) -> float:
    """Completed share of the training in [0, 1], by updates or by minutes, whichever is larger."""
    shares = [state.batches / config.maximum_updates] if config.maximum_updates else []
    shares += [state.seconds / 60 / config.maximum_minutes] if config.maximum_minutes else []
    return min(1.0, max(shares, default=0.0))


def epochs_done(state: TrainingState) -> float:
    """Number of passes over the training text so far, fractions included."""
    part = state.batches_of_epoch / state.epoch_size if state.epoch_size else 0.0
    return state.epoch + part


def learning_rate(state: TrainingState, config: TrainingConfig) -> float:
    """Learning rate of the next update: linear warm-up from 0, then by ``training.schedule``."""
    rate = config.learning_rate * min(1.0, (state.batches + 1) / max(1, config.warmup_updates))
    if config.schedule == "cosine":
        rate *= 0.5 * (1 + math.cos(math.pi * share_done(state, config)))
    if config.schedule == "halving":  # at HALVE_AFTER, half an epoch later, ...
        rate *= 0.5 ** max(0, math.floor(2 * (epochs_done(state) - HALVE_AFTER)) + 1)
    return rate


def reached_limit(state: TrainingState, config: TrainingConfig) -> str | None:
    """The name of the option that ends a training now, or None."""
    reached = {
        "epochs": state.epoch,
        "maximum_updates": state.batches,
        "maximum_minutes": state.seconds / 60,
        "patience": state.evaluations_since_best,
    }
    for name, value in reached.items():
        limit = getattr(config, name)
        if limit is not None and value >= limit:
            return name
    return None


class TrainingSchedule(keras.callbacks.Callback):
    """A Keras callback with which ``model.fit`` trains as :func:`train` does.

    It sets the learning rate before every batch (``training.warmup_updates``,
    ``training.schedule``) and stops at ``training.maximum_updates``, ``maximum_minutes`` or
    ``epochs``. It does not evaluate: ``fit`` leaves the last weights, not the best.

    Give one to each training. In a second ``fit`` it continues where the first one ended; in
    another process it starts anew: ``keras.callbacks.BackupAndRestore`` does not save its counters.
    It counts one update a call, so ``compile`` may not set ``steps_per_execution``.

    Args:
        config: the ``training`` section of a configuration.
        state: the counters, which it updates; None: those of a new training.

    Example:
        schedule = TrainingSchedule(config.training)
        model.fit(dataset, epochs=config.training.epochs, callbacks=[schedule])
    """

    def __init__(self, config: TrainingConfig, state: TrainingState | None = None) -> None:
        super().__init__()
        self.config = config
        self._by_hand = state is None
        self.state = state or TrainingState()
        self._last = 0.0

    def on_train_begin(self, logs: Logs = None) -> None:
        self._last = time.monotonic()

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        if self._by_hand:  # an interrupted fit does not continue its epoch
            self.state.batches_of_epoch = 0

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        # An array, because TensorFlow caches a tensor for every Python number, which would leak
        # 0.8 kB an update.
        self.model.optimizer.learning_rate = np.array(learning_rate(self.state, self.config))

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        state = self.state
        now = time.monotonic()
        state.seconds += now - self._last
        self._last = now
        state.batches += 1
        state.batches_of_epoch += 1
        self._stop_at_limit()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        state = self.state
        state.epoch_size = max(state.epoch_size, state.batches_of_epoch)
        if state.batches_of_epoch == state.epoch_size:  # it did not stop within the epoch
            state.epoch += 1
            state.batches_of_epoch = 0
        self._stop_at_limit()

    def _stop_at_limit(self) -> None:
        if reached_limit(self.state, self.config):
            self.model.stop_training = True
