"""Keras callbacks of the fit driver: clock, schedule, limits, log, progress line,
checkpoints, and those of the user.

They share one :class:`~rnnsearch_tf.training.checkpoint.TrainingState`, which :class:`Clock` keeps
up to date.
"""

from __future__ import annotations

import json
import logging
import math
import os
import pathlib
import shutil
import sys
import time
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.config import Config, TrainingConfig
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.files.atomic import cannot_write
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.progress import duration
from rnnsearch_tf.training.checkpoint import (
    NOT_COUNTED,
    TrainingState,
    restore_means,
    save_state,
)
from rnnsearch_tf.training.learning_rate import epochs_done, learning_rate, share_done

log = logging.getLogger("rnnsearch_tf")

BATCHES_BETWEEN_RECORDS = 100
"""In metrics.jsonl."""

BATCHES_BEFORE_TIME_LEFT = 20
"""Before, no time left is told: the first batch builds the graph and says nothing of the others."""

Logs = Mapping[str, Any] | None
"""Keras's argument of a callback: {name of a metric: its value}."""


class NonFiniteGradient(UserError):
    """The gradient of a batch is NaN or infinite."""


class Clock(keras.callbacks.Callback):
    """Counts batches, epochs and seconds in the state, and measures the speed: target tokens (with
    end symbols, without padding) per second of updates and of reading their batches, without the
    first update of an epoch. What callbacks do between updates is not counted.

    A resumed epoch continues the averages over its first part.
    """

    def __init__(self, state: TrainingState) -> None:
        super().__init__()
        self.state = state
        self.speed = 0.0
        self._last = time.monotonic()
        self._left_out: float | None = None  # tokens of the first update and those before it
        self._update_seconds = 0.0
        self._began = 0.0

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self._left_out = None
        self._update_seconds = 0.0
        if self.state.batches_of_epoch:
            restore_means(self.model, self.state)

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        self._began = time.monotonic()

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        tokens = (logs or {}).get("target_tokens", 0.0)
        if self._left_out is None:
            self._left_out = tokens
        else:
            self._update_seconds += time.monotonic() - self._began
            self.speed = (tokens - self._left_out) / max(self._update_seconds, 1e-9)
        state = self.state
        state.batches += 1
        state.batches_of_epoch += 1
        self.tick()

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        state = self.state
        if state.batches_of_epoch == state.epoch_size:
            state.epoch += 1
            state.batches_of_epoch = 0

    def tick(self) -> None:
        """Add the time since the last call."""
        now = time.monotonic()
        self.state.seconds += now - self._last
        self._last = now


class Schedule(keras.callbacks.Callback):
    """Sets the learning rate before every batch; stops at the maximum of updates or minutes."""

    def __init__(self, state: TrainingState, config: TrainingConfig) -> None:
        super().__init__()
        self.state = state
        self.config = config

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        # An array, because TensorFlow caches a tensor for every Python number, which would leak
        # 0.8 kB an update.
        self.model.optimizer.learning_rate = np.array(learning_rate(self.state, self.config))

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        if share_done(self.state, self.config) >= 1.0:
            self.model.stop_training = True


class FiniteGradient(keras.callbacks.Callback):
    """Stops at a loss or a gradient that is not finite, before its batch is counted: the weights
    are of no more use. It is the first callback in the list.
    """

    def __init__(self, state: TrainingState, config: TrainingConfig) -> None:
        super().__init__()
        self.state = state
        self.config = config

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        values = {name: (logs or {})[name] for name in ("loss", "gradient_norm")}
        if self.config.non_finite_gradient == "error" and not all(
            map(math.isfinite, values.values())
        ):
            found = ", ".join(f"{name} {value}" for name, value in values.items())
            raise NonFiniteGradient(
                f"training: expected a finite gradient, got {found} in batch"
                f" {self.state.batches + 1}; set a lower training.learning_rate, and resume from"
                " the last checkpoint"
            )


class MetricsLog(keras.callbacks.Callback):
    """Appends one JSON line to metrics.jsonl every BATCHES_BETWEEN_RECORDS batches and at the end
    of an epoch.

    Records after those of the state were written by a training that was killed, as was an
    incomplete last line; they are cut off and written again.
    """

    def __init__(self, path: pathlib.Path, clock: Clock) -> None:
        super().__init__()
        self.path = path
        self.clock = clock
        self.state = state = clock.state
        if state.metrics_bytes == NOT_COUNTED:  # a new training keeps the records of an earlier one
            state.metrics_bytes = path.stat().st_size if path.exists() else 0
        elif path.exists():
            self.truncate()

    def truncate(self) -> None:
        """Truncate the file to the records that the state has counted."""
        with open(self.path, "r+b") as file:
            size = file.seek(0, os.SEEK_END)
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

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        if self.state.batches % BATCHES_BETWEEN_RECORDS == 0:
            self.write("batches", logs)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        self.write("epoch", logs)

    def write(self, kind: str, values: Logs) -> None:
        """Append a record: its kind, the progress of the training, the values."""
        state = self.state
        record: dict[str, Any] = {
            "kind": kind,
            "batches": state.batches,
            "epoch": state.epoch,
            "minutes": round(state.seconds / 60, 3),
        }
        record |= {key: _number(value) for key, value in (values or {}).items()}
        if "target_tokens" in record:
            record["target_tokens_per_second"] = _number(self.clock.speed)
        line = (json.dumps(record) + "\n").encode()
        try:
            with open(self.path, "ab") as file:
                file.write(line)
                file.flush()
                os.fsync(file.fileno())
        except OSError as error:
            raise cannot_write(self.path, error) from None
        state.metrics_bytes += len(line)


