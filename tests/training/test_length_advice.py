"""When a training says that it is too short, and what to do: numbers worked out by hand."""

import dataclasses
import types

import pytest

from rnnsearch_tf.config import Config, TrainingConfig
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.training import length_advice
from rnnsearch_tf.training.checkpoint import TrainingState
from rnnsearch_tf.training.length_advice import Course, TooShort, updates_needed, verdict

RUN = Run("my run")
GO_ON = "rnnsearch train --output 'my run' --resume"


def test_the_rule():
    assert [updates_needed(size) for size in (1, 333, 400.1, 1e5)] == [1000, 1000, 1201, 100_000]


def test_every_limit_that_is_too_low_is_raised():
    """1,000 updates of 1.5 s are 25 minutes; 10 passes of 100 updates."""
    settings = TrainingConfig(maximum_minutes=4.0, maximum_updates=300, epochs=9)
    course = Course(settings, 40, 60.0, 100.0)
    assert course.expected(1.5) == 40 + 180 / 1.5
    assert course.changes(1000, 1.5) == [
        "training.maximum_minutes=25",
        "training.maximum_updates=1000",
        "training.epochs=10",
    ]
    wide = Course(TrainingConfig(maximum_minutes=26.0, epochs=10), 40, 60.0, 100.0)
    assert wide.changes(1000, 1.5) == [] and wide.expected(1.5) == 1000


@pytest.fixture
def said(monkeypatch, capsys):
    """Lets batches of so many seconds pass, and returns what was said."""

    def train(seconds, batches, updates_of_epoch=50.0, state=None, **settings):
        now = 1000.0
        monkeypatch.setattr(length_advice, "time", types.SimpleNamespace(monotonic=lambda: now))
        state = state or TrainingState()
        watch = TooShort(RUN, state, TrainingConfig(**settings), updates_of_epoch)
        for batch in range(batches):
            now += 30.0 if batch == 0 else seconds  # the graph of the first one
            state.seconds += 30.0 if batch == 0 else seconds
            state.batches += 1
            watch.on_train_batch_end(batch)
        return capsys.readouterr().err

    return train


def test_it_is_said_once_after_a_minute(said):
    """2 s an update: 30 s and 105 updates in 4 minutes; 1,000 take 2,030 s."""
    limits = dict(maximum_minutes=4.0, epochs=1000)
    assert said(2.0, 30, **limits) == ""
    text = said(2.0, 90, **limits)
    assert text == (
        "about 110 updates in 4 min; this text needs about 1,000: 33 min; set"
        f" training.maximum_minutes=35 (Ctrl-C saves; then {GO_ON} --set"
        " training.maximum_minutes=35)\n"
    )


def test_it_is_not_said_of_a_training_that_is_long_enough(said):
    """At least three quarters of what is needed; or a trained model, which needs no minimum."""
    assert said(2.0, 90, maximum_minutes=26.0, epochs=1000) == ""
    # (1,500 s - 28 s) / 2 s
    assert "about 740 updates" in said(2.0, 90, maximum_minutes=25.0, epochs=1000)
    assert said(2.0, 90, maximum_updates=751, epochs=1000) == ""
    assert "training.epochs=20" in said(2.0, 90, epochs=14)
    begun = TrainingState(began_from="another")
    assert said(2.0, 90, state=begun, maximum_minutes=1.0) == ""


def test_batches_that_make_one_update_count_once(said):
    text = said(1.0, 90, maximum_minutes=4.1, epochs=1000, accumulate=2)
    assert text.startswith("about 110 updates in 4 min; this text needs about 1,000: 33 min")


def ended(bleu, updates, minutes=4.0, loss=None, **changes):
    """The verdict on a text of 100 updates a pass."""
    state = TrainingState(
        batches=updates, seconds=60 * minutes, best_bleu=bleu, best_loss=loss, **changes
    )
    training = TrainingConfig(maximum_minutes=minutes, epochs=1000, patience=3)
    return verdict(RUN, state, dataclasses.replace(Config(), training=training), 100.0)


@pytest.mark.parametrize(
    "bleu, updates",
    [(5.0, 1000), (20.0, 10), (28.0, 5000), (None, 1000)],
)
def test_a_usable_model_is_passed(bleu, updates):
    assert ended(bleu, updates) is None


def test_too_few_updates():
    """201 took 4 minutes, so 1,000 take 20."""
    assert ended(0.42, 201) == (
        "201 updates, 2.0 epochs: too few to learn from; this text needs about 1,000 updates;"
        " development BLEU 0.42: mostly unusable: too little text, or too short a training; go on:"
        f" {GO_ON} --set training.maximum_minutes=20"
    )
    assert "development BLEU 19.90: good enough to recognize the topic; go on" in ended(19.9, 999)
    assert "BLEU" not in ended(None, 999)
    assert "0.9 epochs: too few" in verdict(
        RUN, TrainingState(batches=1800, best_bleu=9.0), Config(), 2000.0
    )


def test_length_advice_updates_and_no_model():
    """Then twice as many; or, after early stopping, other text."""
    assert ended(4.99, 2000, minutes=60.0) == (
        "2,000 updates, 20.0 epochs; development BLEU 4.99: mostly unusable: too little text, or"
        f" too short a training; go on: {GO_ON} --set training.maximum_minutes=120"
    )
    text = ended(4.99, 2000, evaluations_since_best=3)
    assert "more text, or cleaner text, is needed" in text and "--resume" not in text


def test_a_start_that_nothing_beats():
    started = dict(began_from="another")
    assert ended(0.27, 10, began_at=0.20, **started) is None
    assert ended(0.27, 10, **started) is None  # of an earlier version
    text = ended(0.27, 10, began_at=0.27, **started)
    assert text.startswith(
        "10 updates brought no development BLEU better than that of the start, 0.27: my run holds"
        " the weights it began with; try a lower training.learning_rate than 1, "
    )
    assert "development loss better" in ended(None, 10, loss=3.5, began_at=3.5, **started)
