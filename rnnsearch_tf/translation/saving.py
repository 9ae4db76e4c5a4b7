"""Save a model that was trained by hand, with ``model.fit``, as a run folder; model cards."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

import tensorflow as tf

from rnnsearch_tf import __version__
from rnnsearch_tf.config import Config, save_config
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import new_folder, write_file
from rnnsearch_tf.models.build import SYSTEMS
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.text.pipeline import Text


def save_model(
    path: AnyPath, model: TranslationModel | Ensemble, source: Text, target: Text, config: Config
) -> None:
    """Write a run folder, complete or not at all; see ``Translator.save``."""
    if isinstance(model, Ensemble):
        raise UsageError(
            f"save: expected one model, got an ensemble of {len(model.models)}, which has no"
            " weights of its own; keep its members as run folders: every command and export_model"
            " take several"
        )
    config = dataclasses.replace(config, source=source.config, target=target.config)
    _check_config(model, source, target, config)
    with new_folder(path) as partial:
        run = Run(partial)
        save_config(config, run.config)
        source.save(run, "source")
        target.save(run, "target")
        run.write_weights(model)
        write_card(run, described(config, model) | _trained_by_hand(model) | made_with())


def _check_config(model: TranslationModel, source: Text, target: Text, config: Config) -> None:
    """Raise UsageError unless the model can be built again from its configuration and texts."""
    pairs = {
        "class": (type(model), SYSTEMS.get(config.model.system)),
        "training.precision": (model.dtype_policy.name, config.training.precision),
        "source vocabulary": (model.source_vocabulary_size, source.vocabulary.size),
        "target vocabulary": (model.target_vocabulary_size, target.vocabulary.size),
    }
    for name, value in vars(model.config).items():
        pairs[f"model.{name}"] = value, getattr(config.model, name)
    for name, (expected, got) in pairs.items():
        if got != expected:
            raise UsageError(
                "save: expected the configuration and the texts that the model was built with,"
                f" {name}={expected}, got {got}; give Translator those"
            )


def _trained_by_hand(model: TranslationModel) -> dict[str, str]:
    optimizer = getattr(model, "optimizer", None)
    updates = int(optimizer.iterations.numpy()) if optimizer is not None else 0
    how = f"{updates:,} updates, {type(optimizer).__name__}" if updates else "not recorded"
    return {
        "trained on": "not recorded: the text was given in Python",
        "training": f"by hand, saved by Translator.save; {how}",
    }


def described(config: Config, model: TranslationModel) -> dict[str, str]:
    """Rows of a model card that say what the model is."""
    sizes = f"{model.source_vocabulary_size:,} and {model.target_vocabulary_size:,} symbols"
    return {
        "model": f"{type(model).__name__}, {model.count_params():,} parameters",
        "languages": f"{config.source.language} to {config.target.language}",
        "text": f"{config.source.tokenization} to {config.target.tokenization}, {sizes}",
    }


def made_with() -> dict[str, str]:
    """The row of a model card with the versions."""
    tools = f"tensorflow {tf.__version__}, keras {keras.__version__}"
    return {"made with": f"rnnsearch_tf {__version__}, {tools}"}


def write_card(run: Run, rows: Mapping[str, str]) -> None:
    """Write RUN/model_card.md with {name: value}."""
    lines = [f"- {name}: {value}" for name, value in rows.items()]
    text = ["# Model card", "", *lines, "", "All settings are in `config.yaml` of the run.", ""]
    write_file(run.model_card, "\n".join(text))
