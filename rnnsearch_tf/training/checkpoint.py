"""Where a training stands, and how it is written down so that it can go on from there.

A checkpoint is a complete model (weights, optimizer, random states) as a ``.keras`` file and a JSON
file, which names that file and its SHA-256, and says where in the data it stands. ``checkpoints/``
of a RUN holds the last two: ``state.json`` and ``state.previous.json``, each with its model. A JSON
file is replaced last and in one move: a kill at any moment leaves two whole checkpoints. Of the
model only the numbers are read; what it is, ``config.yaml`` says, so that no code comes from it.
"""

import dataclasses
import hashlib
import itertools
import json
import logging
import os
import warnings
import zipfile
import zlib

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import Config, TrainingConfig, default_of, saved_config
from rnnsearch_tf.config.effects import names_without_effect, sections_of
from rnnsearch_tf.config.option import names_with
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import make_folder, replacing, write_file
from rnnsearch_tf.models import build_model
from rnnsearch_tf.runs.folder import Run, digest_of
from rnnsearch_tf.text.vocabulary import Vocabulary
from rnnsearch_tf.training.optimizers import compile_model
from rnnsearch_tf.files.untrusted import MODEL_FILES, check_archive

log = logging.getLogger("rnnsearch_tf")

OTHER_OPTIMIZER = "Skipping variable loading for optimizer"
"""What Keras warns of when the saved optimizer has another number of variables."""


@dataclasses.dataclass
class TrainingState:
    """Counters of one training, kept over interruptions.

    Attributes:
        batches: batches learned from, over all epochs.
        epoch: epoch in progress, from 0.
        batches_of_epoch: batches of that epoch already learned from.
        epoch_read: whether these are all that it has, so that only what ends an epoch is left of
            it.
        means: {name: total and count} of what is averaged over the epoch so far.
        seconds: training time so far, evaluations included.
        best_bleu: best development BLEU so far, or None.
        best_loss: least development loss so far, in nats a target word, or None.
        evaluations_since_best: evaluations since the best by training.best_by.
        evaluated, averaged: batches at the last evaluation, and at the last averaging; or None.
        began_from: what the training began from, in words; None: from fresh weights.
        refused, refused_last: whether the next batch was refused, since its gradient is not finite;
            whether it is the epoch's last.
        metrics_bytes: length of metrics.jsonl; what a killed training wrote beyond it is written
            again.
    """

    batches: int = 0
    epoch: int = 0
    batches_of_epoch: int = 0
    epoch_read: bool = False
    means: dict = dataclasses.field(default_factory=dict)
    seconds: float = 0.0
    best_bleu: float | None = None
    best_loss: float | None = None
    evaluations_since_best: int = 0
    evaluated: int | None = None
    averaged: int | None = None
    began_from: str | None = None
    refused: bool = False
    refused_last: bool = False
    metrics_bytes: int = 0

    def refuse(self):
        """Take back the last batch, which nothing was learned from."""
        self.refused = True
        self.refused_last = self.epoch_read
        self.epoch_read = False
        self.batches = self.batches - 1
        self.batches_of_epoch = self.batches_of_epoch - 1

    def skip(self):
        """Leave the refused batch out: it counts as a batch."""
        self.refused = False
        self.epoch_read = self.refused_last
        self.batches = self.batches + 1
        self.batches_of_epoch = self.batches_of_epoch + 1


def save_state(run, model, state: TrainingState, config: Config) -> None:
    """Write a checkpoint to RUN/checkpoints; the last but one goes once the new one is complete.

    Raises:
        UserError: it cannot be written, because the disk is full, say; the older checkpoints are as
            they were.
    """
    run = Run(run)
    # a metric's numbers are sums over them
    replicas = model.distribute_strategy.num_replicas_in_sync
    state.means = {
        metric.name: [
            float(keras.ops.convert_to_numpy(value)) / replicas for value in metric.variables
        ]
        for metric in means(model)
    }
    path = _unused(make_folder(run.checkpoints), state.batches)
    with replacing(path) as partial:
        model.save(partial)
    values = {
        "model": path.name,
        "model_sha256": digest_of(path),
        **dataclasses.asdict(state),
        "configuration": saved_settings(config),
    }
    if run.state.exists():
        write_file(run.previous_state, run.state.read_bytes())
    write_file(run.state, json.dumps(values | {"sha256": _digest(values)}, indent=1))
    needed = {_model_named_by(run.previous_state), path.name}
    for old in run.checkpoints.glob("*.keras"):
        if old.name not in needed:
            old.unlink()


def load_state(run):
    """(model, TrainingState) as saved last; the model is compiled.

    A damaged checkpoint is said, and the one before it taken, which is then the last.

    Raises:
        UserError: nothing is saved there, both checkpoints are damaged, or they are of another
            configuration or version.
    """
    run = Run(run)
    paths = [path for path in (run.state, run.previous_state) if path.exists()]
    if not paths:
        raise UserError(
            f"{run.state}: expected a saved training to resume, found none; start it without"
            " --resume"
        )
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
                "warning: %s; going on from the checkpoint before it, after batch %d",
                reason,
                loaded[1].batches,
            )
            os.replace(path, run.state)
        return loaded
    raise UserError(
        f"{'; '.join(damage)}; copy {run.checkpoints} again from where it was whole, or begin anew"
        " with another --output"
    )


