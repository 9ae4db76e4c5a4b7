"""A RUN whose files were changed after training, and one that must not be overwritten."""

import h5py
import numpy as np
import pytest
from tiny_run import write_run

from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.translation import Translator
from rnnsearch_tf.translation.loading import load_model

PARTS = (
    "config.yaml",
    "vocabulary.source.txt",
    "vocabulary.target.txt",
    "best/model.weights.h5",
)


def test_a_part_that_is_missing_or_cut_is_named(tmp_path):
    run = write_run(tmp_path / "run")
    for name in PARTS:
        path = run / name
        whole = path.read_bytes()
        path.write_bytes(whole[: len(whole) // 2])
        with pytest.raises(UserError, match=r"config\.yaml|the weights of the model"):
            Translator.load(run)
        path.unlink()
        with pytest.raises(UserError, match=name.rpartition("/")[2]):
            Translator.load(run)
        path.write_bytes(whole)
    Translator.load(run)


def test_a_changed_number_in_the_weights_is_found(tmp_path):
    run = write_run(tmp_path / "run")
    with h5py.File(run / "best" / "model.weights.h5", "a") as file:
        arrays = []
        file.visititems(lambda _, item: arrays.append(item) if hasattr(item, "shape") else None)
        arrays[0][...] = np.nextafter(arrays[0][...], 9)
    with pytest.raises(UserError, match=r"model\.weights\.h5: expected .*checksum does not match"):
        Translator.load(run)


def test_weights_are_whole_in_every_precision(tmp_path):
    run = write_run(tmp_path / "run")
    precise = Translator.load(run, ["training.precision=float64"])
    assert precise.model.weights[0].dtype == "float64"


def test_the_weights_of_a_model_with_frozen_parts_are_its_own(tmp_path):
    translator = Translator.load(write_run(tmp_path / "run"))
    translator.model.encoder.trainable = False
    translator.save(tmp_path / "frozen")
    assert load_model(tmp_path / "frozen").encoder.trainable


def test_evaluated_weights_are_in_the_order_of_their_batches(tmp_path):
    """Averaging takes the last of them, and training deletes the first."""
    folder = Run(tmp_path)
    folder.evaluated.mkdir()
    paths = [folder.weights_after(batches) for batches in (5, 900, 1000, 20_000, 1_000_000)]
    for path in reversed(paths):
        path.touch()
    assert folder.evaluated_weights() == paths


@pytest.mark.parametrize(
    "name, found",
    [
        ("config.yaml", ""),
        ("vocabulary.source.txt", ""),
        ("best/model.weights.h5", ""),
        ("checkpoints/last.keras", ""),
        ("checkpoints/of-another.pt", "checkpoints"),
        ("ids/a", "ids"),
        ("metrics.jsonl", ""),
    ],
)
def test_no_training_begins_over_files_of_another_or_of_a_person(tmp_path, name, found):
    run = Run(tmp_path)
    run.refuse_training()
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("{")
    hint = "add --resume, or choose" if "last.keras" in name else "choose"
    expected = f"without a training, found {found or name}; {hint} another"
    with pytest.raises(UsageError, match=expected):
        run.refuse_training()
