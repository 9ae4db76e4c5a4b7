"""The learning rate of the next update, and how far a training is: in epochs, as a share of its
limits, and which of them ends it.
"""

from __future__ import annotations

import math

from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.training.checkpoint import TrainingState

HALVE_AFTER = 5
"""Epochs after which ``halving`` first halves the learning rate (Sutskever et al. 2014)."""


def share_done(state: TrainingState, config: TrainingConfig) -> float:
    """Completed share of the training in [0, 1], by updates or by minutes, whichever is larger."""
    shares = [state.batches / config.maximum_updates] if config.maximum_updates else []
    shares += [state.seconds / 60 / config.maximum_minutes] if config.maximum_minutes else []
    return min(1.0, max(shares, default=0.0))


def epochs_done(state: TrainingState) -> float:
    """Number of passes over the training text so far, fractions included."""
    return state.epoch + state.batches_of_epoch / max(1, state.epoch_size)


def learning_rate(state: TrainingState, config: TrainingConfig) -> float:
    """Learning rate of the next update: linear warm-up from 0, then by ``training.schedule``."""
    rate = config.learning_rate * min(1.0, (state.batches + 1) / max(1, config.warmup_updates))
    if config.schedule == "cosine":
        rate *= 0.5 * (1 + math.cos(math.pi * share_done(state, config)))
    if config.schedule == "halving":  # at HALVE_AFTER, half an epoch later, ...
        rate *= 0.5 ** max(0, math.floor(2 * (epochs_done(state) - HALVE_AFTER)) + 1)
    return rate


def reached_limit(state: TrainingState, config: TrainingConfig) -> str | None:
    """The name of the limit that ends a training now, or None."""
    limits: dict[str, tuple[float | None, float]] = {
        "epochs": (config.epochs, state.epoch),
        "maximum_updates": (config.maximum_updates, state.batches),
        "maximum_minutes": (config.maximum_minutes, state.seconds / 60),
        "patience": (config.patience, state.evaluations_since_best),
    }
    return next(
        (
            name
            for name, (limit, reached) in limits.items()
            if limit is not None and reached >= limit
        ),
        None,
    )