class _Damaged(Exception):
    """A checkpoint is not what was written."""


def _load(run, path):
    values, model_path = _read(path)
    config = saved_config(run.config)
    try:
        saved = values.pop("configuration")
        state = TrainingState(**values)
    except (KeyError, TypeError) as error:
        raise UserError(
            f"{path}: expected a checkpoint of this version, got one that keeps other numbers"
            f" ({error}); resume with the version that began the training, or begin anew in another"
            " folder"
        ) from None
    _check_configuration(path, saved, config, run)
    sizes = (Vocabulary.load(run.vocabulary(side)).size for side in ("source", "target"))
    check_archive(model_path, MODEL_FILES)
    model = build_model(config, *sizes)
    compile_model(model, config)
    try:
        with warnings.catch_warnings():  # Keras would go on with a fresh optimizer
            warnings.filterwarnings("error", message=OTHER_OPTIMIZER)
            model.load_weights(model_path)
    except (
        ValueError,
        TypeError,
        KeyError,
        OSError,
        RuntimeError,
        zipfile.BadZipFile,
        zlib.error,
        UserWarning,
    ) as error:
        if OTHER_OPTIMIZER in str(error):
            raise UserError(
                f"{model_path}: expected an optimizer of this version, got one that keeps other"
                " numbers; resume with the version that began the training, or begin anew in"
                " another folder"
            ) from None
        raise UserError(
            f"{model_path}: expected the model that {run.config} and the vocabularies describe, got"
            f" another ({' '.join(str(error).split())[:200]}); give the RUN its own checkpoints, or"
            " begin anew with another --output"
        ) from None
    restore_means(model, state)
    return model, state


def _read(path):
    """(what a JSON file of a checkpoint says, the path of its model), both as they were written."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        found = values.pop("sha256")
        if found != _digest(values):
            raise ValueError("its own checksum is another")
        model_path = path.parent / values.pop("model")
        expected = values.pop("model_sha256")
        if model_path.parent != path.parent or model_path.suffix != ".keras":
            raise ValueError(f"it names {model_path}, which is no checkpoint")
        if digest_of(model_path) != expected:
            path = model_path
            raise ValueError("its checksum is another")
        return values, model_path
    except (ValueError, TypeError, KeyError, AttributeError, OSError, RecursionError) as error:
        reason = (
            f"{error.filename}: {error.strerror}"
            if isinstance(error, OSError)
            else " ".join(str(error).split())[:200]
        )
        raise _Damaged(f"{path}: expected a saved training, got a damaged one ({reason})") from None


def _check_configuration(path, saved, config, run):
    """Refuse a checkpoint that is of another model or optimizer than the RUN's configuration."""
    for name, value in json.loads(json.dumps(saved_settings(config))).items():
        # an older checkpoint does not know an option that changes nothing by its default
        old = saved.get(name, default_of(name))
        if old != value:
            raise UserError(
                f"{path}: expected a checkpoint of {run.config}, which has {name}={value}, got one"
                f" with {old}; give the RUN its own checkpoints or configuration, or begin anew"
                " with another --output"
            )


def saved_settings(config: Config) -> dict:
    """{dotted name: value} of the options that a saved model and optimizer already have, and that
    therefore cannot change.

    Those without effect are not among them.
    """
    sections = sections_of(config)
    idle = names_without_effect(sections)
    saved = names_with(TrainingConfig, "saved")
    settings = {}
    for section in ("source", "target", "model", "training"):
        for key, value in dataclasses.asdict(sections[section]).items():
            if (section != "training" or key in saved) and f"{section}.{key}" not in idle:
                settings[f"{section}.{key}"] = value
    return settings


def means(model):
    """The metrics that are averages over the epoch; the speed is measured anew."""
    return [metric for metric in model.metrics if metric is not model.speed_metric]


def restore_means(model, state) -> None:
    """Give the model's metrics what they had counted of the epoch when the state was saved."""
    replicas = model.distribute_strategy.num_replicas_in_sync
    for metric in means(model):
        for variable, value in zip(metric.variables, state.means.get(metric.name, ())):
            variable.assign(value * replicas)


def _unused(folder, batches):
    """A path for a model that no checkpoint has."""
    names = itertools.chain(
        [f"batch-{batches}.keras"],
        (f"batch-{batches}-{number}.keras" for number in itertools.count(2)),
    )
    return next(folder / name for name in names if not (folder / name).exists())


def _model_named_by(path):
    try:
        return json.loads(path.read_text(encoding="utf-8"))["model"]
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _digest(values):
    return hashlib.sha256(json.dumps(values, sort_keys=True).encode()).hexdigest()
