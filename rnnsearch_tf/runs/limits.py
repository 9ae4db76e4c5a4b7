"""The limits at which a training ends."""

from __future__ import annotations

from typing import Any


def reached_limit(progress: Any, settings: Any) -> str | None:
    """The name of the limit that ends a training now, or None.

    Args:
        progress: a TrainingState, or the numbers of a saved one as attributes.
        settings: TrainingConfig.
    """
    limits: dict[str, tuple[float | None, float]] = {
        "epochs": (settings.epochs, progress.epoch),
        "maximum_updates": (settings.maximum_updates, progress.batches),
        "maximum_minutes": (settings.maximum_minutes, progress.seconds / 60),
        "patience": (settings.patience, progress.evaluations_since_best),
    }
    return next(
        (
            name
            for name, (limit, reached) in limits.items()
            if limit is not None and reached >= limit
        ),
        None,
    )
