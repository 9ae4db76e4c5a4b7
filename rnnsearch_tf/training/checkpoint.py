"""Training checkpoints: the training state, saving it, and resuming from it.

A checkpoint is a complete model (weights, optimizer, random states) as a ``.keras`` file, and a
JSON file with that file's name and SHA-256 and the position in the training data. ``checkpoints/``
of a RUN holds the last two: ``state.json`` and ``state.previous.json``, each with its model. The
JSON file is replaced last and atomically, so that a kill at any moment leaves two valid
checkpoints. Only numbers are read from the model file, and the model is built from
``config.yaml``, so that no code is loaded from a checkpoint.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import logging
import os
import pathlib
import warnings
from collections.abc import Mapping
from typing import Any

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import Config, load_config
from rnnsearch_tf.errors import UserError, one_line
from rnnsearch_tf.files.atomic import make_folder, replacing, write_file
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runs.folder import UNREADABLE, Run
from rnnsearch_tf.text.vocabulary import Vocabulary
from rnnsearch_tf.training.optimizers import compile_model

log = logging.getLogger("rnnsearch_tf")

OTHER_OPTIMIZER = "Skipping variable loading for optimizer"
"""Start of Keras's warning that the saved optimizer has another number of variables."""


FIXED = (
    "optimizer",
    "global_clipnorm",
    "loss_reduction",
    "label_smoothing",
    "non_finite_gradient",
    "precision",
    "seed",
)
"""Options of the training section that cannot change when a training is resumed."""

NOT_COUNTED = -1
"""Length of a file that was not looked at yet."""


@dataclasses.dataclass
class TrainingState:
    """Counters of one training, kept across interruptions.

    Attributes:
        batches: batches trained on, over all epochs.
        epoch: current epoch, from 0.
        batches_of_epoch: batches of the current epoch already trained on.
        epoch_size: batches in an epoch.
        means: {name: [total, count]} of the metrics averaged over the epoch so far.
        seconds: training time so far, including evaluations.
        best_bleu: best development BLEU so far, or None.
        best_loss: lowest development loss so far, in nats a target token, or None.
        evaluations_since_best: evaluations since the best.
        evaluated, averaged: batches at the last evaluation, and at the last averaging; or None.
        began_from: description of the model that the training started from; None: fresh weights.
        began_at: score of that model, or None.
        metrics_bytes: length of metrics.jsonl; records of a killed training after it are written
            again. NOT_COUNTED in a new training.
        judged_by: the sentences and the settings of the evaluations that the best score is of, as
            ``name=value``.
    """

    batches: int = 0
    epoch: int = 0
    batches_of_epoch: int = 0
    epoch_size: int = 0
    means: dict[str, list[float]] = dataclasses.field(default_factory=dict)
    seconds: float = 0.0
    best_bleu: float | None = None
    best_loss: float | None = None
    evaluations_since_best: int = 0
    evaluated: int | None = None
    averaged: int | None = None
    began_from: str | None = None
    began_at: float | None = None
    metrics_bytes: int = NOT_COUNTED
    judged_by: list[str] = dataclasses.field(default_factory=list)

    def set_epoch_size(self, size: int) -> None:
        """Set the number of batches in an epoch. If it has changed, with data.batch_size or the
        text, as many of its pairs count as read.
        """
        if self.epoch_size:
            self.batches_of_epoch = self.batches_of_epoch * size // self.epoch_size
        self.epoch_size = size


def save_state(
    run: str | os.PathLike[str], model: TranslationModel, state: TrainingState, config: Config
) -> None:
    """Write a checkpoint to RUN/checkpoints. It and the previous one are kept; older ones are
    deleted once it is complete.

    Raises:
        UserError: it cannot be written, for example because the disk is full; the older checkpoints
            are unchanged.
    """
    run = Run(run)
    state.means = {
        metric.name: [float(keras.ops.convert_to_numpy(value)) for value in metric.variables]
        for metric in model.metrics
    }
    path = _unused(make_folder(run.checkpoints), state.batches)
    with replacing(path) as partial:
        model.save(partial)
    values: dict[str, Any] = {
        "model": path.name,
        "model_sha256": digest_of(path),
        **dataclasses.asdict(state),
        "configuration": saved_settings(config),
    }
    if run.state.exists():
        write_file(run.previous_state, run.state.read_bytes())
    write_file(run.state, json.dumps(values | {"sha256": _digest(values)}, indent=1))
    needed = {saved_numbers(run.previous_state).get("model"), path.name}
    for old in run.checkpoints.glob("*.keras"):
        if old.name not in needed:
            old.unlink()


