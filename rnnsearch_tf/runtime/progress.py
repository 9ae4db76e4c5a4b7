"""Progress on standard error."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import Any


def progress(
    items: Iterable[Any] | None = None,
    *,
    doing: str,
    unit: str = "sentences",
    hidden: bool = False,
) -> Any:
    """A progress bar, a tqdm, if standard error is a terminal.

    Args:
        items: iterable to yield from while counting; None for ``with progress(...) as bar:
            bar.update(number)``.
        doing: text in front of the bar.
        unit: what is counted.
        hidden: True: show nothing.

    Example:
        >>> sum(progress([1, 2, 3], doing="adding", unit="numbers"))
        6
    """
    from tqdm import tqdm

    return tqdm(items, doing, unit=f" {unit}", dynamic_ncols=True, disable=hidden or None)


def say(message: str) -> None:
    """Print a line to standard error: on a terminal below the bar that is being redrawn there."""
    row = "\n" if sys.stderr.isatty() else ""
    print(f"{row}{message}", file=sys.stderr, flush=True)


def duration(seconds: float) -> str:
    """A duration in words.

    Example:
        >>> duration(42), duration(600), duration(9000)
        ('42 s', '10 min', '2 h 30 min')
    """
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
