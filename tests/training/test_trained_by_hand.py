"""What Python made with ``model.fit``: trained as ``train`` does, kept as a RUN, taken by all that
take one.
"""

import math
import os

import numpy as np
import pytest
import rnnsearch_tf as rt
from test_driver import language_model, load_state
from tiny_run import SETTINGS

from rnnsearch_tf.config import load_config
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.backend import keras

SCHEDULE = [
    "training.optimizer=adam",
    "training.schedule=cosine",
    "training.warmup_updates=3",
    "training.maximum_updates=9",
    "training.evaluate_every=9",
]


class Rates(keras.callbacks.Callback):
    """The learning rate of every update."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def on_train_batch_end(self, batch, logs=None):
        self.seen.append(float(self.model.optimizer.learning_rate.numpy()))


def by_hand(config, callbacks=()):
    """The README's way, with or without its ``fit``; returns a Translator."""
    keras.utils.set_random_seed(config.training.seed)
    pairs = rt.open_corpus(config)
    source, target = rt.build_texts(config, pairs)
    model = rt.build_model(config, source.vocabulary.size, target.vocabulary.size)
    training = config.training
    loss = rt.TranslationLoss(training.loss_reduction)
    model.compile(rt.build_optimizer(training), loss=loss)
    if callbacks:
        dataset = rt.training_dataset(source, target, pairs, config.data, seed=training.seed)
        model.fit(dataset, epochs=training.epochs, callbacks=callbacks, verbose=0)
    return rt.Translator(model, source, target, config)


@pytest.fixture(scope="module")
def made():
    translator = by_hand(load_config(overrides=SETTINGS))
    translator.model.optimizer.build(translator.model.trainable_variables)
    translator.model.optimizer.iterations.assign(7)
    return translator


@pytest.fixture(scope="module")
def kept(made, tmp_path_factory):
    """Path of the RUN."""
    folder = tmp_path_factory.mktemp("kept") / "mine" / "run"
    made.save(folder)
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


def test_fit_with_the_schedule_trains_as_train_does(tmp_path):
    """The rates are those of the formula, the weights those of a training by configuration."""
    config = language_model(*SCHEDULE)
    rates = Rates()
    model = by_hand(config, [rt.TrainingSchedule(config.training), rates]).model
    full = config.training.learning_rate
    expected = [
        full * min(1, (n + 1) / 3) * 0.5 * (1 + math.cos(math.pi * n / 9)) for n in range(9)
    ]
    assert rates.seen == pytest.approx(expected, rel=1e-5)
    rt.train(config, tmp_path)
    trained, state = load_state(tmp_path)
    assert state.batches == 9 and state.epoch > 0  # so that pairs were shuffled again
    for ours, theirs in zip(model.trainable_variables, trained.trainable_variables, strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-6)


def test_what_python_made_is_a_run(made, kept):
    assert same(rt.Translator.load(kept), made)
    card = (kept / "model_card.md").read_text()
    assert "7 updates, Adadelta" in card and "en to fr" in card and "not recorded" in card
    assert not [path for path in kept.parent.iterdir() if path != kept]  # nothing temporary


def test_a_run_with_subwords_and_a_shipped_one_are_saved_too(tmp_path):
    shipped = rt.Translator.load("tatoeba-en-fr")
    shipped.save(tmp_path / "copy")
    assert (tmp_path / "copy" / "source.spm.model").exists()
    assert same(rt.Translator.load(tmp_path / "copy"), shipped)


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
    precise = load_config(overrides=[*SETTINGS, "training.precision=float64"])
    for translator, path, message in (
        (made, kept, "expected a new or empty folder, got files; choose another"),
        (made, tmp_path / "notes", "expected a new or empty folder, got files"),
        (made, tmp_path / "notes" / "a", "expected a new or empty folder, got files"),
        (rt.Translator.load([kept, kept]), tmp_path / "x", "got an ensemble of 2, which has no"),
        (another(config=load_config()), tmp_path / "x", "model.embedding_size=8, got 620"),
        (another(config=precise), tmp_path / "x", "training.precision=float32, got float64"),
        (another(source_text=made.target_text), tmp_path / "x", "source vocabulary=[0-9]+, got"),
    ):
        with pytest.raises(UserError, match=message):
            translator.save(path)
    assert os.listdir(tmp_path) == ["notes"]
    with pytest.raises(UserError, match="expected a place that can be written"):
        made.save("/proc/no/run")
    empty = tmp_path / "notes"
    (empty / "a").unlink()
    made.save(empty)
    assert same(rt.Translator.load(empty), made)
