"""Average the weights of a training's last evaluations, which often beats the best of them."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

import numpy as np

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import Run


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
