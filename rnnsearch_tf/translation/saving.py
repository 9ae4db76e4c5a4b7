"""Save a model that was trained by hand, with ``model.fit``, as a RUN folder; model cards."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Mapping

import tensorflow as tf

from rnnsearch_tf import __version__
from rnnsearch_tf.config import Config, save_config
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files.atomic import new_folder, write_file
from rnnsearch_tf.models.build import SYSTEMS
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.text.pipeline import Text


def save_model(
    path: str | os.PathLike[str],
    model: TranslationModel | Ensemble,
    source: Text,
    target: Text,
    config: Config,
    origin: Mapping[str, str] | None = None,
) -> None:
    """Write a RUN folder, complete or not at all; see ``Translator.save``.

    Args:
        model, source, target, config: parts of a Translator.
        origin: rows of the model card that say where the weights are from; None: they were trained
            in Python.
    """
    if isinstance(model, Ensemble):
        raise UsageError(
            f"save: expected one model, got an ensemble of {len(model.models)}, which has no"
            " weights of its own; keep its members as RUNs: every command and export_model take"
            " several"
        )
    config = dataclasses.replace(config, source=source.config, target=target.config)
    check_new_folder(path)
    _check_config(model, source, target, config)
    with new_folder(os.path.abspath(path)) as partial:
        run = Run(partial)
        save_config(config, run.config)
        source.save(run, "source")
        target.save(run, "target")
        run.write_weights(model)
        rows = _trained_by_hand(model) if origin is None else dict(origin)
        write_card(run, described(config, model) | rows | made_with())


def check_new_folder(path: str | os.PathLike[str]) -> None:
    """Raise UsageError unless the path is that of a folder that does not exist or is empty."""
    path = pathlib.Path(path)
    if path.is_dir() and any(path.iterdir()):
        found = "a RUN" if Run(path).config.exists() else "other files"
        raise UsageError(
            f"{path}: expected a new or empty folder, found {found} in it; choose another, or"
            " delete this one first"
        )
    if path.exists() and not path.is_dir():
        raise UsageError(f"{path}: expected a new or empty folder, got a file; choose another path")


def _check_config(model: TranslationModel, source: Text, target: Text, config: Config) -> None:
    """Raise UsageError unless the configuration and the texts describe the model, so that it can be
    built from them again.
    """
    expected = {f"model.{name}": value for name, value in vars(model.config).items()}
    expected["model.system"] = next(
        (name for name, system in SYSTEMS.items() if type(model) is system), type(model).__name__
    )
    expected["training.precision"] = model.dtype_policy.name
    got = {f"model.{name}": value for name, value in vars(config.model).items()}
    got["training.precision"] = config.training.precision
    sizes = {"source": model.source_vocabulary_size, "target": model.target_vocabulary_size}
    for side, text in (("source", source), ("target", target)):
        expected[f"{side} vocabulary"] = sizes[side]
        got[f"{side} vocabulary"] = text.vocabulary.size
    for name, value in expected.items():
        if got[name] != value:
            raise UsageError(
                f"save: expected the configuration and the texts that the model was built with,"
                f" {name}={value}, got {got[name]}; give Translator those"
            )


def _trained_by_hand(model: TranslationModel) -> dict[str, str]:
    optimizer = getattr(model, "optimizer", None)
    updates = int(optimizer.iterations.numpy()) if optimizer is not None else 0
    how = f"{updates:,} updates, {type(optimizer).__name__}" if updates else "not recorded"
    return {
        "trained on": "not recorded: the text was given in Python",
        "training": f"by hand, saved by Translator.save; {how}",
        "best development BLEU": "not recorded; `rnnsearch evaluate` measures the model",
    }


def described(config: Config, model: TranslationModel) -> dict[str, str]:
    """Rows of a model card that say what the model is."""
    return {
        "model": f"{type(model).__name__}, {model.count_params():,} parameters",
        "languages": f"{config.source.language} to {config.target.language}",
        "text": (
            f"{config.source.tokenization} to {config.target.tokenization}, "
            f"{model.source_vocabulary_size:,} and {model.target_vocabulary_size:,} symbols"
        ),
    }


def made_with() -> dict[str, str]:
    """The row of a model card with the versions."""
    return {
        "made with": (
            f"rnnsearch_tf {__version__}, tensorflow {tf.__version__}, keras {keras.__version__}"
        )
    }


def write_card(run: Run, rows: Mapping[str, str]) -> None:
    """Write RUN/model_card.md with {name: value}."""
    lines = [
        "# Model card",
        "",
        *(f"- {name}: {value}" for name, value in rows.items()),
        "",
        "All settings are in `config.yaml`.",
        "",
    ]
    write_file(run.model_card, "\n".join(lines))
