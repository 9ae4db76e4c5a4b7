"""Keras callbacks of the fit driver: clock, schedule, limits, log, progress line.

They share one :class:`~rnnsearch_tf.training.checkpoint.TrainingState`; the first of the list,
:class:`Clock`, keeps it up to date.
"""

import json
import logging
import math
import os
import shutil
import sys
import time

import numpy as np
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.files.atomic import cannot_write
from rnnsearch_tf.layers.dropout import Dropout
from rnnsearch_tf.models.keras_fit import NonFiniteGradient
from rnnsearch_tf.runtime.progress import duration
from rnnsearch_tf.training.checkpoint import means, restore_means
from rnnsearch_tf.files.untrusted import check_inside

log = logging.getLogger("rnnsearch_tf")

BATCHES_BETWEEN_RECORDS = 100
"""In metrics.jsonl and in TensorBoard."""


class Clock(keras.callbacks.Callback):
    """Counts batches, epochs and seconds into the state.

    A resumed epoch continues the averages over its first part.
    """

    def __init__(self, state):
        super().__init__()
        self.state = state
        self._last = time.monotonic()
        self._sizes = {}  # batches of an epoch, known before its last one comes

    def set_epoch_size(self, epoch, batches):
        """Say how many batches an epoch has."""
        self._sizes[epoch] = batches

    def on_epoch_begin(self, epoch, logs=None):
        if self.state.batches_of_epoch:
            restore_means(self.model, self.state)

    def on_train_batch_end(self, batch, logs=None):
        state = self.state
        state.batches += 1
        state.batches_of_epoch += 1
        state.epoch_read = state.batches_of_epoch == self._sizes.get(state.epoch)
        self.tick()

    def on_epoch_end(self, epoch, logs=None):
        state = self.state
        if state.epoch_read or not self.model.stop_training:
            state.epoch += 1
            state.batches_of_epoch = 0
            state.epoch_read = False

    def tick(self):
        """Add the time since the last call."""
        now = time.monotonic()
        self.state.seconds += now - self._last
        self._last = now


def updates_done(state, config):
    """Updates so far; the gradients of training.accumulate batches make one."""
    return state.batches // config.accumulate


def share_done(state, config):
    """Share of the training that is over, in [0, 1]: of the updates or the minutes, the larger."""
    shares = (
        [updates_done(state, config) / config.maximum_updates] if config.maximum_updates else []
    )
    shares += [state.seconds / 60 / config.maximum_minutes] if config.maximum_minutes else []
    return min(1.0, max(shares, default=0.0))


def epochs_done(state):
    """Passes over the training text so far; parts of one count from the second on, when its batches
    are known.
    """
    in_whole_epochs = state.batches - state.batches_of_epoch
    if not in_whole_epochs:
        return 0.0
    return state.epoch + min(1.0, state.batches_of_epoch * state.epoch / in_whole_epochs)


def learning_rate(state, config):
    """The learning rate of the next update: warm-up from 0, then as ``training.schedule`` says."""
    rate = config.learning_rate * min(
        1.0, (updates_done(state, config) + 1) / max(1, config.warmup_updates)
    )
    if config.schedule == "cosine":
        rate *= 0.5 * (1 + math.cos(math.pi * share_done(state, config)))
    if config.schedule == "halving":  # at halve_after, half an epoch later, ...
        rate *= 0.5 ** max(0, math.floor(2 * (epochs_done(state) - config.halve_after)) + 1)
    return rate


class Schedule(keras.callbacks.Callback):
    """Sets the learning rate before every batch."""

    def __init__(self, state, config):
        super().__init__()
        self.state = state
        self.config = config

    def on_train_batch_begin(self, batch, logs=None):
        # An array, since TensorFlow keeps a tensor of every Python number that it has ever met, 0.8
        # kB an update here.
        self.model.optimizer.learning_rate = np.array(learning_rate(self.state, self.config))


class Limits(keras.callbacks.Callback):
    """Stops at the maximum of updates or minutes, or at a gradient that is not finite.

    Of a batch with such a gradient nothing is learned, and nothing is left in the state, in the
    means over the epoch or in the random numbers of dropout. Nor is it of the update that finds no
    batch at the end of an epoch, in which TensorFlow may have drawn them already.
    """

    def __init__(self, state, config):
        super().__init__()
        self.state = state
        self.config = config
        self._dropouts = []
        self._random = []
        self._means = []

    def on_train_begin(self, logs=None):
        self._dropouts = self.dropouts()

    def dropouts(self):
        """The layers of the model that draw random numbers."""
        return [
            layer
            for layer in self.model._flatten_layers()
            if isinstance(layer, Dropout) and layer.rate
        ]

    def on_train_batch_begin(self, batch, logs=None):
        self._random = [(layer, layer.random_state()) for layer in self._dropouts]
        averages = [variable for metric in means(self.model) for variable in metric.variables]
        self._means = [(variable, tf.identity(variable)) for variable in averages]

    def on_epoch_end(self, epoch, logs=None):
        self.take_back()

    def take_back(self):
        """Forget a batch that was begun and not learned from: what dropout drew for it, and its
        share of the means.
        """
        for layer, value in self._random:
            layer.set_random_state(value)
        for variable, value in self._means:
            variable.assign(value)

    def on_train_batch_end(self, batch, logs=None):
        norm = float(self.model.optimizer.gradient_norm.numpy())
        if self.config.non_finite_gradient == "error" and not math.isfinite(norm):
            self.take_back()
            self.state.refuse()
            raise NonFiniteGradient(
                f"training: expected a finite gradient, got norm {norm} in batch"
                f" {self.state.batches + 1}"
            )
        self._random = []
        self._means = []
        if share_done(self.state, self.config) >= 1.0:
            self.model.stop_training = True


