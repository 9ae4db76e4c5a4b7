"""Read the lines of text files, plain or gzip, as they arrive; errors name file and line.

A text is UTF-8. A line ends at a line feed, with or without a carriage return before it, and
nowhere else. A byte-order mark at the start is skipped.
"""

from __future__ import annotations

import contextlib
import gzip
import io
import itertools
import os
import sys
import zlib
from collections.abc import Iterable, Iterator
from typing import Any, TypeVar

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath

Item = TypeVar("Item")

LINES_AT_ONCE = 2048
"""Lines that are tokenized together."""

CHUNK = 1 << 16
"""Bytes per read, the capacity of a pipe; of a pipe, a read returns what has arrived."""


def read_lines(name: AnyPath) -> Iterator[str]:
    """Yield the lines of a text without their line ends.

    Args:
        name: a path, of a gzip file if its first bytes say so; ``-`` for standard input.

    Raises:
        UserError: the file is missing, is no text, or is a damaged gzip file.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "text")
        >>> _ = path.write_bytes(b"one\\r\\ntwo")
        >>> list(read_lines(path))
        ['one', 'two']
    """
    return itertools.chain.from_iterable(read_batches(name, LINES_AT_ONCE))


def read_batches(name: AnyPath | int, size: int) -> Iterator[list[str]]:
    """Yield lists of 1 to `size` lines, as soon as they arrive; otherwise as :func:`read_lines`.
    The name may also be the number of an open file. Lines that arrive together with one that is
    not UTF-8 are lost.
    """
    where = "standard input" if name in ("-", 0) else name
    number = 1  # of the next line
    rest: list[bytes] = []  # pieces of it
    try:
        with _opened(name) as stream:
            while chunk := stream.read1(CHUNK):
                first, *others = chunk.split(b"\n")
                rest.append(first)
                if not others:
                    continue
                lines = [b"".join(rest), *others[:-1]]
                rest = [others[-1]]
                for start in range(0, len(lines), size):
                    yield [
                        _decoded(line, where, number + index)
                        for index, line in enumerate(lines[start : start + size], start)
                    ]
                number += len(lines)
            if any(rest):
                yield [_decoded(b"".join(rest), where, number)]
    except FileNotFoundError:
        raise _missing(name) from None
    except (EOFError, zlib.error, OSError) as error:
        raise UserError(
            f"{where}:{number}: expected a text that can be read, got:"
            f" {getattr(error, 'strerror', None) or error}; check the file, or copy it again"
        ) from None


def read_rows(*names: AnyPath) -> Iterator[tuple[str, ...]]:
    """Yield the k-th lines of parallel texts together: (source line, target line) of two.

    Raises:
        UserError: as of :func:`read_lines`; one text has more lines than another.
    """
    rows = itertools.zip_longest(*map(read_lines, names))
    for number, row in enumerate(rows, start=1):
        if None in row:
            longer = next(k for k, line in enumerate(row) if line is not None)
            lines = number + sum(1 for later in rows if later[longer] is not None)
            raise UserError(
                f"{names[longer]}:{number}: expected as many lines as in {names[row.index(None)]},"
                f" which has {number - 1:,}, got {lines:,}; a line is missing, or was cut in"
                " two: correct it"
            )
        yield row


def batches(items: Iterable[Item], size: int = LINES_AT_ONCE) -> Iterator[list[Item]]:
    """Cut an iterable into lists of `size`."""
    items = iter(items)
    while batch := list(itertools.islice(items, size)):
        yield batch


def check_inputs(names: Iterable[AnyPath | int], output: AnyPath | None = None) -> None:
    """Raise UserError if a file is missing, or is also the output; called before long work."""
    for name in names:
        file = 0 if name == "-" else name
        if not os.path.exists(file):
            raise _missing(name)
        if output and os.path.isfile(output) and os.path.samefile(file, output):
            raise UserError(
                f"{output}: expected another file for the results than for the text, got the same;"
                " write elsewhere"
            )


def _missing(name: AnyPath | int) -> UserError:
    return UserError(f"{name}: expected a text file, found none; check the path")


@contextlib.contextmanager
def _opened(name: AnyPath | int) -> Iterator[Any]:
    """The binary stream of a text."""
    file: Any = contextlib.nullcontext(sys.stdin.buffer) if name == "-" else open(name, "rb")
    with file as stream:
        if not (start := stream.peek(2)[:2]):
            yield io.BytesIO()  # to ask a terminal again would take a second Ctrl-D
        else:
            yield gzip.open(stream) if start == b"\x1f\x8b" else stream


def _decoded(line: bytes, where: AnyPath | int, number: int) -> str:
    try:
        text = line.removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        raise UserError(
            f"{where}:{number}: expected UTF-8, got byte 0x{line[error.start]:02x} at column"
            f" {error.start + 1}; correct the line, or, if the whole file has another encoding E,"
            " convert it: `iconv -f E -t utf-8`"
        ) from None
    return text.removeprefix("\ufeff") if number == 1 else text
