"""Stream the lines of text files, plain or compressed (gzip, xz, bzip2); errors name file and line.

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
import logging
import os
import select
import stat
import sys
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, BinaryIO

try:
    import bz2
    import lzma
except ImportError:
    # ignored: modules do not have the type None; some builds of Python lack these two
    bz2 = lzma = None  # type: ignore[assignment]

from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files import AnyPath

log = logging.getLogger("rnnsearch_tf")

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
    "zstd": (b"\x28\xb5\x2f\xfd", None),
    "zip": (b"PK\x03\x04", None),
}
"""{format: (its first bytes, its reader; None: the user has to decompress it first)}."""

# `BZh` and a digit are followed by a block or the end; a plain text may begin with `BZh`
_BZIP2_BLOCKS = (
    b"1AY&SY",
    b"\x17rE8P\x90",
)

_LINES = 1024  # lines read at once if the caller takes them one by one


def raw_batches(name: InputFile, size: int, cut: bool = False) -> Iterator[list[bytes]]:
    """Yield lists of 1 to `size` lines as bytes, without their line feeds, as soon as they arrive.

    Args:
        name: a file, plain or compressed; None or ``-`` for standard input; an int for a file
            descriptor, which is closed at the end.
        size: most lines in a list. At most these and one chunk of the file are in memory.
        cut: True: truncate a line longer than LONGEST_LINE, to more than LONGEST_LINE bytes.

    Raises:
        UserError: the file is missing, is a folder, cannot be read, is truncated, is compressed in
            a way that COMPRESSED does not read, looks like UTF-16, or (without `cut`) has a line
            longer than LONGEST_LINE.
    """
    where = _display_name(name)
    count = 0
    try:
        with _open(name) as raw, _decompressed(raw, where) as stream:
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
    except FileNotFoundError:
        raise _missing(where) from None
    except IsADirectoryError:
        raise UserError(
            f"{where}: expected a text file, found a folder; name the file in it"
        ) from None
    except EOFError:
        kind = "gzip" if isinstance(stream, gzip.GzipFile) else "compressed"
        raise UserError(
            f"{where}:{count + 1}: expected more {kind} data, the file ends early; copy or download"
            " it again"
        ) from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise UserError(
            f"{where}:{count + 1}: expected gzip data, got {error}; decompress it or name it"
            " without .gz"
        ) from None
    except lzma.LZMAError if lzma else () as error:
        raise UserError(
            f"{where}:{count + 1}: expected xz data, got: {error}; copy or download it again"
        ) from None
    except OSError as error:
        raise UserError(
            f"{where}: expected a readable file, got {error.strerror or error}"
        ) from None


def read_raw(name: InputFile) -> Iterator[bytes]:
    """Yield the lines of a file one by one, as bytes without line feeds; argument and errors as in
    :func:`raw_batches`.
    """
    for lines in raw_batches(name, _LINES):
        yield from lines


def read_bytes(name: InputFile) -> Iterator[bytes]:
    """Like :func:`read_raw`, without a carriage return before the line feed.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "text")
        >>> _ = path.write_bytes(b"one\\r\\ntwo")
        >>> list(read_bytes(path))
        [b'one', b'two']
    """
    return (line.removesuffix(b"\r") for line in read_raw(name))


def read_lines(name: InputFile) -> Iterator[str]:
    """Like :func:`read_bytes`, as str; raises UserError at a line that is not UTF-8."""
    for number, line in enumerate(read_bytes(name), start=1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{_display_name(name)}:{number}: expected UTF-8, got byte"
                f" 0x{line[error.start]:02x} at column {error.start + 1}; convert the file, for"
                " example with iconv -f latin1 -t utf-8"
            ) from None


def read_batches(name: InputFile, size: int) -> Iterator[list[str]]:
    """Yield lists of 1 to `size` lines as str, as soon as they arrive; arguments and errors as in
    :func:`raw_batches`.

    Bytes that are not UTF-8 become U+FFFD; a warning at the end counts the affected lines.
    """
    replaced = 0
    for lines in raw_batches(name, size):
        texts = [line.removesuffix(b"\r").decode("utf-8", "replace") for line in lines]
        replaced += sum("\ufffd" in text and not is_utf8(line) for text, line in zip(texts, lines))
        yield texts
    if replaced:
        log.warning(
            "warning: %s: bytes that are not UTF-8 were replaced by U+FFFD in %d line(s)",
            _display_name(name),
            replaced,
        )


def read_all(name: InputFile) -> list[str]:
    """All lines of a file, as :func:`read_batches` yields them."""
    return [line for lines in read_batches(name, _LINES) for line in lines]


def count_lines(names: Iterable[InputFile]) -> int | None:
    """Total number of lines of several files; None if one of them cannot be read twice (standard
    input, a pipe).
    """
    if all(name is not None and name != "-" and os.path.isfile(name) for name in names):
        return sum(len(lines) for name in names for lines in raw_batches(name, _LINES))
    return None


def read_pairs(
    source: InputFile, target: InputFile, size: int
) -> Iterator[tuple[list[str], list[str]]]:
    """Iterate over (source lines, target lines) of two parallel files, 1 to `size` pairs as soon as
    they arrive.

    Raises:
        UsageError, UserError: at the call, those of :func:`check_pairs`; at the end, if one file is
            a pipe, unequal line counts.
    """
    check_pairs(source, target)
    return _pairs((source, target), size)


def check_pairs(source: InputFile, target: InputFile) -> None:
    """Check two parallel files before long work. The lines of a pipe, which cannot be read twice,
    are not counted.

    Raises:
        UsageError: both are standard input.
        UserError: one is missing or cannot be read, or the line counts differ.
    """
    files = (source, target)
    if all(name in (None, "-") for name in files):
        raise UsageError(
            "-: expected standard input for one text at most, got it for both; name a file for the"
            " other"
        )
    check_inputs(files)
    counts = [count_lines([name]) for name in files]
    if None not in counts:
        check_counts(files, counts)


def _pairs(files: Sequence[InputFile], size: int) -> Iterator[tuple[list[str], list[str]]]:
    readers = [read_batches(name, size) for name in files]
    waiting: list[list[str]] = [[], []]
    counts = [0, 0]
    while True:
        for side, reader in enumerate(readers):
            if not waiting[side]:
                waiting[side] = next(reader, [])
                counts[side] += len(waiting[side])
        ready = min(map(len, waiting))
        if not ready:
            break
        yield waiting[0][:ready], waiting[1][:ready]
        waiting = [lines[ready:] for lines in waiting]
    check_counts(files, [count + sum(map(len, reader)) for count, reader in zip(counts, readers)])


def check_inputs(names: Iterable[InputFile], hint: str = "check the path") -> None:
    """Raise UserError, which ends with the hint, if a file is missing; called before long work.
    Standard input and file descriptors are not checked.
    """
    for name in names:
        if name not in (None, "-") and not isinstance(name, int) and not os.path.exists(name):
            raise _missing(name, hint)


def _missing(name: InputFile, hint: str = "check the path") -> UserError:
    return UserError(f"{name}: expected a text file, found none; {hint}")


def _display_name(name: InputFile) -> str:
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
                    f"{where}: expected text, plain or compressed by gzip, xz or bzip2, got {kind};"
                    " decompress it first"
                )
            return reader(raw)
    return contextlib.nullcontext(raw)


def _checked_start(chunk: bytes, where: str) -> bytes:
    """The first bytes of a text, without its byte-order mark; raises UserError if it is UTF-16."""
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


def is_utf8(line: bytes) -> bool:
    """Whether bytes are valid UTF-8."""
    try:
        line.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


def check_counts(names: Sequence[object], counts: Sequence[int | None]) -> None:
    """Raise UserError if two parallel files have unequal line counts."""
    if counts[0] != counts[1]:
        raise UserError(
            f"expected as many lines in both files, got {counts[0]} in {names[0]} and {counts[1]}"
            f" in {names[1]}; their lines must correspond"
        )