class MetricsLog(keras.callbacks.Callback):
    """Appends one JSON line to metrics.jsonl every BATCHES_BETWEEN_RECORDS batches and at the end
    of an epoch.

    What stands there beyond the state's own records, a torn last line too, a killed training wrote;
    it is cut off and comes again.
    """

    def __init__(self, path, state):
        super().__init__()
        self.path = path
        self.state = state
        check_inside(path, path.parent)
        if path.exists():
            self.cut()

    def cut(self):
        """Shorten the file to the records that the state knows of."""
        with open(self.path, "r+b") as file:
            size = file.seek(0, os.SEEK_END)
            # a new training, which adds to what is there
            if not self.state.batches and not self.state.metrics_bytes:
                self.state.metrics_bytes = size
            if size < self.state.metrics_bytes:
                log.warning(
                    "warning: %s: expected %d bytes, got %d: records are lost",
                    self.path,
                    self.state.metrics_bytes,
                    size,
                )
                content = self.path.read_bytes()
                self.state.metrics_bytes = content.rfind(b"\n") + 1
            file.truncate(self.state.metrics_bytes)

    def on_train_batch_end(self, batch, logs=None):
        if self.state.batches % BATCHES_BETWEEN_RECORDS == 0:
            self.write("batches", logs)

    def on_epoch_end(self, epoch, logs=None):
        self.write("epoch", logs)

    def write(self, kind, values):
        """One record: what it is about, where training stands, the values."""
        state = self.state
        record = {
            "kind": kind,
            "batches": state.batches,
            "epoch": state.epoch,
            "minutes": round(state.seconds / 60, 3),
        }
        record |= {key: _number(value) for key, value in (values or {}).items()}
        line = (json.dumps(record) + "\n").encode()
        try:
            with open(self.path, "ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise cannot_write(self.path, error) from None
        state.metrics_bytes += len(line)


def _number(value):
    """A number as JSON has it: None for NaN and Inf."""
    return round(float(value), 6) if math.isfinite(value) else None


class ProgressLine(keras.callbacks.Callback):
    """One line on standard error: how much is done, what is left, where training stands, loss,
    speed, development BLEU.

    On a terminal the line is drawn again every half second; in a log it is written every minute.

    Args:
        state: TrainingState.
        config: TrainingConfig, for the share done and the learning rate.
    """

    def __init__(self, state, config):
        super().__init__()
        self.state = state
        self.config = config
        self.terminal = sys.stderr.isatty()
        self._next = time.monotonic()

    def on_train_batch_end(self, batch, logs=None):
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + (0.5 if self.terminal else 60)
            self._write(self.state.epoch, logs, end="")

    def on_epoch_end(self, epoch, logs=None):
        if logs:  # the share of a few pairs that is drawn for an epoch may be none
            self._write(epoch, logs, end="\n")

    def _write(self, epoch, logs, end):
        text = self._standing(epoch, logs)
        if self.terminal:
            columns = shutil.get_terminal_size().columns
            text = f"\r\x1b[K{text[: columns - 1]}"  # a wrapped line could not be drawn again
        print(text, end=end if self.terminal else "\n", file=sys.stderr, flush=True)

    def _standing(self, epoch, logs):
        state = self.state
        share = share_done(state, self.config)
        done = (
            f"{share:4.0%}  {duration(state.seconds * (1 - share) / share)} left  " if share else ""
        )
        best = f"  BLEU {state.best_bleu:.2f}" if state.best_bleu is not None else ""
        skipped = logs.get("non_finite_share", 0)
        left_out = f"  not finite in {skipped:.1%} of batches" if skipped else ""
        return (
            f"{done}epoch {epoch + 1:>3}  batch {state.batches:>7,}  {state.seconds / 60:6.1f} min "
            f" loss {logs['loss']:.3f}  perplexity {logs['perplexity']:.2f}{best} "
            f" {logs['target_tokens_per_second']:.0f} tokens/s  learning rate"
            f" {learning_rate(state, self.config):.2e}  gradient"
            f" {logs['gradient_norm']:.2f}{left_out}"
        )
