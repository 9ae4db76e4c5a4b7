"""The line a training shows: what is done and left, learning rate, best score, against numbers
worked out by hand.
"""

import functools
import io
import sys

import pytest

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.training.callbacks import Progress
from rnnsearch_tf.training.schedule import TrainingState

LOGS = {"loss": 2.0, "perplexity": 7.389, "gradient_norm": 0.5, "target_tokens": 10.0}


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def line(monkeypatch, tmp_path):
    return functools.partial(written, monkeypatch, tmp_path / "metrics.jsonl")


def written(monkeypatch, path, stream, batches=301, **training):
    monkeypatch.setattr(sys, "stderr", stream)
    state = TrainingState(
        batches=batches, epoch=2, batches_of_epoch=0, epoch_size=9, seconds=600.0, best=41.257
    )
    progress = Progress(path, state, TrainingConfig(**{"epochs": 1000} | training))
    progress.speed = 1234.4
    progress.on_train_batch_end(0, LOGS)
    return stream.getvalue()


def test_a_log_has_all_of_it(line):
    """A quarter of 1,204 updates in 10 minutes: 30 minutes are left; halfway up the warm-up the
    rate is half.
    """
    text = line(io.StringIO(), maximum_updates=1204, learning_rate=2e-3, warmup_updates=604)
    assert text == (
        "batch     301  loss 2.000  best 41.26   25%  30 min left  epoch   3    10.0 min"
        "  perplexity 7.39  1234 tokens/s  learning rate 1.00e-03  gradient 0.50\n"
    )


def test_a_log_has_a_line_a_minute_and_one_at_the_end(monkeypatch, tmp_path):
    monkeypatch.setattr(sys, "stderr", stream := io.StringIO())
    progress = Progress(tmp_path / "metrics.jsonl", TrainingState(batches=9), TrainingConfig())
    for epoch in range(3):
        progress.on_epoch_begin(epoch)
        progress.on_train_batch_begin(0)
        progress.on_train_batch_end(0, LOGS)
        progress.on_epoch_end(epoch, LOGS)
    progress.on_train_end()
    first, last = stream.getvalue().splitlines()
    assert "epoch   1" in first and "epoch   3" in last


def test_epochs_are_a_limit_too(line):
    assert "best 41.26   25%  30 min left  epoch" in line(io.StringIO(), epochs=8)


def test_the_first_batches_tell_no_time_left(line):
    """The first one takes as long as hundreds of others."""
    assert "best 41.26    0%  epoch" in line(io.StringIO(), batches=1, maximum_updates=1200)


def test_a_terminal_has_one_row_of_it_and_40_columns_show_what_matters(line, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    text = line(Terminal(), maximum_updates=1200)
    assert text == "\r\x1b[Kbatch     301  loss 2.000  best 41.26  "


def test_speed_is_of_updates_without_the_first(monkeypatch, tmp_path):
    now = iter([0.0, 0.0, 99.0, 100.0, 102.0, 110.0, 114.0])
    monkeypatch.setattr("time.monotonic", lambda: next(now))
    progress = Progress(tmp_path / "metrics.jsonl", TrainingState(batches=1), TrainingConfig())
    speeds = []
    for tokens in (10, 30, 70):  # tokens so far; updates of 99, 2 and 4 seconds
        progress.on_train_batch_begin(0)
        progress.on_train_batch_end(0, LOGS | {"target_tokens": tokens})
        speeds.append(progress.speed)
    assert speeds == [0.0, 10.0, 10.0]
