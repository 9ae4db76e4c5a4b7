"""Lines of text files, plain or compressed (gzip, xz, bzip2), streamed, with errors that name file
and line.

Its first bytes say how a file is compressed, whatever its name; so it may come on standard input,
too.

A line ends at a line feed, with or without a carriage return before it, and
nowhere else: U+2028, U+0085 and form feeds stay inside their line. A byte-order
mark at the start of a file is not part of its text.
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

try:
    import bz2
    import lzma
except ImportError:  # a Python that was built without them
    bz2 = lzma = None

from rnnsearch_tf.errors import UsageError, UserError

log = logging.getLogger("rnnsearch_tf")

CHUNK = 1 << 16
"""Bytes asked for at once: what a pipe holds."""

LONGEST_LINE = 1 << 20
"""Bytes of a line at most: what is longer is no text, or a file without line breaks that would fill
the memory.
"""

COMPRESSED = {
    "gzip": (b"\x1f\x8b", lambda raw: gzip.GzipFile(fileobj=raw)),
    "xz": (b"\xfd7zXZ\x00", lzma and lzma.LZMAFile),
    "bzip2": (b"BZh", bz2 and bz2.BZ2File),
    "zstd": (b"\x28\xb5\x2f\xfd", None),
    "zip": (b"PK\x03\x04", None),
}
"""{format: (its first bytes, what reads it; None: it has to be decompressed first)}."""

# what follows `BZh` and a digit: a block, or the end; a text may begin with `BZh`
_BZIP2_BLOCKS = (
    b"1AY&SY",
    b"\x17rE8P\x90",
)

_LINES = 1024  # lines handed on at once where the caller takes them one by one


def raw_batches(name, size, cut=False):
    """Yield lists of 1 to `size` lines as bytes, without their line feeds, as soon as they have
    arrived.

    Args:
        name: a file, plain or compressed; None or ``-`` for standard input; an int
            for a copy of its descriptor, which is closed at the end.
        size: most lines in a list. Memory holds no more than them and a chunk of the file.
        cut: bool; a line beyond LONGEST_LINE is handed on without its end, and is still longer than
            that.

    Raises:
        UserError: the file is missing, is a folder, cannot be read, is compressed and not whole, or
            in another way than COMPRESSED reads, looks like UTF-16, or has a line beyond
            LONGEST_LINE (without `cut`).
    """
    where = _shown(name)
    count = 0
    try:
        with _open(name) as raw, _decompressed(raw, where) as stream:
            # whole lines, the pieces of the next one and their bytes
            lines = []
            rest = []
            held = 0
            begun = False
            while chunk := stream.read1(CHUNK):
                if not begun:
                    chunk = _first(chunk, where)
                    begun = True
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
                if lines and not _more_waits(stream):
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


def read_raw(name):
    """Yield the lines of a file one by one, as bytes without line feeds; arguments and errors as of
    :func:`raw_batches`.
    """
    for lines in raw_batches(name, _LINES):
        yield from lines


def read_bytes(name):
    """As :func:`read_raw`, without a carriage return before a line feed.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "text")
        >>> _ = path.write_bytes(b"one\\r\\ntwo")
        >>> list(read_bytes(path))
        [b'one', b'two']
    """
    return (line.removesuffix(b"\r") for line in read_raw(name))


def read_lines(name):
    """As :func:`read_bytes`, as str; UserError at a line that is not UTF-8."""
    for number, line in enumerate(read_bytes(name), start=1):
        try:
            yield line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise UserError(
                f"{name}:{number}: expected UTF-8, got byte 0x{line[error.start]:02x} at column"
                f" {error.start + 1}; convert the file, for example with iconv -f latin1 -t utf-8"
            ) from None


def read_batches(name, size):
    """Yield lists of 1 to `size` lines as str, as soon as they have arrived; arguments and errors
    as of :func:`raw_batches`.

    Bytes that are not UTF-8 become U+FFFD; a warning at the end counts the lines concerned.
    """
    replaced = 0
    for lines in raw_batches(name, size):
        texts = [line.removesuffix(b"\r").decode("utf-8", "replace") for line in lines]
        replaced += sum("\ufffd" in text and not is_utf8(line) for text, line in zip(texts, lines))
        yield texts
    if replaced:
        log.warning(
            "warning: %s: bytes that are not UTF-8 were replaced by U+FFFD in %d line(s)",
            _shown(name),
            replaced,
        )


def read_all(name) -> list:
    """All lines of a file, as :func:`read_batches` gives them."""
    return [line for lines in read_batches(name, _LINES) for line in lines]


def count_lines(names) -> int | None:
    """Lines of several files together; None if one of them cannot be read twice (standard input, a
    pipe).
    """
    if all(name != "-" and os.path.isfile(name) for name in names):
        return sum(len(lines) for name in names for lines in raw_batches(name, _LINES))
    return None


def read_pairs(source, target, size):
    """Iterate over (source lines, target lines) of two parallel files, 1 to `size` pairs as soon as
    they have arrived.

    Raises:
        UsageError, UserError: now, what :func:`check_pairs` finds; at the end, unequal line counts
            where one is a pipe.
    """
    check_pairs(source, target)
    return _pairs((source, target), size)


def check_pairs(source, target):
    """Check two parallel files before long work. A pipe, which cannot be read twice, is not
    counted.

    Raises:
        UsageError: both are standard input.
        UserError: one is missing or cannot be read, or they have unequal line counts.
    """
    files = (source, target)
    if all(name in (None, "-") for name in files):
        raise UsageError(
            "-: expected standard input for one of both texts, got it for both; name a file for the"
            " other"
        )
    check_inputs(files)
    counts = [count_lines([name]) for name in files]
    if None not in counts:
        check_counts(files, counts)


def _pairs(files, size):
    readers = [read_batches(name, size) for name in files]
    waiting = [[], []]
    counts = [0, 0]
    while True:
        for side, reader in enumerate(readers):
            if not waiting[side]:
                waiting[side] = next(reader, [])
                counts[side] += len(waiting[side])
        ready = min(map(len, waiting))
        if not ready:
            break
        yield tuple(lines[:ready] for lines in waiting)
        waiting = [lines[ready:] for lines in waiting]
    check_counts(files, [count + sum(map(len, reader)) for count, reader in zip(counts, readers)])


def check_inputs(names, hint="check the path"):
    """Raise UserError, which ends with the hint, where one of them is missing; before long work.
    Standard input and descriptors always are.
    """
    for name in names:
        if name not in (None, "-") and not isinstance(name, int) and not os.path.exists(name):
            raise _missing(name, hint)


def _missing(name, hint="check the path"):
    return UserError(f"{name}: expected a text file, found none; {hint}")


def _shown(name):
    return "standard input" if name in (None, "-") or isinstance(name, int) else str(name)


def _open(name):
    if name in (None, "-"):
        return contextlib.nullcontext(sys.stdin.buffer)
    return open(name, "rb")


def _decompressed(raw, where):
    """The stream of what a file holds, by its first bytes; a file called .gz has to be gzip."""
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


def _first(chunk, where):
    """The first bytes of a text, without its byte-order mark."""
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


def _utf_16_without_mark(chunk):
    """Which UTF-16 the first bytes look like, by the zeros beside Latin letters; None: neither."""
    begin = chunk[:64]
    even, odd = (begin[first::2].count(0) for first in (0, 1))
    if min(even, odd) == 0 and max(even, odd) >= max(2, len(begin) // 4):
        return "utf-16-be" if even else "utf-16-le"
    return None


def _more_waits(stream) -> bool:
    """Whether a read would answer at once; a plain file always does."""
    try:
        descriptor = stream.fileno()
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return True
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):  # not a file of the system: all of it is in memory
        return True


def is_utf8(line) -> bool:
    """Whether bytes are text."""
    try:
        line.decode("utf-8")
        return True
    except UnicodeDecodeError:
        return False


def check_counts(names, counts):
    """Raise UserError where two parallel files have unequal line counts."""
    if counts[0] != counts[1]:
        raise UserError(
            f"expected as many lines in both files, got {counts[0]} in {names[0]} and {counts[1]}"
            f" in {names[1]}; line by line they belong together"
        )
