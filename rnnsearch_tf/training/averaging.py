"""Averaging the weights of a training's last evaluations: often better than the best of them."""

from __future__ import annotations

import pathlib
import shutil

import numpy as np

from rnnsearch_tf.backend import keras
from rnnsearch_tf.config import load_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.models.build import BEST_WEIGHTS, EVALUATED, load_model, read_weights, write_weights
from rnnsearch_tf.run_folder import check_run, record, verify
from rnnsearch_tf.text.vocabulary import Vocabulary


def average_run(run, output, last=None) -> list:
    """Write a RUN folder whose weights are the mean of those of another's last evaluations.

    Args:
        run: path of the RUN folder.
        output: path of the new one: configuration, vocabularies and best/ are in it, no training.
        last: how many evaluations; None takes all that are kept.

    Returns:
        list of the paths that were averaged.

    Raises:
        UserError: fewer weights are kept than asked for, or only one; or a file is damaged.
        UsageError: `output` holds a training.
    """
    run, output = check_run(run), pathlib.Path(output)
    kept = sorted((run / EVALUATED).glob("batch-*.weights.h5"))
    if len(kept) < max(2, last or 0):
        raise UserError(
            f"{run / EVALUATED}: expected the weights of at least {max(2, last or 0)} evaluations, got {len(kept)}; "
            "train with a higher training.keep_evaluated, or evaluate more often (training.evaluate_every)"
        )
    if (output / "checkpoints").exists():
        raise UsageError(f"{output}: expected a folder without a training, found one; choose another --output")
    kept = kept[-(last or len(kept)) :]
    verify(run)
    verify(run, [path.relative_to(run).as_posix() for path in kept])
    model = _averaged(run, kept)
    write_weights(model, output / BEST_WEIGHTS)
    for path in [run / "config.yaml", *run.glob("vocabulary.*.txt"), *run.glob("*.spm.model")]:
        shutil.copyfile(path, output / path.name)
    record(output)
    return kept


def _averaged(run, paths):
    """The RUN's model with the mean of every weight of the files."""
    sizes = [Vocabulary.load(run / f"vocabulary.{side}.txt").size for side in ("source", "target")]
    model = load_model(run, load_config(run / "config.yaml"), *sizes)
    assign_mean(model, paths)
    return model


def assign_mean(model, paths):
    """Give a model the mean, computed in float64, of the weights of several files.

    Raises:
        UserError: a file is damaged, or belongs to another architecture.
    """
    sums = None
    for path in paths:
        read_weights(model, path)
        values = [keras.ops.convert_to_numpy(weight).astype(np.float64) for weight in model.trainable_variables]
        sums = values if sums is None else [total + value for total, value in zip(sums, values)]
    for weight, total in zip(model.trainable_variables, sums):
        weight.assign(total / len(paths))
