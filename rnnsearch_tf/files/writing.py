"""Write results line by line, as they are produced."""

from __future__ import annotations

import contextlib
import gzip
import sys
from collections.abc import Callable, Iterable, Iterator

from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import naming

Write = Callable[[Iterable[str]], None]
"""Writes each string as a line, and flushes."""


@contextlib.contextmanager
def open_output(name: AnyPath | None = None) -> Iterator[Write]:
    """Open a file for results, and yield a function that writes lines to it.

    A reader gets the lines at once; the file therefore has its final name from the start. A line
    break inside a string becomes a space.

    Args:
        name: path, compressed if it ends in ``.gz``; None or ``-`` for standard output.

    Raises:
        UserError: the file cannot be written.
    """
    is_file = name not in (None, "-")
    with naming(name or "standard output"):
        stream = sys.stdout
        if is_file:
            stream = (gzip.open if str(name).endswith(".gz") else open)(
                name, "wt", encoding="utf-8", newline="\n"
            )

    def write(lines: Iterable[str]) -> None:
        for line in lines:
            with naming(name or "standard output"):
                stream.write(line.replace("\r", " ").replace("\n", " ") + "\n")
        with naming(name or "standard output"):
            stream.flush()

    try:
        yield write
    finally:
        if is_file:
            with naming(name):  # closing writes what the disk did not take before
                stream.close()
