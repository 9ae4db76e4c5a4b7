"""Average the weights of a training's last evaluations, which often beats the best of them."""

from __future__ import annotations

import os
import pathlib
from collections.abc import Sequence

import numpy as np

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import saved_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.atomic import locked, write_file
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.training.checkpoint import saved_settings
from rnnsearch_tf.translation.loading import load_run
from rnnsearch_tf.files.untrusted import check_links


def average_run(
    run: str | os.PathLike[str], output: str | os.PathLike[str], last: int | None = None
) -> list[pathlib.Path]:
    """Write a RUN folder with the mean weights of another RUN's last evaluations.

    Args:
        run: path of the RUN folder.
        output: path of the new folder, which gets all that belongs to a model: configuration,
            vocabularies, best/, the record of the training text and the examples.
        last: number of evaluations; None takes all that are kept.

    Returns:
        paths of the weights that were averaged.

    Raises:
        UserError: fewer than `last` weights are kept, or only one; a file is damaged; or
            another process writes `output`.
        UsageError: `output` holds a training, or a model that is not such a mean.
    """
    if last is not None and last < 2:
        raise UsageError(f"last: expected at least 2 evaluations to average, got {last}")
    run = Run.open(run)
    averaged = Run(output)
    for folder in (run.path, averaged.path):
        check_links(folder)
    kept = run.evaluated_weights()
    if len(kept) < max(2, last or 0):
        raise UserError(
            f"{run.evaluated}: expected the weights of at least {max(2, last or 0)} evaluations,"
            f" got {len(kept)}; train with a higher training.keep_evaluated, or evaluate more often"
            " (training.evaluate_every)"
        )
    with locked(averaged.path):
        _refuse_others(averaged, run)
        kept = kept[-(last or len(kept)) :]
        run.verify(kept)
        model, *_ = load_run(run)
        assign_mean(model, run, kept)
        if not averaged.config.exists():
            averaged.clear()  # marks a folder that may be written again after a kill
        examples = [run.examples] if run.examples.exists() else []
        for path in [run.config, *run.text_files(), *examples]:
            write_file(averaged.path / path.name, path.read_bytes())
        averaged.record()
        averaged.write_weights(model)  # last: the folder is complete once it has weights
    return kept


def _refuse_others(averaged: Run, run: Run) -> None:
    """Refuse to overwrite a training, or any model but a mean of the same training."""
    if averaged.checkpoints.exists():
        raise UsageError(
            f"{averaged}: expected a folder without a training, found one; choose another --output"
        )
    if (
        averaged.model_card.exists()
        or not averaged.config.exists()
        or _what_stays(averaged) != _what_stays(run)
    ):
        averaged.refuse_training()


def _what_stays(run: Run) -> tuple[object, ...]:
    """What a resumed training cannot change: the model and its texts."""
    files = [path for path in run.text_files() if path.exists()]
    return saved_settings(saved_config(run.config)), *(path.read_bytes() for path in files)


def assign_mean(model: TranslationModel, run: Run, paths: Sequence[pathlib.Path]) -> None:
    """Assign to a model the mean of several weight files of a RUN, computed in float64.

    Raises:
        UserError: a file is damaged, or belongs to another architecture.
    """
    sums: list[np.ndarray] = []
    for path in paths:
        run.read_weights(model, path)
        values = [
            keras.ops.convert_to_numpy(weight).astype(np.float64)
            for weight in model.trainable_variables
        ]
        sums = [total + value for total, value in zip(sums, values)] if sums else values
    for weight, total in zip(model.trainable_variables, sums):
        weight.assign(total / len(paths))
