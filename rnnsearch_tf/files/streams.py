"""Open text files and cut them into lines, plain or compressed (gzip, xz, bzip2, zstd).

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

try:
    import bz2
    import lzma
except ImportError:
    # ignored: modules do not have the type None; some builds of Python lack these two
    bz2 = lzma = None  # type: ignore[assignment]
try:
    from compression import zstd  # type: ignore[import-not-found]  # Python 3.14
except ImportError:
    from backports import zstd

from rnnsearch_tf.errors import UsageError, UserError
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

COMPRESSED: dict[str, tuple[bytes, Callable[[Any], Stream] | None]] = {
    "gzip": (b"\x1f\x8b", lambda raw: gzip.GzipFile(fileobj=raw)),
    "xz": (b"\xfd7zXZ\x00", lzma.LZMAFile if lzma else None),
    "bzip2": (b"BZh", bz2.BZ2File if bz2 else None),
    "zstd": (b"\x28\xb5\x2f\xfd", zstd.ZstdFile),
    "zip": (b"PK\x03\x04", None),
}
"""{format: (its first bytes, its reader; None: the user has to decompress it first)}."""

# `BZh` and a digit are followed by a block or the end; a plain text may begin with `BZh`
_BZIP2_BLOCKS = (
    b"1AY&SY",
    b"\x17rE8P\x90",
)


def line_batches(name: InputFile, size: int, cut: bool = False) -> Iterator[list[bytes]]:
    """Yield lists of 1 to `size` lines as bytes, without their line feeds, as soon as they arrive.

    Args:
        name: a file, plain or compressed; None or ``-`` for standard input; an int for a file
            descriptor, which is closed at the end.
        size: most lines in a list. At most these and one chunk of the file are in memory.
        cut: True: truncate a line longer than LONGEST_LINE, to more than LONGEST_LINE bytes.

    Raises:
        UserError: the file is missing, is a folder, cannot be read, is truncated, is compressed in
            a way that COMPRESSED does not read, is a tar archive, looks like UTF-16, or (without
            `cut`) has a line longer than LONGEST_LINE.
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
                chunk = _checked_start(chunk, where)
                started = True
            *complete, last = chunk.split(b"\n")
            if not cut and held + len(chunk if not complete else complete[0]) > LONGEST_LINE:
                raise UserError(
                    f"{where}:{count + 1}: expected lines of at most {LONGEST_LINE:,} bytes,"
                    " got a longer one; break it, or take it out"
                )
            if complete:
                lines += [b"".join([*rest, complete[0]]), *complete[1:]]
                count = count + len(complete)
                rest = []
                held = 0
            if held <= LONGEST_LINE:
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
        UserError: in the block too, where the file is missing, is a folder, cannot be read, is
            truncated, or is compressed in a way that COMPRESSED does not read.
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
        kind = "gzip" if isinstance(stream, gzip.GzipFile) else "compressed"
        raise UserError(
            f"{place()}: expected more {kind} data, the file ends early; copy or download it again"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        if "Not a gzipped file" not in str(error):
            raise _damaged("gzip", place(), error) from None
        raise UserError(
            f"{place()}: expected gzip data, got {error}; decompress it or name it without .gz"
        ) from None
    except lzma.LZMAError if lzma else () as error:
        raise _damaged("xz", place(), error) from None
    except zstd.ZstdError as error:
        raise _damaged("zstd", place(), error) from None
    except OSError as error:
        raise UserError(
            f"{where}: expected a readable file, got {error.strerror or error}"
        ) from None


def missing(name: InputFile, hint: str = "check the path") -> UserError:
    """The error of a text file that is not there."""
    return UserError(f"{name}: expected a text file, found none; {hint}")


def check_readable_again(path: AnyPath) -> None:
    """Raise UserError if a file that is read several times is standard input or a pipe, whose text
    is gone after the first.
    """
    if path == "-":
        raise UsageError(
            "-: expected a file, which is read several times, got standard input; write it to a"
            " file first"
        )
    if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
        raise UserError(
            f"{path}: expected a file, which is read several times, got a pipe; write it to a file"
            " first"
        )


def _damaged(kind: str, place: str, error: Exception) -> UserError:
    return UserError(f"{place}: expected {kind} data, got: {error}; copy or download it again")


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
    begin = raw.peek(10)[:10]
    if begin and where.endswith(".gz"):
        return gzip.GzipFile(fileobj=raw)
    for kind, (magic, reader) in COMPRESSED.items():
        if begin.startswith(magic) and (kind != "bzip2" or begin[4:].startswith(_BZIP2_BLOCKS)):
            if reader is None:
                raise UserError(
                    f"{where}: expected text, plain or compressed by gzip, xz, bzip2 or zstd, got"
                    f" {kind}; decompress it first, or save a spreadsheet as .csv"
                )
            return reader(raw)
    return contextlib.nullcontext(raw)


def _checked_start(chunk: bytes, where: str) -> bytes:
    """The first bytes of a text, without its byte-order mark; raises UserError if it is UTF-16 or
    an archive.
    """
    if chunk[257:262] == b"ustar":
        raise UserError(
            f"{where}: expected text, got a tar archive; unpack it: tar -xf {where}, and name a"
            " file of it"
        )
    if chunk.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UserError(
            f"{where}:1: expected UTF-8, got byte 0x{chunk[0]:02x} at position 1; the file looks"
            " like UTF-16; convert it: iconv -f utf-16 -t utf-8"
        )
    if encoding := _utf_16_without_mark(chunk):
        raise UserError(
            f"{where}:1: expected UTF-8, got zeros at every other byte; the file looks like UTF-16;"
            f" convert it: iconv -f {encoding} -t utf-8"
        )
    return chunk.removeprefix(codecs.BOM_UTF8)


def _utf_16_without_mark(chunk: bytes) -> str | None:
    """The UTF-16 encoding that the first bytes look like, by the zeros beside Latin letters; None:
    neither of the two.
    """
    begin = chunk[:64]
    even, odd = (begin[first::2].count(0) for first in (0, 1))
    if min(even, odd) == 0 and max(even, odd) >= max(2, len(begin) // 4):
        return "utf-16-be" if even else "utf-16-le"
    return None


def _can_read_now(stream: io.BufferedIOBase) -> bool:
    """Whether a read would return at once; for a plain file, always."""
    try:
        descriptor = stream.fileno()
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return True
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):  # no file descriptor: all of it is in memory
        return True
