"""What Python made with ``model.fit``: trained as ``train`` does, kept as a RUN, taken by all that
take one.
"""

import math
import os
import subprocess
import sys
import types
import zipfile

import numpy as np
import pytest
import rnnsearch_tf as rt
from tiny_run import SETTINGS

from rnnsearch_tf.cli.main import run as rnnsearch
from rnnsearch_tf.config import load_config, saved_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.training.checkpoint import load_state

SCHEDULE = [
    "training.optimizer=adam",
    "training.loss_reduction=token_mean",
    "training.schedule=cosine",
    "training.warmup_updates=3",
    "training.maximum_updates=7",
    "training.evaluate_sentences=2",
    "training.evaluate_every=7",
    "training.evaluate_beam_size=1",
    "data.phrasebook_size=300",
    "data.batch_size=60",
]


class Rates(keras.callbacks.Callback):
    """The learning rate of every update."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(float(self.model.optimizer.learning_rate.numpy()))


def by_hand(config, callbacks=(), epochs=None):
    """The README's way; returns a Translator."""
    keras.utils.set_random_seed(config.training.seed)
    pairs = rt.open_corpus(config)
    source, target = rt.build_texts(config, pairs)
    model = rt.build_model(config, source.vocabulary.size, target.vocabulary.size)
    reduction = config.training.loss_reduction
    model.compile(rt.build_optimizer(config.training), loss=rt.TranslationLoss(reduction=reduction))
    model.fit(
        rt.training_dataset(source, target, pairs, config.data, seed=config.training.seed),
        epochs=epochs or config.training.epochs,
        callbacks=[*callbacks],
        verbose=0,
    )
    return rt.Translator(model, source, target, config)


@pytest.fixture(scope="module")
def config():
    return load_config(overrides=[*SETTINGS, *SCHEDULE])


@pytest.fixture(scope="module")
def rates():
    return Rates()


@pytest.fixture(scope="module")
def made(config, rates):
    return by_hand(config, [rt.TrainingSchedule(config.training), rates])


@pytest.fixture(scope="module")
def kept(made, tmp_path_factory):
    """Path of the RUN, with the same model as a .keras file in it."""
    folder = tmp_path_factory.mktemp("kept") / "mine" / "run"
    made.save(folder)
    made.model.save(folder / "again.keras")
    return folder


def same(one, other):
    """Whether two Translators have the same weights, texts and configuration."""
    weights = zip(one.model.weights, other.model.weights, strict=True)
    return (
        all(np.array_equal(mine, its) for mine, its in weights)
        and one.source_text.same_as(other.source_text)
        and one.target_text.same_as(other.target_text)
        and one.config == other.config
    )


def test_fit_with_the_schedule_trains_as_train_does(config, made, rates, tmp_path):
    """The rates are those of the formula, the weights those of a training by configuration."""
    full = config.training.learning_rate
    expected = [
        full * min(1, (n + 1) / 3) * 0.5 * (1 + math.cos(math.pi * n / 7)) for n in range(7)
    ]
    assert rates.seen == pytest.approx(expected, rel=1e-5)
    rt.train(config, tmp_path / "run")
    trained, state = load_state(tmp_path / "run")
    assert state.batches == 7 and state.epoch > 0  # so that pairs were shuffled again
    for ours, theirs in zip(made.model.trainable_variables, trained.trainable_variables):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize(
    "limits, batches", [(dict(epochs=2), 6), (dict(epochs=9, maximum_minutes=1e-9), 1)]
)
def test_the_schedule_ends_at_every_limit(limits, batches):
    """Of three batches an epoch; the test of the training itself ends at its updates."""
    schedule = rt.TrainingSchedule(load_config(values={"training": limits}).training)
    model = types.SimpleNamespace(stop_training=False)
    schedule.set_model(model)
    schedule.on_train_begin()
    while not model.stop_training:
        for batch in range(3):
            if not model.stop_training:
                schedule.on_train_batch_end(batch)
        schedule.on_epoch_end(schedule.state.epoch)
    assert schedule.state.batches == batches


def test_what_python_made_is_a_run(made, kept):
    assert same(rt.Translator.load(kept), made)
    checked = subprocess.run(
        ["sha256sum", "--check", "--strict", "SHA256SUMS"],
        cwd=kept,
        capture_output=True,
        text=True,
    )
    assert checked.returncode == 0 and len(checked.stdout.splitlines()) == 4
    card = (kept / "model_card.md").read_text()
    assert "7 updates, Adam" in card and "en to fr" in card and "not recorded" in card
    assert not [path for path in kept.parent.iterdir() if path != kept]  # nothing temporary


def test_a_run_with_subwords_and_a_shipped_one_are_saved_too(tmp_path):
    shipped = rt.Translator.load("tatoeba-en-fr")
    shipped.save(tmp_path / "copy")
    assert (tmp_path / "copy" / "source.spm.model").exists()
    assert same(rt.Translator.load(tmp_path / "copy"), shipped)


