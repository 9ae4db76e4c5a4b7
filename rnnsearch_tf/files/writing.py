"""Write results: text line by line as it is produced, or a whole file atomically."""

from __future__ import annotations

import contextlib
import gzip
import pathlib
import re
import sys
from collections.abc import Iterable, Iterator
from typing import IO, BinaryIO

from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import cannot_write, replacing

OutputFile = AnyPath | None
"""A path, whose ending ``.gz`` selects compression; one of STANDARD_OUTPUT."""

Binary = BinaryIO | gzip.GzipFile
"""A stream of bytes to write."""

STANDARD_OUTPUT = None, "-"
"""Names of standard output."""


class Output:
    """A text stream for results: a file (compressed if its name ends in ``.gz``) or standard
    output.

    Every `write` flushes, so that a reader gets the lines at once; the file therefore
    has its final name from the start.

    Args:
        name: path; None or ``-`` for standard output.

    Raises:
        UserError: the file cannot be written.
    """

    def __init__(self, name: OutputFile = None) -> None:
        self._name = name
        self._stream: IO[str] = sys.stdout
        if name not in STANDARD_OUTPUT:
            with _named(name):
                self._stream = (gzip.open if str(name).endswith(".gz") else open)(
                    name, "wt", encoding="utf-8", newline="\n"
                )

    def write(self, lines: Iterable[str]) -> None:
        """Write each string as a line; line breaks inside a string become a space."""
        with _named(self._name):
            for line in lines:
                self._stream.write(re.sub("[\r\n]+", " ", line))
                self._stream.write("\n")
            self._stream.flush()

    def __enter__(self) -> Output:
        return self

    def __exit__(self, *error: object) -> None:
        if self._name not in STANDARD_OUTPUT:
            with _named(self._name):  # closing retries what a full disk did not take
                self._stream.close()


@contextlib.contextmanager
def whole_file(name: OutputFile) -> Iterator[Binary]:
    """Yield a binary stream whose file appears under its name only once everything is written.

    Args:
        name: path, compressed if it ends in ``.gz``; one of STANDARD_OUTPUT. A pipe or a device is
            written to directly.

    Raises:
        UserError: the file cannot be written.
    """
    if name in STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = pathlib.Path(name)
    is_special = path.exists() and not path.is_file()
    with (
        contextlib.nullcontext(path) if is_special else replacing(path) as partial,
        open(partial, "wb") as raw,
    ):
        if path.suffix != ".gz":
            yield raw
            return
        # no name and no time in the gzip header, so that equal results give equal bytes
        with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
            yield packed


@contextlib.contextmanager
def _named(name: OutputFile) -> Iterator[None]:
    """Turn an OSError inside the block into a UserError that names the file, except for standard
    output.
    """
    try:
        yield
    except OSError as error:
        # the reader of a named pipe may end as that of standard output may
        if name in STANDARD_OUTPUT or isinstance(error, BrokenPipeError):
            raise
        raise cannot_write(name, error) from None
