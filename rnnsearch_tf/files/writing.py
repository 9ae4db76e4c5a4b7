"""Write results line by line, as they are produced."""

from __future__ import annotations

import contextlib
import gzip
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import naming

Write = Callable[[Iterable[str]], None]
"""Writes each string as a line, and flushes."""


@contextlib.contextmanager
def open_output(name: AnyPath | None = None) -> Iterator[Write]:
    """Open a file for results, and yield a function that writes lines to it.

    A reader gets the lines at once; the file therefore has its final name from the start. What was
    in it stays until there is a result, or the block ends well without one. A line break inside a
    string becomes a space.

    Args:
        name: path, compressed if it ends in ``.gz``; None or ``-`` for standard output.

    Raises:
        UserError: the file cannot be written.
    """
    path = None if name in (None, "-") else str(name)
    place = path or "standard output"
    stream: Any = None if path else sys.stdout

    def write(lines: Iterable[str]) -> None:
        nonlocal stream
        with naming(place):
            if stream is None:
                opened = gzip.open if place.endswith(".gz") else open
                stream = opened(place, "wt", encoding="utf-8", newline="\n")
        for line in lines:
            with naming(place):
                stream.write(line.replace("\r", " ").replace("\n", " ") + "\n")
        with naming(place):
            stream.flush()

    with naming(place):
        writable: Any = open(path, "ab") if path else contextlib.nullcontext()
    with writable:
        try:
            yield write
            write([])
        finally:
            if path and stream:
                with naming(place):  # closing writes what the disk did not take before
                    stream.close()
