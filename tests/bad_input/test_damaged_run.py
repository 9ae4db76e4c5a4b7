"""A RUN whose files were changed after training."""

import h5py
import numpy as np
import pytest

from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.translation import Translator


def test_a_part_that_is_missing_or_cut_is_named(run):
    whole = {name: (run / name).read_bytes() for name in PARTS}
    for name, message in PARTS.items():
        (run / name).write_bytes(whole[name][: len(whole[name]) // 2])
        with pytest.raises(UserError, match=message):
            Translator.load(run)
        (run / name).unlink()
        with pytest.raises(UserError, match=name.rpartition("/")[2]):
            Translator.load(run)
        (run / name).write_bytes(whole[name])
    Translator.load(run)


PARTS = {
    "vocabulary.source.txt": "expected the weights of the model that the RUN's config.yaml",
    "vocabulary.target.txt": "expected the weights of the model that the RUN's config.yaml",
    "best/model.weights.h5": "model.weights.h5: expected the weights of the model",
}


def test_a_changed_number_in_the_weights_is_found(run):
    path = run / "best" / "model.weights.h5"
    with h5py.File(path, "a") as file:
        arrays = []
        file.visititems(lambda _, item: arrays.append(item) if hasattr(item, "shape") else None)
        arrays[0][...] = np.nextafter(arrays[0][...], 9)
    with pytest.raises(UserError, match="model.weights.h5: expected .*checksum does not match"):
        Translator.load(run)


def test_evaluated_weights_are_in_the_order_of_their_batches(tmp_path):
    """Averaging takes the last of them, and training deletes the first."""
    folder = Run(tmp_path)
    folder.evaluated.mkdir()
    paths = [folder.weights_after(batches) for batches in (5, 900, 1000, 20_000, 1_000_000)]
    for path in reversed(paths):
        path.touch()
    assert folder.evaluated_weights() == paths


@pytest.mark.parametrize("text", ["{", "[1]"])
def test_a_damaged_state_is_a_training_without_numbers(tmp_path, text):
    run = Run(tmp_path)
    run.checkpoints.mkdir()
    run.state.write_text(text)
    with pytest.raises(UsageError, match="expected a folder without a training, found checkpoints"):
        run.refuse_training()