def load_state(run: str | os.PathLike[str]) -> tuple[TranslationModel, TrainingState]:
    """Load the last checkpoint: (compiled model, TrainingState).

    If it is damaged, warn, load the previous checkpoint, and make that the last.

    Raises:
        UserError: there is no checkpoint, both are damaged, or they belong to another
            configuration or version.
    """
    run = Run(run)
    run.refuse_resuming()
    paths = [path for path in (run.state, run.previous_state) if path.exists()]
    damage = []
    for path in paths:
        try:
            loaded = _load(run, path)
        except _Damaged as error:
            damage.append(str(error))
            continue
        if path != run.state:
            reason = (
                damage[0] if damage else f"{run.state}: expected the last checkpoint, found none"
            )
            log.warning(
                "warning: %s; resuming from the previous checkpoint, after batch %d",
                reason,
                loaded[1].batches,
            )
            os.replace(path, run.state)
        return loaded
    raise UserError(
        f"{'; '.join(damage)}; restore {run.checkpoints} from a good copy, or start a new training"
        " with another --output"
    )


class _Damaged(Exception):
    """A checkpoint does not match its checksums."""


def _load(run: Run, path: pathlib.Path) -> tuple[TranslationModel, TrainingState]:
    values, model_path = _read(path)
    config = load_config(run.config)
    try:
        saved = values.pop("configuration")
        state = TrainingState(**values)
    except (KeyError, TypeError) as error:
        raise UserError(
            f"{path}: expected a checkpoint of this version, got one that keeps other numbers"
            f" ({error}); resume with the version that started the training, or start a new"
            " training in another folder"
        ) from None
    _check_configuration(path, saved, config, run)
    sizes = (Vocabulary.load(run.vocabulary(side)).size for side in ("source", "target"))
    model = build_model(config, *sizes)
    compile_model(model, config)
    try:
        with warnings.catch_warnings():  # Keras would only warn and use a fresh optimizer
            warnings.filterwarnings("error", message=OTHER_OPTIMIZER)
            model.load_weights(model_path)
    except (
        ValueError,
        TypeError,
        KeyError,
        *UNREADABLE,
        UserWarning,
    ) as error:
        if OTHER_OPTIMIZER in str(error):
            raise UserError(
                f"{model_path}: expected an optimizer of this version, got one that keeps other"
                " numbers; resume with the version that started the training, or start a new"
                " training in another folder"
            ) from None
        raise UserError(
            f"{model_path}: expected the model that {run.config} and the vocabularies describe, got"
            f" another ({' '.join(str(error).split())[:200]}); give the RUN its own checkpoints, or"
            " start a new training with another --output"
        ) from None
    restore_means(model, state)
    return model, state


def _read(path: pathlib.Path) -> tuple[dict[str, Any], pathlib.Path]:
    """(values of a checkpoint's JSON file, path of its model), both verified by their checksums."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        found = values.pop("sha256")
        if found != _digest(values):
            raise ValueError("its checksum does not match")
        model_path = path.parent / values.pop("model")
        expected = values.pop("model_sha256")
        if model_path.parent != path.parent or model_path.suffix != ".keras":
            raise ValueError(f"it names {model_path}, which is not a checkpoint")
        if digest_of(model_path) != expected:
            path = model_path
            raise ValueError("its checksum does not match")
        return values, model_path
    except (ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError) as error:
        reason = (
            f"{error.filename}: {error.strerror}" if isinstance(error, OSError) else one_line(error)
        )
        raise _Damaged(f"{path}: expected a saved training, got a damaged one ({reason})") from None


def _check_configuration(
    path: pathlib.Path, saved: Mapping[str, Any], config: Config, run: Run
) -> None:
    """Refuse a checkpoint whose model or optimizer differs from the RUN's configuration."""
    for name, value in json.loads(json.dumps(saved_settings(config))).items():
        old = saved.get(name)
        if old != value:
            raise UserError(
                f"{path}: expected a checkpoint of {run.config}, which has {name}={value}, got one"
                f" with {old}; give the RUN its own checkpoints or configuration, or start a new"
                " training with another --output"
            )


def saved_settings(config: Config) -> dict[str, Any]:
    """{dotted name: value} of the options that are fixed by a saved model and optimizer, and so
    cannot change.
    """
    return {
        f"{section}.{name}": value
        for section in ("source", "target", "model", "training")
        for name, value in dataclasses.asdict(getattr(config, section)).items()
        if section != "training" or name in FIXED
    }


def restore_means(model: TranslationModel, state: TrainingState) -> None:
    """Restore the metrics averaged over the epoch from a saved state."""
    for metric in model.metrics:
        for variable, value in zip(metric.variables, state.means.get(metric.name, ())):
            variable.assign(value)


def _unused(folder: pathlib.Path, batches: int) -> pathlib.Path:
    """An unused path for the model of a new checkpoint."""
    names = itertools.chain(
        [f"batch-{batches}.keras"],
        (f"batch-{batches}-{number}.keras" for number in itertools.count(2)),
    )
    return next(folder / name for name in names if not (folder / name).exists())


def _digest(values: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()


def digest_of(path: pathlib.Path) -> str:
    """The SHA-256 of a file, in hexadecimal."""
    with open(path, "rb") as file:
        digest = hashlib.sha256()
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def saved_numbers(state: pathlib.Path) -> dict[str, Any]:
    """The values of a checkpoint's state.json; empty if there is none, or a damaged one."""
    try:
        saved = json.loads(state.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return saved if isinstance(saved, dict) else {}
