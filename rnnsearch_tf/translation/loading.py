"""Load trained models from run folders, a single model or several as an ensemble."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Iterable, Sequence

from rnnsearch_tf.config import Config, load_config, load_section
from rnnsearch_tf.errors import UsageError, UserError, one_line
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import UNREADABLE, Run
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.text.pipeline import Text, load_texts

Paths = str | os.PathLike[str] | Iterable[str | os.PathLike[str]]
"""Path of one run folder, or of several."""


def load_runs(
    runs: Paths, overrides: Sequence[str] = ()
) -> tuple[TranslationModel | Ensemble, Text, Text, Config]:
    """Load the model of one run folder, or the ensemble of several.

    Arguments and errors are those of ``Translator.load``.

    Returns:
        (model or Ensemble, source Text, target Text, Config of the first run; for an ensemble, with
        the section model of the first member with attention).
    """
    runs = paths_of(runs)
    if len(runs) == 1:
        return load_run(runs[0], overrides)
    search = [override for override in overrides if override.startswith("search.")]
    loaded = [load_run(run, [each for each in overrides if each not in search]) for run in runs]
    models, sources, targets, configs = zip(*loaded)
    for side, texts in (("source", sources), ("target", targets)):
        _check_texts(side, runs, texts)
    attending = [config for model, config in zip(models, configs) if model.has_attention]
    # so that search may have the options of a model with attention
    config = dataclasses.replace(configs[0], model=[*attending, configs[0]][0].model)
    return Ensemble(models), sources[0], targets[0], load_section(config, overrides=search)


def paths_of(runs: Paths) -> list[str | os.PathLike[str]]:
    """The paths of run folders, at least one; UsageError if there is none."""
    paths = [runs] if isinstance(runs, (str, os.PathLike)) else list(runs)
    if not paths:
        raise UsageError(
            "runs: expected the path of a run folder, or of several, got an empty list; name one"
        )
    return paths


def load_run(
    run: str | os.PathLike[str], overrides: Sequence[str] = ()
) -> tuple[TranslationModel, Text, Text, Config]:
    """Load a run folder.

    Args:
        run: path of the folder.
        overrides: options that replace the run's own, ``section.key=value``.

    Returns:
        (model with the best weights, source Text, target Text, Config).
    """
    run = Run.open(run)
    config = load_config(run.config, overrides)
    trained = load_config(run.config)
    for section in ("model", "source", "target"):
        if getattr(config, section) != getattr(trained, section):
            raise UsageError(
                f"{run}: expected the section {section} as it was trained, got other options by"
                " --set; leave them out, or train a model with them"
            )
    source, target = load_texts(run, config)
    # drawing orthogonal matrices takes seconds, and these weights are replaced at once
    drawn = dataclasses.replace(config.model, initialization="uniform")
    sizes = source.vocabulary.size, target.vocabulary.size
    model = build_model(dataclasses.replace(config, model=drawn), *sizes)
    model.config = config.model
    run.read_weights(model)
    return model, source, target, config


def load_model(path: str | os.PathLike[str]) -> TranslationModel:
    """Load a trained model, which maps ids to logits; to translate text, see ``Translator.load``.

    Args:
        path: a run folder, whose best weights are loaded, or a ``.keras`` file written by
            ``model.save``.

    Returns:
        TranslationModel; from a ``.keras`` file, compiled as it was saved.

    Raises:
        UserError: neither exists at this path, it is damaged, or Keras's safe mode refuses it.
    """
    if pathlib.Path(path).suffix != ".keras":
        return load_run(path)[0]
    try:
        return keras.models.load_model(path)
    except (ValueError, KeyError, TypeError, *UNREADABLE) as error:
        reason = one_line(error)
        raise UserError(
            f"{path}: expected a model that model.save wrote, got a damaged or other file"
            f" ({reason}); copy it again, or save the model again with this version"
        ) from None


def _check_texts(side: str, runs: Sequence[str | os.PathLike[str]], texts: Sequence[Text]) -> None:
    for run, text in zip(runs, texts):
        if not text.same_as(texts[0]):
            raise UserError(
                f"{run}: expected the {side} vocabulary and text settings of the ensemble's first"
                f" member {runs[0]}, got others ({text.vocabulary.size} entries against"
                f" {texts[0].vocabulary.size}); train the members on the same vocabularies"
            )
