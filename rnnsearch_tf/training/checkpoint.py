"""Save a training and resume it; Ctrl-C and SIGTERM.

A checkpoint is one file, RUN/checkpoints/last.keras: a model as Keras saves it (weights, optimizer,
random states of dropout), and the counters in ``training.json`` inside the same archive. It is
replaced atomically, so that a kill at any moment leaves a whole one. Only numbers are read from it:
the model is built from ``config.yaml``.
"""

from __future__ import annotations

import dataclasses
import json
import signal
import threading
import time
import zipfile
from typing import Any

from rnnsearch_tf.config import Config
from rnnsearch_tf.errors import UserError, one_line
from rnnsearch_tf.files.atomic import replacing
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import UNREADABLE, Run
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.progress import say
from rnnsearch_tf.training.schedule import Logs, TrainingState

COUNTERS = "training.json"
"""The file of the counters in the archive."""

SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


def save_checkpoint(run: Run, model: TranslationModel, state: TrainingState) -> None:
    """Replace the checkpoint of a RUN.

    Raises:
        UserError: it cannot be written, for example because the disk is full; the old one stays.
    """
    state.means = {
        metric.name: [float(keras.ops.convert_to_numpy(value)) for value in metric.variables]
        for metric in model.metrics
    }
    with replacing(run.checkpoint) as partial:
        model.save(partial)
        with zipfile.ZipFile(partial, "a") as archive:
            archive.writestr(COUNTERS, json.dumps(dataclasses.asdict(state)))


def load_checkpoint(run: Run, model: TranslationModel) -> TrainingState:
    """Load the checkpoint of a RUN into its compiled model; return the counters.

    Raises:
        UserError: it is damaged, or belongs to another model.
    """
    try:
        with zipfile.ZipFile(run.checkpoint) as archive:
            state = TrainingState(**json.loads(archive.read(COUNTERS)))
        model.load_weights(run.checkpoint)
    except (ValueError, TypeError, KeyError, *UNREADABLE) as error:
        raise UserError(
            f"{run.checkpoint}: expected a saved training of the model that {run.config} describes,"
            f" got another or a damaged one ({one_line(error)}); restore it from a good copy, or"
            " start a new training with another --output"
        ) from None
    set_means(model, state)
    return state


def set_means(model: TranslationModel, state: TrainingState) -> None:
    """Continue the means of the epoch: Keras resets the metrics where ``fit`` begins."""
    for metric in model.metrics:
        for variable, value in zip(metric.variables, state.means[metric.name]):
            variable.assign(value)


class Checkpoints(keras.callbacks.Callback):
    """Saves a training after every evaluation, so that its score stays with the weights in
    RUN/best, and every ``training.checkpoint_every_minutes``; saves and stops it at the first
    Ctrl-C or SIGTERM.

    All this happens before the next update, when the counters agree with the weights and
    evaluations are done; a second signal stops at once. Signals are handled inside the ``with``
    block, in the main thread only.
    """

    def __init__(
        self, run: Run, model: TranslationModel, state: TrainingState, config: Config
    ) -> None:
        super().__init__()
        self.set_model(model)
        self.run = run
        self.state = state
        self.seconds_between = 60 * config.training.checkpoint_every_minutes
        self._last = time.monotonic()
        self._received = False
        self._old_handlers: dict[int, Any] = {}

    def __enter__(self) -> Checkpoints:
        if threading.current_thread() is threading.main_thread():
            self._old_handlers = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)

    def on_epoch_begin(self, epoch: int, logs: Logs = None) -> None:
        if self.state.batches_of_epoch:
            set_means(self.model, self.state)

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        self.stop_if_asked()
        was_evaluated = self.state.evaluated == self.state.batches
        if was_evaluated or time.monotonic() - self._last >= self.seconds_between:
            self.save()

    def save(self) -> None:
        save_checkpoint(self.run, self.model, self.state)
        self._last = time.monotonic()

    def stop_if_asked(self) -> None:
        """If there was a signal, save and raise KeyboardInterrupt."""
        if self._received:
            self.save()
            never = "; the model has not been evaluated yet, and cannot be used before that"
            say(
                f"stopped; progress is saved. Resume with: {self.run.resume_command}"
                f"{'' if self.run.best_weights.exists() else never}"
            )
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: object) -> None:
        if self._received:
            raise KeyboardInterrupt
        self._received = True
        say(
            f"{SIGNALS[signal.Signals(number)]}: stopping after this update or evaluation; repeat"
            " to stop at once, with the last checkpoint"
        )
