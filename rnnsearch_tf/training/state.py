"""Where a training stands, and how it is written down so that it can go on from there.

``checkpoints/`` of a RUN holds one complete model (weights, optimizer, random states) as a
``.keras`` file, and ``state.json``, which names that file and says where in the data it stands.
The JSON file is replaced last and in one move: a kill at any moment leaves the older pair whole.
"""

import dataclasses
import json
import os
import warnings
import zipfile
import zlib

from rnnsearch_tf.backend import keras
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.run import Run

OTHER_OPTIMIZER = "Skipping variable loading for optimizer"
"""What Keras warns of when the saved optimizer has another number of variables."""


@dataclasses.dataclass
class TrainingState:
    """Counters of one training, kept over interruptions.

    Attributes:
        batches: batches learned from, over all epochs.
        epoch: epoch in progress, from 0.
        batches_of_epoch: batches of that epoch already learned from.
        seconds: training time so far, evaluations included.
        best_bleu: best development BLEU so far, or None.
        best_loss: least development loss so far, in nats a target word, or None.
        evaluations_since_best: evaluations since the best by training.best_by.
        evaluated, averaged: batches at the last evaluation, and at the last averaging; or None.
        began_from: what the training began from, in words; None: from fresh weights.
    """

    batches: int = 0
    epoch: int = 0
    batches_of_epoch: int = 0
    seconds: float = 0.0
    best_bleu: float | None = None
    best_loss: float | None = None
    evaluations_since_best: int = 0
    evaluated: int | None = None
    averaged: int | None = None
    began_from: str | None = None


def save_state(run, model, state: TrainingState) -> None:
    """Write model and state to RUN/checkpoints; the older pair goes once the new one is complete."""
    run = Run(run)
    folder = run.checkpoints
    folder.mkdir(parents=True, exist_ok=True)
    name = f"batch-{state.batches}.keras"
    partial = folder / f"partial-{name}"
    model.save(partial)
    os.replace(partial, folder / name)
    partial_json = run.state.with_name("state.json.partial")
    partial_json.write_text(json.dumps({"model": name} | dataclasses.asdict(state), indent=1), encoding="utf-8")
    os.replace(partial_json, run.state)
    for old in folder.glob("*.keras"):
        if old.name != name:
            old.unlink()


def load_state(run):
    """(model, TrainingState) as saved last; the model is compiled.

    Raises:
        UserError: nothing is saved there, it is damaged, or its optimizer is that of another version.
    """
    path = Run(run).state
    if not path.exists():
        raise UserError(f"{path}: expected a saved training to resume, found none; start it without --resume")
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        model_path = path.parent / values.pop("model")
        with warnings.catch_warnings():  # Keras would go on with a fresh optimizer
            warnings.filterwarnings("error", message=OTHER_OPTIMIZER)
            return keras.models.load_model(model_path), TrainingState(**values)
    except (ValueError, TypeError, KeyError, OSError, zipfile.BadZipFile, zlib.error) as error:
        if OTHER_OPTIMIZER in str(error):
            raise UserError(
                f"{model_path}: expected an optimizer of this version, got one that keeps other numbers; resume with the version "
                "that began the training, or begin anew in another folder"
            ) from None
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"{path}: expected a saved training, got a damaged one ({reason})") from None
