"""Keras callbacks of the fit driver that show its progress and stop it at a bad gradient."""

from __future__ import annotations

import json
import math
import pathlib
import shutil
import sys
import time
from collections.abc import Mapping
from typing import Any

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import naming, write_file
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.progress import duration
from rnnsearch_tf.training.schedule import (
    Logs,
    TrainingState,
    epochs_done,
    learning_rate,
    share_done,
)

BATCHES_BETWEEN_RECORDS = 100
"""In metrics.jsonl."""

BATCHES_BEFORE_TIME_LEFT = 20
"""Before, no time left is told: the first batch builds the graph and says nothing of the others."""


class FiniteGradient(keras.callbacks.Callback):
    """Stops at a loss or a gradient that is not finite: the weights are of no more use."""

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        values = {name: (logs or {})[name] for name in ("loss", "gradient_norm")}
        if not all(map(math.isfinite, values.values())):
            found = ", ".join(f"{name} {value}" for name, value in values.items())
            raise UserError(
                f"training: expected a finite gradient, got {found}; set a lower"
                " training.learning_rate, and resume from the last checkpoint"
            )


class Progress(keras.callbacks.Callback):
    """Prints one line to standard error: batch, loss, development BLEU, share done, time left,
    epoch, speed; and appends JSON lines to metrics.jsonl.

    On a terminal the line is redrawn every half second; in a log a line is written every minute and
    at the end. Records after those of the state were written by a training that was killed; they
    are cut off and written again.

    Attributes:
        speed: target tokens (with end symbols, without padding) per second of updates and of
            reading their batches, over the epoch, without the first update of the process.
    """

    def __init__(self, path: pathlib.Path, state: TrainingState, config: TrainingConfig) -> None:
        super().__init__()
        self.path = path
        self.state = state
        self.config = config
        self.speed = 0.0
        self._tokens_before: float | None = None  # of the epoch, until the speed was measured
        self._seconds = 0.0
        self._began = 0.0
        self._last: tuple[int, Mapping[str, Any]] | None = None  # epoch that ended, its logs
        self._terminal = sys.stderr.isatty()
        self._next = time.monotonic()
        if path.exists():
            write_file(path, path.read_bytes()[: state.metrics_bytes])

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        self._seconds = 0.0
        self._tokens_before = None if self._tokens_before is None else 0.0

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        self._began = time.monotonic()

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        logs = logs or {}
        now = time.monotonic()
        if self._tokens_before is None:
            self._tokens_before = logs["target_tokens"]
        else:
            self._seconds += now - self._began
            self.speed = (logs["target_tokens"] - self._tokens_before) / max(self._seconds, 1e-9)
        if now >= self._next:
            self._next = now + (0.5 if self._terminal else 60)
            self._print(self.state.epoch, logs)
        if self.state.batches % BATCHES_BETWEEN_RECORDS == 0:
            self.write("batches", logs)

    def on_epoch_end(self, epoch: int, logs: Logs = None) -> None:
        self._last = epoch, logs or {}
        self.write("epoch", logs)

    def on_train_end(self, logs: Logs = None) -> None:
        if self._last:
            self._print(*self._last, end="\n")

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
            record["target_tokens_per_second"] = _number(self.speed)
        line = (json.dumps(record) + "\n").encode()
        with naming(self.path), open(self.path, "ab") as file:
            file.write(line)
        state.metrics_bytes += len(line)

    def _print(self, epoch: int, logs: Mapping[str, Any], end: str = "") -> None:
        text = self._line(epoch, logs)
        if self._terminal:
            columns = shutil.get_terminal_size().columns
            text = f"\r\x1b[K{text[: columns - 1]}"  # a wrapped line could not be redrawn
        print(text, end=end if self._terminal else "\n", file=sys.stderr, flush=True)

    def _line(self, epoch: int, logs: Mapping[str, Any]) -> str:
        state = self.state
        share = max(share_done(state, self.config), epochs_done(state) / self.config.epochs)
        left = ""
        if state.batches >= BATCHES_BEFORE_TIME_LEFT:
            left = f"  {duration(state.seconds * (1 - share) / share)} left"
        best = "" if state.best is None else f"  best {state.best:.2f}"
        speed = f"  {self.speed:.0f} tokens/s" if self.speed else ""  # not of the first update
        # what matters most comes first: a narrow terminal cuts the end off
        return (
            f"batch {state.batches:>7,}  loss {logs['loss']:.3f}{best}  {share:4.0%}{left} "
            f" epoch {epoch + 1:>3}  {state.seconds / 60:6.1f} min "
            f" perplexity {logs['perplexity']:.2f}{speed} "
            f" learning rate {learning_rate(state, self.config):.2e} "
            f" gradient {logs['gradient_norm']:.2f}"
        )


def _number(value: float) -> float | None:
    """A number for JSON: None for NaN and Inf."""
    return round(float(value), 6) if math.isfinite(value) else None
