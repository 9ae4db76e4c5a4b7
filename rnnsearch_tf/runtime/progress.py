"""What a person sees on standard error while something takes long: a bar by tqdm, a sentence, a
colour.

Only what the command line runs shows it. From Python it is switched on as any log is:
``logging.getLogger("rnnsearch_tf.runtime.progress").setLevel("INFO")``.
"""

from __future__ import annotations

import contextlib
import logging
import os
import sys
import threading

log = logging.getLogger("rnnsearch_tf.runtime.progress")

SECONDS_OF_SILENCE = 2.0
"""What takes less time shows nothing."""

SECONDS_BETWEEN_LINES = 60.0
"""In a log file or a pipe, where a bar cannot be drawn again."""

COLOURS = {"red": 31, "green": 32}


def progress(
    items=None,
    *,
    doing: str,
    total: int | None = None,
    unit: str = "sentences",
    hidden: bool = False,
):
    """A bar: the share done, the time left, the rate. In a log, one line a minute.

    Args:
        items: iterable to pass on while counting; None for ``with progress(...) as bar:
            bar.update(number)``.
        doing: what is done, in front of the bar.
        total: how many there are; None where that is not known.
        unit: what is counted.
        hidden: True shows nothing.

    Returns:
        tqdm.

    Example:
        >>> sum(progress([1, 2, 3], doing="adding", unit="numbers"))
        6
    """
    from tqdm import tqdm

    terminal = sys.stderr.isatty()
    silence = _silence()
    tqdm.monitor_interval = 0  # no thread of its own
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
    """A stream that makes a line of every form of the bar."""

    def __init__(self, stream):
        self.stream = stream

    def write(self, text):
        if text.strip():
            self.stream.write(text.strip() + "\n")

    def __getattr__(self, name):
        return getattr(self.stream, name)


@contextlib.contextmanager
def announced(doing: str, stream=None):
    """Says what is being done, if it takes longer than two seconds and cannot be counted; in a log
    if it takes longer than a minute.

    Args:
        doing: what is done: "building the graph of the search".
        stream: where to say it; None takes standard error.
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


def coloured(text: str, colour: str) -> str:
    """The text in a colour where standard error is a terminal that has some (NO_COLOR and TERM=dumb
    are heeded).
    """
    if not sys.stderr.isatty() or os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb":
        return text
    return f"\x1b[{COLOURS[colour]}m{text}\x1b[0m"


def duration(seconds: float) -> str:
    """A time that is left or was taken, for people.

    Example:
        >>> duration(42), duration(600), duration(9000)
        ('42 s', '10 min', '2 h 30 min')
    """
    minutes = round(seconds / 60)
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{minutes} min" if minutes < 90 else f"{minutes // 60} h {minutes % 60} min"