def _number(value: float) -> float | None:
    """A number for JSON: None for NaN and Inf."""
    return round(float(value), 6) if math.isfinite(value) else None


class ProgressLine(keras.callbacks.Callback):
    """Prints one line to standard error: batch, loss, development BLEU, share done, time left,
    epoch, speed.

    On a terminal the line is redrawn every half second; in a log a line is written every minute.
    """

    def __init__(self, clock: Clock, config: TrainingConfig) -> None:
        super().__init__()
        self.clock = clock
        self.state = clock.state
        self.config = config
        self.terminal = sys.stderr.isatty()
        self._next = time.monotonic()

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        if time.monotonic() >= self._next:
            self._next = time.monotonic() + (0.5 if self.terminal else 60)
            self._write(self.state.epoch, logs or {}, end="")

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        if logs:  # an epoch that draws a share of few pairs may have no batch
            self._write(epoch, logs, end="\n")

    def _write(self, epoch: int, logs: Mapping[str, Any], end: str) -> None:
        text = self._line(epoch, logs)
        if self.terminal:
            columns = shutil.get_terminal_size().columns
            text = f"\r\x1b[K{text[: columns - 1]}"  # a wrapped line could not be redrawn
        print(text, end=end if self.terminal else "\n", file=sys.stderr, flush=True)

    def _line(self, epoch: int, logs: Mapping[str, Any]) -> str:
        state = self.state
        epochs = epochs_done(state) / self.config.epochs
        share = max(share_done(state, self.config), epochs)
        left = ""
        if share and state.batches >= BATCHES_BEFORE_TIME_LEFT:
            left = f"  {duration(state.seconds * (1 - share) / share)} left"
        done = f"  {share:4.0%}{left}" if share else ""
        best = f"  BLEU {state.best_bleu:.2f}" if state.best_bleu is not None else ""
        # what matters most comes first: a narrow terminal cuts the end off
        return (
            f"batch {state.batches:>7,}  loss {logs['loss']:.3f}{best}{done}  epoch {epoch + 1:>3} "
            f" {state.seconds / 60:6.1f} min  perplexity {logs['perplexity']:.2f} "
            f" {self.clock.speed:.0f} tokens/s  learning rate"
            f" {learning_rate(state, self.config):.2e}  gradient"
            f" {logs['gradient_norm']:.2f}"
        )


class SaveState(keras.callbacks.Callback):
    """Saves a checkpoint every ``training.checkpoint_every_minutes``."""

    def __init__(self, run: Run, state: TrainingState, config: Config) -> None:
        super().__init__()
        self.run = run
        self.state = state
        self.config = config
        self._last = time.monotonic()

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        if time.monotonic() - self._last >= 60 * self.config.training.checkpoint_every_minutes:
            save_state(self.run, self.model, self.state, self.config)
            self._last = time.monotonic()


class GivenCallbacks(keras.callbacks.Callback):
    """The user's callbacks, for which all epochs are one ``fit``.

    Every epoch of a training is a ``fit`` of its own. If it began and ended for them too, a logger
    would overwrite its file, and a patience would start anew.
    """

    def __init__(self, callbacks: Sequence[keras.callbacks.Callback]) -> None:
        super().__init__()
        self.callbacks = callbacks
        self._has_model = False
        self._has_begun = False
        self._last: Logs = None

    def set_params(self, params: dict[str, Any]) -> None:
        self._call("set_params", params)

    def set_model(self, model: keras.Model) -> None:
        if not self._has_model:
            self._has_model = True
            self._call("set_model", model)

    def on_train_begin(self, logs: Logs = None) -> None:
        if not self._has_begun:
            self._has_begun = True
            self._call("on_train_begin", logs)

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self._call("on_epoch_begin", epoch, logs)

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        self._call("on_train_batch_begin", batch, logs)

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        self._call("on_train_batch_end", batch, logs)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        self.on_train_begin()  # of a training that resumes with the end of an epoch
        self._last = logs
        self._call("on_epoch_end", epoch, logs)

    def end(self) -> None:
        """Call ``on_train_end``, if the training has begun."""
        if self._has_begun:
            self._call("on_train_end", self._last)

    def _call(self, method: str, *arguments: Any) -> None:
        for callback in self.callbacks:
            getattr(callback, method)(*arguments)
