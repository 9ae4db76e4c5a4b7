"""Open text files and cut them into lines, plain or compressed by gzip.

The compression is recognized by the first bytes of a file, not by its name, so that standard input
may be compressed too.

A line ends at a line feed, with or without a carriage return before it, and nowhere else: U+2028,
U+0085 and form feeds do not end a line. A byte-order mark at the start of a file is skipped.
"""

from __future__ import annotations

import codecs
import contextlib
import gzip
import io
import os
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from typing import Any, BinaryIO

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath

InputFile = AnyPath | int | None
"""A path; None or ``-`` for standard input; an int for a file descriptor."""

Stream = contextlib.AbstractContextManager[io.BufferedIOBase]

CHUNK = 1 << 16
"""Bytes per read: the capacity of a pipe."""

LONGEST_LINE = 1 << 20
"""Most bytes of a line. A longer one is not text, or comes from a file without line breaks, which
would fill the memory.
"""

_GZIP = b"\x1f\x8b"  # first bytes


def line_batches(name: InputFile, size: int) -> Iterator[list[bytes]]:
    """Yield lists of 1 to `size` lines as bytes, without their line feeds, as soon as they arrive.

    Args:
        name: a file, plain or .gz; None or ``-`` for standard input; an int for a file
            descriptor, which is closed at the end.
        size: most lines in a list. At most these and one chunk of the file are in memory.

    Raises:
        UserError: the file is missing, is a folder, cannot be read, is truncated, or has
            a line longer than LONGEST_LINE.
    """
    where = display_name(name)
    count = 0
    with opened(name, lambda: f"{where}:{count + 1}") as stream:
        lines: list[bytes] = []  # complete lines
        rest: list[bytes] = []  # pieces of the next line
        held = 0  # bytes in these pieces
        started = False
        while chunk := stream.read1(CHUNK):
            if not started:
                chunk = chunk.removeprefix(codecs.BOM_UTF8)
                started = True
            *complete, last = chunk.split(b"\n")
            if held + len(chunk if not complete else complete[0]) > LONGEST_LINE:
                raise UserError(
                    f"{where}:{count + 1}: expected lines of at most {LONGEST_LINE:,} bytes,"
                    " got a longer one; break it, or take it out"
                )
            if complete:
                lines += [b"".join([*rest, complete[0]]), *complete[1:]]
                count = count + len(complete)
                rest = []
                held = 0
            rest.append(last)
            held += len(last)
            while len(lines) >= size:
                yield lines[:size]
                del lines[:size]
            if lines and not _can_read_now(stream):
                yield lines
                lines = []
        lines += [b"".join(rest)] if any(rest) else []
        if lines:
            yield lines


@contextlib.contextmanager
def opened(name: InputFile, place: Callable[[], str]) -> Iterator[io.BufferedIOBase]:
    """Open a file and decompress it.

    Args:
        name: as of :func:`line_batches`.
        place: file and line that an error of the compressed data names.

    Raises:
        UserError: in the block too, where the file is missing, is a folder, cannot be read, or is
            truncated.
    """
    where = display_name(name)
    try:
        with _open(name) as raw, _decompressed(raw, where) as stream:
            yield stream
    except FileNotFoundError:
        raise missing(where) from None
    except IsADirectoryError:
        raise UserError(
            f"{where}: expected a text file, found a folder; name the file in it"
        ) from None
    except EOFError:
        raise UserError(
            f"{place()}: expected more gzip data, the file ends early; copy or download it again"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UserError(
            f"{place()}: expected gzip data, got: {error}; copy or download it again, or name it"
            " without .gz"
        ) from None
    except OSError as error:
        raise UserError(
            f"{where}: expected a readable file, got {error.strerror or error}"
        ) from None


def missing(name: InputFile, hint: str = "check the path") -> UserError:
    """The error of a text file that is not there."""
    return UserError(f"{name}: expected a text file, found none; {hint}")


def display_name(name: InputFile) -> str:
    """The name of a file in messages."""
    return "standard input" if name in (None, "-") or isinstance(name, int) else str(name)


def _open(name: InputFile) -> contextlib.AbstractContextManager[BinaryIO]:
    if name is None or name == "-":
        return contextlib.nullcontext(sys.stdin.buffer)
    return open(name, "rb")


def _decompressed(raw: Any, where: str) -> Stream:
    """The decompressed stream; its first bytes decide the format, but a file called .gz must be
    gzip.
    """
    if not hasattr(raw, "peek"):
        raw = io.BufferedReader(raw)
    begin = raw.peek(2)[:2]
    if begin == _GZIP or begin and where.endswith(".gz"):
        return gzip.GzipFile(fileobj=raw)
    return contextlib.nullcontext(raw)


def _can_read_now(stream: io.BufferedIOBase) -> bool:
    """Whether a read would return at once; for a plain file, always."""
    try:
        descriptor = stream.fileno()
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return True
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):  # no file descriptor: all of it is in memory
        return True
