"""Models out of the folders that training wrote, one by itself or several as an ensemble."""

from __future__ import annotations

import os
import pathlib

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import saved_config
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.pipeline import load_text
from rnnsearch_tf.files.untrusted import check_model_archive


def load_runs(runs, precision=None, combine="probabilities"):
    """The model of a RUN folder, or the ensemble of several; arguments and errors as of
    ``Translator.load``.

    Returns:
        (model or Ensemble, list of the different source Texts, target Text, Config of the first).
    """
    runs = [runs] if isinstance(runs, (str, os.PathLike)) else list(runs)
    models, source_texts, target_texts, configs = zip(*(load_run(run, precision) for run in runs))
    if len(runs) == 1:
        return models[0], source_texts, target_texts[0], configs[0]
    _check_targets(runs, target_texts)
    different, source_indices = _distinct(source_texts)
    return Ensemble(list(models), combine, source_indices), different, target_texts[0], configs[0]


def load_run(run, precision=None):
    """(model with the best weights, source Text, target Text, Config) of a RUN folder, its
    checksums verified.

    Args:
        run: path of the folder.
        precision: numbers computed with, as training.precision; None takes the run's own.
    """
    run = Run.open(run)
    run.verify()
    config = saved_config(
        run.config, overrides=[f"training.precision={precision}"] if precision else ()
    )
    texts = [load_text(run, side, getattr(config, side)) for side in ("source", "target")]
    model = build_model(config, *(text.vocabulary.size for text in texts))
    run.read_weights(model)
    return model, *texts, config


def load_model(path: str | os.PathLike) -> TranslationModel:
    """A trained model, from ids to logits; for text in and text out see ``Translator.load``.

    Args:
        path: a RUN folder, whose best weights are taken, or a ``.keras`` file that ``model.save``
            wrote.

    Returns:
        TranslationModel; of a ``.keras`` file compiled as it was saved.

    Raises:
        UserError: there is neither at this path, it is damaged, or it names code that is not this
            package's.
    """
    if pathlib.Path(path).suffix != ".keras":
        return load_run(path)[0]
    if pathlib.Path(path).is_file():
        check_model_archive(path)
    try:
        return keras.models.load_model(path)
    except (ValueError, OSError, KeyError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(
            f"{path}: expected a model that model.save wrote, got a damaged or other file"
            f" ({reason})"
        ) from None


def _check_targets(runs, texts):
    for run, text in zip(runs, texts):
        if not text.same_as(texts[0]):
            raise UserError(
                f"{run}: expected the target vocabulary and tokenization of the ensemble's first"
                f" member {runs[0]}, got others ({text.vocabulary.size} entries against"
                f" {texts[0].vocabulary.size}); train the members on one vocabulary"
            )


def _distinct(texts):
    """Of several Texts (the different ones, for each which of them it is)."""
    different = []
    places = []
    for text in texts:
        place = next(
            (k for k, other in enumerate(different) if text.same_as(other)), len(different)
        )
        different += [text] if place == len(different) else []
        places.append(place)
    return different, places
