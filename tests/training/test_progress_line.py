"""The line a training shows: what is done and left, learning rate, development BLEU, against
numbers worked out by hand.
"""

import functools
import io
import sys

import pytest

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.training.callbacks import Clock, ProgressLine
from rnnsearch_tf.training.checkpoint import TrainingState

LOGS = {"loss": 2.0, "perplexity": 7.389, "gradient_norm": 0.5}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def line(monkeypatch):
    return functools.partial(written, monkeypatch)


def written(monkeypatch, stream, batches=300, **training):
    monkeypatch.setattr(sys, "stderr", stream)
    state = TrainingState(batches=batches, epoch=2, seconds=600.0, best_bleu=41.257)
    training = {"epochs": 1000} | training
    clock = Clock(state)
    clock.speed = 1234.4
    ProgressLine(clock, TrainingConfig(**training)).on_train_batch_end(0, LOGS)
    return stream.getvalue()


def test_a_log_has_all_of_it(line):
    """A quarter of 1,200 updates in 10 minutes: 30 minutes are left; halfway up the warm-up the
    rate is half.
    """
    text = line(io.StringIO(), maximum_updates=1200, learning_rate=2e-3, warmup_updates=602)
    assert (
        text == "batch     300  loss 2.000  BLEU 41.26   25%  30 min left  epoch   3    10.0 min "
        " perplexity 7.39  1234 tokens/s  learning rate 1.00e-03  gradient 0.50\n"
    )


@pytest.mark.parametrize(
    "training, has",
    [
        (dict(maximum_minutes=40.0), "BLEU 41.26   25%  30 min left  epoch"),
        (dict(maximum_updates=1200), "BLEU 41.26   25%  30 min left  epoch"),
        (dict(epochs=8), "BLEU 41.26   25%  30 min left  epoch"),
        (dict(epochs=8, maximum_minutes=60.0), "BLEU 41.26   25%  30 min left  epoch"),
    ],
)
def test_the_limit_that_is_set_counts(line, training, has):
    assert has in line(io.StringIO(), **training)


def test_the_first_batches_tell_no_time_left(line):
    """The first one takes as long as hundreds of others."""
    said = line(io.StringIO(), batches=1, maximum_updates=1200)
    assert "BLEU 41.26    0%  epoch" in said


def test_a_terminal_has_one_row_of_it_and_40_columns_show_what_matters(line, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = line(Terminal(), maximum_updates=1200)
    assert text == "\r\x1b[Kbatch     300  loss 2.000  BLEU 41.26  "


def test_an_epoch_without_a_batch_has_none(monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    line = ProgressLine(Clock(TrainingState(batches=300, epoch=2)), TrainingConfig())
    line.on_epoch_end(2, {})
    assert stream.getvalue() == ""
    line.on_epoch_end(2, LOGS)
    assert stream.getvalue().startswith("batch     300  loss 2.000")


def test_speed_is_of_updates_without_the_first(monkeypatch):
    now = iter([0.0, 0.0, 99.0, 100.0, 102.0, 102.0, 110.0, 114.0, 114.0])
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    clock = Clock(TrainingState())
    speeds = []
    for tokens in (10, 30, 70):  # tokens so far; updates of 99, 2 and 4 seconds
        clock.on_train_batch_begin(0)
        clock.on_train_batch_end(0, {"target_tokens": tokens})
        speeds.append(clock.speed)
    assert speeds == [0.0, 10.0, 10.0]
