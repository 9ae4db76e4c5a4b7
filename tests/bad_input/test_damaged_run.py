"""A RUN whose files were changed after training."""

import hashlib

import pytest

from rnnsearch_tf.config import saved_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runs.folder import Run, digest_of
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


def test_an_option_that_is_gone_is_named_with_the_commit_that_reads_it(run):
    path = run / "config.yaml"
    path.write_text(path.read_text().replace("model:\n", "model:\n  bridge: copy\n"))
    with pytest.raises(UsageError) as error:
        saved_config(path)
    assert str(error.value) == (
        f"{path}: unknown option model.bridge; options were removed after commit ff94a411, which"
        " still reads it"
    )


@pytest.mark.parametrize("size", [0, 1 << 20, (1 << 20) + 1])
def test_every_byte_of_a_large_file_counts(tmp_path, size):
    path = tmp_path / "weights"
    data = bytes(range(256)) * (size // 256) + b"!" * (size % 256)
    path.write_bytes(data)
    assert digest_of(path) == hashlib.sha256(data).hexdigest()


def test_evaluated_weights_are_in_the_order_of_their_batches(tmp_path):
    """Averaging takes the last of them, and training deletes the first."""
    folder = Run(tmp_path)
    folder.evaluated.mkdir()
    paths = [folder.weights_after(batches) for batches in (5, 900, 1000, 20_000, 1_000_000)]
    for path in reversed(paths):
        path.touch()
    assert folder.evaluated_weights() == paths


@pytest.mark.parametrize("text", ["{", "[1]", "[" * 100_000])
def test_a_damaged_state_is_a_training_without_numbers(tmp_path, text):
    run = Run(tmp_path)
    run.checkpoints.mkdir()
    run.state.write_text(text)
    with pytest.raises(UsageError, match="expected a folder without a training, found one"):
        run.refuse_training()
