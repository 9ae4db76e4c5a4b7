"""The state of a training on disk: when it is written, and that a damaged one, or one of another
training, is refused in words.
"""

import json
import time
import types

import pytest
from test_driver import LANGUAGE_MODEL, config, language_model

from rnnsearch_tf.config import save_config
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.models import build_model
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.training import callbacks
from rnnsearch_tf.training import fit as training_run
from rnnsearch_tf.training.optimizers import Adadelta, compile_model
from rnnsearch_tf.training.fit import train
from rnnsearch_tf.training.checkpoint import TrainingState, _digest, load_state, save_state


def test_a_checkpoint_is_written_every_so_many_minutes(tmp_path, monkeypatch):
    """The clock advances by 1000 seconds a batch: 50 minutes have passed after every third."""
    later = 0
    saved = []

    class Later(training_run.SaveState):
        def on_train_batch_end(self, batch, logs=None):
            nonlocal later
            later += 1000
            super().on_train_batch_end(batch, logs)

    def save(run, model, state, settings):
        saved.append(state.batches)
        save_state(run, model, state, settings)

    monkeypatch.setattr(training_run, "SaveState", Later)
    monkeypatch.setattr(callbacks, "save_state", save)
    # not in the module itself: other threads of this process wait by it
    clock = types.SimpleNamespace(monotonic=lambda: time.monotonic() + later)
    monkeypatch.setattr(callbacks, "time", clock)
    train(
        language_model(
            "training.checkpoint_every_minutes=50",
            "training.maximum_updates=8",
            "training.epochs=9",
        ),
        tmp_path,
    )
    # beside those of the beginning and the end
    assert [batches for batches in saved if 0 < batches < 8] == [
        3,
        6,
    ]


def test_a_damaged_state_is_an_error(tmp_path):
    write_states(tmp_path)
    for model in (tmp_path / "checkpoints").glob("*.keras"):
        model.write_bytes(model.read_bytes()[:100])
    with pytest.raises(
        UserError,
        match=(
            "(batch-[23].keras: expected a saved training, got a damaged one.*){2}restore"
            " .*checkpoints from a good copy"
        ),
    ):
        load_state(tmp_path)


def write_states(folder, numbers=(1, 2, 3)):
    """Checkpoints of a tiny language model, whose first bias is the number of batches."""
    settings = config(*LANGUAGE_MODEL)
    save_config(settings, folder / "config.yaml")
    for side in ("source", "target"):
        (folder / f"vocabulary.{side}.txt").write_text("<pad>\n</s>\n<unk>\nword\n")
    model = build_model(settings, 4, 4)
    compile_model(model, settings)
    for number in numbers:
        model.output_layer.b_softmax.assign([number] * 4)
        save_state(folder, model, TrainingState(batches=number), settings)


def test_the_place_in_an_epoch_is_after_as_many_pairs():
    """With smaller and larger batches: after 600 of 1,000 batches, two times."""
    state = TrainingState(batches=1600, epoch=1, batches_of_epoch=600, epoch_size=1000)
    for size, place in ((1000, 600), (2000, 1200), (500, 300)):
        state.set_epoch_size(size)
        assert (state.batches, state.batches_of_epoch, state.epoch_size) == (1600, place, size)


def damages():
    """Ways in which a file breaks."""

    def flip(path):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)

    yield "flipped", flip
    yield "cut", lambda path: path.write_bytes(path.read_bytes()[:-5])
    yield "empty", lambda path: path.write_bytes(b"")
    yield "gone", lambda path: path.unlink()


@pytest.mark.parametrize("name", ["state.json", "batch-3.keras"])
@pytest.mark.parametrize("damage", dict(damages()).values(), ids=dict(damages()))
def test_the_checkpoint_before_a_damaged_one_is_taken(tmp_path, caplog, name, damage):
    """It is said, and the good one outlives the next two checkpoints as any other does."""
    write_states(tmp_path)
    damage(tmp_path / "checkpoints" / name)
    model, state = load_state(tmp_path)
    assert state.batches == 2 and model.output_layer.b_softmax.numpy().tolist() == [2.0] * 4
    assert (
        str(tmp_path / "checkpoints" / name) in caplog.text
        and "resuming from the previous checkpoint, after batch 2" in caplog.text
    )
    state.batches = 3
    save_state(tmp_path, model, state, config(*LANGUAGE_MODEL))
    damage(tmp_path / "checkpoints" / "state.json")
    assert load_state(tmp_path)[1].batches == 2


def test_two_checkpoints_are_kept_also_where_one_is_written_twice(tmp_path):
    write_states(tmp_path, (1, 2, 2))
    assert {path.name for path in (tmp_path / "checkpoints").iterdir()} == {
        "state.json",
        "state.previous.json",
        "batch-2.keras",
        "batch-2-2.keras",
    }


def test_a_checkpoint_of_another_configuration_is_an_error(tmp_path):
    write_states(tmp_path)
    save_config(config(*LANGUAGE_MODEL, "model.hidden_size=8"), tmp_path / "config.yaml")
    with pytest.raises(
        UserError,
        match=(
            "state.json: expected a checkpoint of .*config.yaml, which has model.hidden_size=8, got"
            " one with 7"
        ),
    ):
        load_state(tmp_path)
    save_config(config(*LANGUAGE_MODEL), tmp_path / "config.yaml")
    (tmp_path / "vocabulary.target.txt").write_text("<pad>\n</s>\n<unk>\nword\nmore\n")
    with pytest.raises(
        UserError,
        match=(
            "batch-3.keras: expected the model that .*config.yaml and the vocabularies describe,"
            " got another"
        ),
    ):
        load_state(tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize(
    "change",
    [lambda values: values.pop("configuration"), lambda values: values.update(momentum_of_mars=1)],
)
def test_a_state_of_another_version_is_an_error(tmp_path, change):
    train(language_model("training.maximum_updates=1"), tmp_path)
    path = Run(tmp_path).state
    values = json.loads(path.read_text())
    del values["sha256"]
    change(values)
    path.write_text(json.dumps(values | {"sha256": _digest(values)}))
    with pytest.raises(
        UserError,
        match="state.json: expected a checkpoint of this version, got one that keeps other numbers",
    ):
        train(language_model("training.maximum_updates=2"), tmp_path, resume=True)


@pytest.mark.slow
def test_an_optimizer_of_another_version_is_an_error(tmp_path, monkeypatch):
    """Keras alone would warn and forget the averages of the gradients."""
    options = ("training.maximum_updates=1", "training.optimizer=adadelta")
    with monkeypatch.context() as earlier:
        build = Adadelta.build

        def with_another_variable(optimizer, variables):
            if not optimizer.built:
                optimizer.another = optimizer.add_variable((1,), "zeros", name="another")
            build(optimizer, variables)

        earlier.setattr(Adadelta, "build", with_another_variable)
        train(language_model(*options), tmp_path)
    with pytest.raises(
        UserError, match="expected an optimizer of this version, got one that keeps other numbers"
    ):
        train(language_model(*options), tmp_path, resume=True)
