"""Progress on standard error: tqdm bars, messages about long steps, colours.

The command line shows it. From Python it is off; switch it on by its log level:
``logging.getLogger("rnnsearch_tf.runtime.progress").setLevel("INFO")``.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading
from collections.abc import Iterable, Iterator
from typing import IO, Any

log = logging.getLogger("rnnsearch_tf.runtime.progress")

SECONDS_OF_SILENCE = 2.0
"""Shorter work shows no progress."""

SECONDS_BETWEEN_LINES = 60.0
"""Time between lines in a log file or a pipe, where a bar cannot be redrawn."""

COLOURS = {"red": 31, "green": 32}


def progress(
    items: Iterable[Any] | None = None,
    *,
    doing: str,
    total: int | None = None,
    unit: str = "sentences",
    hidden: bool = False,
) -> Any:
    """A progress bar with the share done, the time left and the rate; in a log, one line a minute.

    Args:
        items: iterable to yield from while counting; None for ``with progress(...) as bar:
            bar.update(number)``.
        doing: text in front of the bar.
        total: number of items; None: unknown.
        unit: what is counted.
        hidden: True: show nothing.

    Returns:
        A tqdm.

    Example:
        >>> sum(progress([1, 2, 3], doing="adding", unit="numbers"))
        6
    """
    from tqdm import tqdm

    terminal = sys.stderr.isatty()
    silence = _silence()
    tqdm.monitor_interval = 0  # documented; no bar of this process has a thread of its own
    return tqdm(
        items,
        desc=doing,
        total=total,
        unit=f" {unit}",
        miniters=1,
        dynamic_ncols=terminal,
        file=sys.stderr if terminal else _Lines(sys.stderr),
        delay=silence,
        mininterval=0.5 if terminal else silence,
        disable=hidden or not log.isEnabledFor(logging.INFO),
    )


def _silence() -> float:
    return SECONDS_OF_SILENCE if sys.stderr.isatty() else SECONDS_BETWEEN_LINES


class _Lines:
    """A stream that writes every update of the bar as a line. tqdm shows the last count again when
    it closes the bar; that is written once.
    """

    def __init__(self, stream: IO[str]) -> None:
        self.stream = stream
        self.shown = ""

    def write(self, text: str) -> None:
        count = text.strip().partition("[")[0]  # without times and speed
        if count and count != self.shown:
            self.shown = count
            self.stream.write(text.strip() + "\n")

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


@contextlib.contextmanager
def announced(doing: str, stream: IO[str] | None = None) -> Iterator[None]:
    """Print a message if the block, which has no countable items, takes longer than two seconds; in
    a log, longer than a minute.

    Args:
        doing: the message, such as "building the graph of the search".
        stream: where to print it; None: standard error.
    """
    timer = threading.Timer(
        _silence(), lambda: print(f"{doing} …", file=stream or sys.stderr, flush=True)
    )
    if log.isEnabledFor(logging.INFO):
        timer.start()
    try:
        yield
    finally:
        timer.cancel()


def say(message: str) -> None:
    """Print a line to standard error: on a terminal below the bar that is being redrawn there."""
    row = "\n" if sys.stderr.isatty() else ""
    print(f"{row}{message}", file=sys.stderr, flush=True)


def coloured(text: str, colour: str) -> str:
    """The text in a colour if standard error is a terminal with colours (respects NO_COLOR and
    TERM=dumb).
    """
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"


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