def test_a_keras_file_beside_its_vocabularies_is_a_model(made, kept, tmp_path):
    file = kept / "again.keras"
    assert same(rt.Translator.load(file), made)
    assert len(rt.open_translator([file, kept]).model.models) == 2
    # another model under the same name, of the same shapes or not
    for option, message in (
        ("model.readout_dropout=0.5", "it has model.readout_dropout=0.5"),
        ("model.system=rnnencdec", "expected the system RNNSearch, got RNNEncDec"),
    ):
        config = load_config(overrides=[*SETTINGS, option])
        sizes = [text.vocabulary.size for text in (made.source_text, made.target_text)]
        rt.build_model(config, *sizes).save(kept / "other.keras")
        with pytest.raises(UserError, match=f"expected the weights of the model.*{message}"):
            rt.Translator.load(kept / "other.keras")
    with zipfile.ZipFile(kept / "other.keras", "a") as archive:
        archive.writestr("more.py", "raise SystemExit")
    with pytest.raises(UserError, match="refused: expected files .*, got 'more.py'"):
        rt.Translator.load(kept / "other.keras")
    alone = tmp_path / "alone.keras"
    alone.write_bytes(file.read_bytes())
    with pytest.raises(
        UserError,
        match=r"expected config.yaml, vocabulary.source.txt, .* beside it.*Translator\(.*save\(",
    ):
        rt.export_model(alone, tmp_path / "served")
    for path in kept.glob("vocabulary.*"):
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "config.yaml").symlink_to(kept / "config.yaml")
    with pytest.raises(UserError, match="config.yaml: refused: expected a file of .*, got a link"):
        rt.Translator.load(alone)


def test_what_cannot_be_saved(made, kept, tmp_path):
    def another(**values):
        parts = dict(
            model=made.model,
            source_text=made.source_text,
            target_text=made.target_text,
            config=made.config,
        )
        return rt.Translator(**parts | values)

    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "a").touch()
    precise = load_config(overrides=[*SETTINGS, *SCHEDULE, "training.precision=float64"])
    for translator, path, message in (
        (made, kept, "expected a new or empty folder, found a RUN in it; choose another, or"),
        (made, tmp_path / "notes", "expected a new or empty folder, found other files in it"),
        (made, tmp_path / "notes" / "a", "expected a new or empty folder, got a file"),
        (made, tmp_path / "m.keras", "expected the path of a folder, got that of a .keras file"),
        (rt.Translator.load([kept, kept]), tmp_path / "x", "got an ensemble of 2, which has no"),
        (another(config=load_config()), tmp_path / "x", "model.embedding_size=8, got 620"),
        (another(config=precise), tmp_path / "x", "training.precision=float32, got float64"),
        (another(source_text=made.target_text), tmp_path / "x", "source vocabulary=[0-9]+, got"),
    ):
        with pytest.raises(UsageError, match=message):
            translator.save(path)
    assert os.listdir(tmp_path) == ["notes"]
    with pytest.raises(UserError, match="expected a file that can be written"):
        made.save("/proc/no/run")
    empty = tmp_path / "notes"
    (empty / "a").unlink()
    made.save(empty)
    assert same(rt.Translator.load(empty), made)


def test_its_training_is_not_resumed_but_another_starts_from_it(kept, tmp_path, capsys):
    other = tmp_path / "other"
    assert rnnsearch(["train", "--output", str(kept), "--resume"]) == 1
    said = capsys.readouterr().err
    command = f"rnnsearch train --from {kept} --output "
    assert "without the state of the optimizer" in said and command in said
    with pytest.raises(UserError, match="expected a saved training to resume, found none"):
        rt.train(load_config(overrides=[*SETTINGS, *SCHEDULE]), kept, resume=True)
    changed = saved_config(kept / "config.yaml", ["training.maximum_updates=1"])
    assert rt.train(changed, other, start_from=kept / "again.keras")["batches"] == 1
    assert not (kept / "checkpoints").exists()


SCRIPT = """
import rnnsearch_tf as rt
translator = rt.Translator.load("run/again.keras")
translation = translator.translate("The door is white.")
print(translation)
translation.plot().savefig("attention.png")
alignment, target, source = translation.attention()
print(alignment.shape == (len(target), len(source)), source[-1])
try:
    translator.save("run")
except Exception as error:
    print(type(error).__name__, error)
print(rt.export_model("run/again.keras", "served", overrides=["signatures=[translate]"]).folder)
"""


def test_in_a_process_of_its_own(kept, tmp_path, made):
    """From Python and from the command line, as users do it."""
    (tmp_path / "run").symlink_to(kept)
    (tmp_path / "text").write_text("The door is white.\n")

    def process(*words):
        return subprocess.run(
            [sys.executable, *words], cwd=tmp_path, capture_output=True, text=True, timeout=300
        )

    done = process("-c", SCRIPT)
    assert done.returncode == 0, done.stderr
    first, shape, refused, exported = done.stdout.splitlines()
    expected = made.translate("The door is white.")
    assert first.startswith(f"Translation(text={expected.text!r}, score=") and len(first) < 150
    assert shape == "True </s>"
    assert refused.startswith("UsageError run: expected a new or empty folder, found a RUN in it")
    assert exported == "served/1"
    assert (tmp_path / "attention.png").read_bytes().startswith(b"\x89PNG")
    done = process("-m", "rnnsearch_tf", "translate", "--model", "run/again.keras", "text")
    assert done.stdout == f"{expected.text}\n" and not done.stderr
    (tmp_path / "lost.keras").write_bytes((kept / "again.keras").read_bytes())
    done = process("-m", "rnnsearch_tf", "translate", "--model", "lost.keras", "text")
    assert done.returncode == 1 and "expected config.yaml, vocabulary.source.txt" in done.stderr
    done = process("-m", "rnnsearch_tf", "train", "--output", "run", "--resume")
    assert done.returncode == 1 and "rnnsearch train --from run --output OTHER" in done.stderr
    assert "Traceback" not in done.stderr
