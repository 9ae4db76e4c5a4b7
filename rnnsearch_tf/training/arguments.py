"""Checks of the arguments with which a training starts."""

from __future__ import annotations

import os
from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import Config, load_config
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.training.checkpoint import saved_settings

_RATE = "training.schedule sets the learning rate before every batch"
REFUSED_CALLBACKS = {
    "LearningRateScheduler": _RATE,
    "ReduceLROnPlateau": _RATE,
    "BackupAndRestore": "the checkpoints of the RUN are its backup, and resume=True continues",
    "SwapEMAWeights": "the optimizer has no averages of weights; training.average makes some",
}
"""Keras callbacks that a training would contradict, and why."""


def listed_callbacks(callbacks: Any) -> list[keras.callbacks.Callback]:
    """The callbacks of a training, given like those of Keras's ``fit``: a list, a single one, or
    None.
    """
    found = tf.nest.flatten(callbacks or [])
    for callback in found:
        if not isinstance(callback, keras.callbacks.Callback):
            raise UsageError(
                f"train: expected callbacks of Keras, got {callback!r}; make them objects of"
                " subclasses of keras.callbacks.Callback"
            )
        for name, reason in REFUSED_CALLBACKS.items():
            if isinstance(callback, getattr(keras.callbacks, name)):
                raise UsageError(
                    f"train: expected no {name} among the callbacks, got one; leave it out:"
                    f" {reason}"
                )
        if getattr(callback, "restore_best_weights", False):
            raise UsageError(
                f"train: expected {type(callback).__name__} without restore_best_weights, got it;"
                " leave it out: RUN/best has the best weights, and a checkpoint those of its"
                " optimizer"
            )
    return found


def check_arguments(
    run: Run,
    config: Config,
    resume: bool,
    start_from: str | os.PathLike[str] | None,
    new_words: int,
) -> None:
    """Refuse a folder or a combination of arguments with which training cannot start."""
    if resume and start_from is not None:
        raise UsageError(
            f"train: expected resume or start_from, got both; {run} records what it started from:"
            " leave start_from out"
        )
    if new_words and start_from is None:
        raise UsageError(
            f"train: expected start_from with new_words={new_words}, got none; name the RUN that"
            " they are added to"
        )
    if start_from is not None and run.path.resolve() == Run.open(start_from).path.resolve():
        raise UsageError(
            f"{run}: expected another folder than the one to start from, got the same; choose"
            " another --output"
        )
    if not resume:
        run.refuse_training()
        return
    if run.config.exists():
        _check_unchanged(load_config(run.config), config, run.config)
    run.refuse_resuming()


def _check_unchanged(before: Config, config: Config, path: os.PathLike[str]) -> None:
    """Refuse to resume with settings that differ from those of the saved model and optimizer."""
    new = saved_settings(config)
    for name, old in saved_settings(before).items():
        if old != new.get(name):
            raise UsageError(
                f"{path}: --resume expects {name}={old}, with which the training began, got"
                f" {new.get(name)}; take the value from that file, or start a new training with"
                " another --output"
            )
