"""Whether a training is long enough to learn from, and what to do if it is not: a rough rule."""

from __future__ import annotations

import dataclasses
import math
import time

from rnnsearch_tf.config import Config, TrainingConfig
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.progress import duration, say
from rnnsearch_tf.training.callbacks import Logs
from rnnsearch_tf.training.checkpoint import TrainingState
from rnnsearch_tf.training.learning_rate import updates_done

FEWEST_UPDATES = 1_000
"""Updates that a model needs before its translations have to do with the source, whatever the text.

Measured: 20,000 pairs of short sentences had 7 BLEU after 844 updates and 24 after 1,704; 10,000
pairs of technical text had 3 after 458.
"""

FEWEST_EPOCHS = 3
"""Passes over the text that a model needs: it has to see a word several times."""

MOST_UPDATES = 100_000
"""Enough for a text of any size: millions of pairs need not all be read for a first model."""

CLEARLY = 0.75
"""A training that reaches less than this share of the updates it needs is warned of."""

UNUSABLE_BLEU = 5.0
"""A development BLEU below this is no translation, however long the training was."""

USABLE_BLEU = 20.0
"""With this development BLEU a training was long enough, however few its updates."""

SECONDS_OF_MEASURING = 60.0
"""Time after which the speed of a training is known."""

_MINUTES = 5  # a limit in minutes is rounded up to a multiple of it


def updates_needed(updates_of_epoch: float) -> int:
    """Updates that a text needs, by the number of updates that are one pass over it.

    Example:
        >>> updates_needed(100), updates_needed(2_500), updates_needed(1e6)
        (1000, 7500, 100000)
    """
    return min(max(FEWEST_UPDATES, math.ceil(FEWEST_EPOCHS * updates_of_epoch)), MOST_UPDATES)


@dataclasses.dataclass(frozen=True)
class Course:
    """How far a training has come.

    Attributes:
        updates, seconds: updates and training time so far.
        updates_of_epoch: updates in one pass over the text, about.
    """

    settings: TrainingConfig
    updates: int
    seconds: float
    updates_of_epoch: float

    def expected(self, seconds_an_update: float) -> float:
        """Updates that it will have made when the first of its limits ends it."""
        limits = [self.settings.epochs * self.updates_of_epoch]
        if self.settings.maximum_updates:
            limits.append(self.settings.maximum_updates)
        if self.settings.maximum_minutes:
            left = 60 * self.settings.maximum_minutes - self.seconds
            limits.append(self.updates + left / seconds_an_update)
        return min(limits)

    def changes(self, updates: int, seconds_an_update: float) -> list[str]:
        """The settings that let it make as many updates: ``training.…=…``, one for each limit that
        would end it before.
        """
        settings = self.settings
        minutes = (self.seconds + (updates - self.updates) * seconds_an_update) / 60
        epochs = math.ceil(updates / self.updates_of_epoch)
        found = []
        if settings.maximum_minutes and settings.maximum_minutes < minutes:
            rounded = _MINUTES * math.ceil(minutes / _MINUTES)
            found.append(f"training.maximum_minutes={rounded}")
        if settings.maximum_updates and settings.maximum_updates < updates:
            found.append(f"training.maximum_updates={updates}")
        if settings.epochs < epochs:
            found.append(f"training.epochs={epochs}")
        return found


class TooShort(keras.callbacks.Callback):
    """Says once, when the speed is known, that the limits leave too few updates to learn from.

    A training that starts from another model needs no minimum.

    Args:
        updates_of_epoch: updates in one pass over the text, about.
    """

    def __init__(
        self, run: Run, state: TrainingState, settings: TrainingConfig, updates_of_epoch: float
    ) -> None:
        super().__init__()
        self.run = run
        self.state = state
        self.settings = settings
        self.updates_of_epoch = updates_of_epoch
        self._measured_from: tuple[float, int] | None = None
        self._is_over = state.began_from is not None

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        if self._is_over:
            return
        now = time.monotonic()
        updates = updates_done(self.state, self.settings)
        if self._measured_from is None:  # the first batch, for which a graph is built, has ended
            self._measured_from = now, updates
            return
        began, before = self._measured_from
        if now - began >= SECONDS_OF_MEASURING and updates > before:
            self._is_over = True
            self._judge((now - began) / (updates - before))

    def _judge(self, seconds_an_update: float) -> None:
        course = Course(
            self.settings,
            updates_done(self.state, self.settings),
            self.state.seconds,
            self.updates_of_epoch,
        )
        needed = updates_needed(self.updates_of_epoch)
        expected = course.expected(seconds_an_update)
        if expected >= CLEARLY * needed:
            return
        changes = course.changes(needed, seconds_an_update)
        say(
            f"about {_round(expected):,} updates in"
            f" {duration(expected * seconds_an_update)}; this text needs about"
            f" {_round(needed):,}: {duration(needed * seconds_an_update)}; set"
            f" {' '.join(changes)} (Ctrl-C saves; then {_go_on(self.run, changes)})"
        )


def verdict(run: Run, state: TrainingState, config: Config, updates_of_epoch: float) -> str | None:
    """What is to be said at the end of a training that has no usable model; None: it has one.

    Args:
        updates_of_epoch: updates in one pass over the text, about.
    """
    settings = config.training
    updates = updates_done(state, settings)
    if state.began_from is not None:
        return _not_better(run, state, settings, updates)
    epochs = updates / updates_of_epoch
    bleu = state.best_bleu
    few = updates < FEWEST_UPDATES or epochs < 1
    if bleu is not None and (bleu >= USABLE_BLEU or bleu >= UNUSABLE_BLEU and not few):
        return None
    if bleu is None and not few:
        return None
    said = [f"{updates:,} updates, {epochs:.1f} epochs"]
    if few:
        said[0] += (
            f": too few to learn from; this text needs about"
            f" {_round(updates_needed(updates_of_epoch)):,} updates"
        )
    if bleu is not None:
        said.append(f"development BLEU {bleu:.2f}")
    course = Course(settings, updates, state.seconds, updates_of_epoch)
    aim = max(updates_needed(updates_of_epoch), 2 * updates)
    changes = course.changes(aim, state.seconds / max(updates, 1))
    patience = settings.patience
    if patience and state.evaluations_since_best >= patience:
        said.append(
            f"{patience} evaluations brought nothing better: more text, or cleaner text, is needed"
            " (rnnsearch doctor)"
        )
    else:
        said.append(f"go on: {_go_on(run, changes)}")
    return "; ".join(said)


def _not_better(
    run: Run, state: TrainingState, settings: TrainingConfig, updates: int
) -> str | None:
    """What is to be said if the best score is that of the model that the training started from."""
    best = state.best_bleu if state.best_loss is None else state.best_loss
    if state.began_at is None or best != state.began_at:
        return None
    score = "BLEU" if state.best_loss is None else "loss"
    return (
        f"{updates:,} updates brought no development {score} better than that of the start,"
        f" {best:.2f}: {run} holds the weights it began with; try a lower"
        f" training.learning_rate than {settings.learning_rate:g}, more text, or --mix"
    )


def _go_on(run: Run, changes: list[str]) -> str:
    return " ".join([run.resume_command, *(f"--set {change}" for change in changes)])


def _round(number: float) -> int:
    """A number of updates with its first two digits."""
    return int(float(f"{number:.1e}"))
