"""Lines in and lines out, as text verbs read and write them.

Input is streamed: what has arrived on a pipe or a terminal is handed on at
once, at most a batch at a time, so that a finished line of input becomes a
finished line of output. Only the newline character ends a line.
"""

from __future__ import annotations

import contextlib
import gzip
import logging
import os
import select
import stat
import sys
import zlib

from rnnsearch_tf.errors import UserError

log = logging.getLogger("rnnsearch_tf")

CHUNK = 1 << 16  # bytes asked for at once: what a pipe holds


def read_batches(name, size):
    """Yield lists of 1 to `size` lines, as soon as they have arrived.

    Args:
        name: a file, ``.gz`` read by name; None or ``-`` for standard input; an int
            for a copy of its descriptor, which is closed at the end.
        size: most lines in a list.

    Yields:
        list[str]: lines in order, without their line ends. Bytes that are not
        UTF-8 become U+FFFD; a warning at the end counts the lines concerned.

    Raises:
        UserError: the file is missing, is not readable, or is not gzip.
    """
    where = "standard input" if name in (None, "-") or isinstance(name, int) else str(name)
    replaced = 0
    first = True
    with _open_bytes(name) as stream, _reading(where):
        for lines in _line_batches(stream, size):
            texts = [line.removesuffix(b"\r").decode("utf-8", "replace") for line in lines]
            replaced += sum(_is_damaged(line) for line in lines)
            if first:
                texts[0] = texts[0].removeprefix("\ufeff")  # a byte order mark is no text
                first = False
            yield texts
    if replaced:
        log.warning("warning: %s: bytes that are not UTF-8 were replaced by U+FFFD in %d line(s)", where, replaced)


def read_lines(name) -> list:
    """All lines of a file."""
    return [line for lines in read_batches(name, 1000) for line in lines]


def read_pairs(source, target, size):
    """Yield (source lines, target lines) of two parallel files, 1 to `size` pairs at a time.

    Raises:
        UserError: the files have unequal line counts; the message has both.
    """
    files = (source, target)
    if all(os.path.isfile(name) for name in files):  # a pipe cannot be read twice
        _check_counts(files, [_count_lines(name) for name in files])
    readers = [read_batches(name, size) for name in files]
    waiting, counts, ended = ([], []), [0, 0], [False, False]
    while not all(ended):
        for side, reader in enumerate(readers):
            while not ended[side] and len(waiting[side]) < size:
                lines = next(reader, None)
                ended[side] = lines is None
                waiting[side].extend(lines or [])
                counts[side] += len(lines or [])
        ready = min(map(len, waiting))
        if ready:
            yield waiting[0][:ready], waiting[1][:ready]
            for lines in waiting:
                del lines[:ready]
        elif any(ended):  # one side has ended: only the count of the other is still wanted
            for side, reader in enumerate(readers):
                counts[side] += sum(map(len, reader))
            break
    _check_counts(files, counts)


class Output:
    """Where results go: a file (``.gz`` compressed by name) or standard output.

    A `write` ends with a flush, so that a reader has the lines at once.

    Raises:
        UserError: the file cannot be written.
    """

    def __init__(self, name=None):
        self._stack = contextlib.ExitStack()
        self._stream = sys.stdout if name in (None, "-") else self._stack.enter_context(_open_to_write(name))

    def write(self, lines, flush=True):
        """Write one line for each string; a line break inside one becomes a space."""
        for line in lines:
            self._stream.write(" ".join(line.splitlines()) if _breaks(line) else line)
            self._stream.write("\n")
        if flush:
            self.flush()

    def flush(self):
        self._stream.flush()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return self._stack.__exit__(*error)


def _breaks(line) -> bool:
    return "\n" in line or "\r" in line


def _open_to_write(name):
    try:
        if str(name).endswith(".gz"):
            return gzip.open(name, "wt", encoding="utf-8", newline="\n")
        return open(name, "w", encoding="utf-8", newline="\n")
    except OSError as error:
        raise UserError(f"{name}: expected a file that can be written, got: {error.strerror}") from None


def _open_bytes(name):
    if name in (None, "-"):
        return contextlib.nullcontext(sys.stdin.buffer)
    try:
        return gzip.open(name, "rb") if str(name).endswith(".gz") else open(name, "rb")
    except OSError as error:
        raise UserError(f"{name}: expected a readable text file, got: {error.strerror}; check the path") from None


@contextlib.contextmanager
def _reading(where):
    try:
        yield
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise UserError(f"{where}: expected a whole gzip file, as its name says, got: {error}") from None


def _line_batches(stream, size):
    """Batches of whole lines (bytes): full ones, or smaller when no more input is waiting."""
    lines, rest = [], b""
    while chunk := stream.read1(CHUNK):
        *complete, rest = (rest + chunk).split(b"\n")
        lines += complete
        while len(lines) >= size:
            yield lines[:size]
            del lines[:size]
        if lines and not _more_waits(stream):
            yield lines
            lines = []
    if rest:
        lines.append(rest)
    if lines:
        yield lines


def _more_waits(stream) -> bool:
    """Whether a read would answer at once; a plain file always does."""
    try:
        descriptor = stream.fileno()
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return True
        return bool(select.select([descriptor], [], [], 0)[0])
    except (OSError, ValueError):  # not a file of the system: all of it is in memory
        return True


def _is_damaged(line) -> bool:
    try:
        line.decode("utf-8")
        return False
    except UnicodeDecodeError:
        return True


def _count_lines(name) -> int:
    with _open_bytes(name) as stream, _reading(name):
        return sum(map(len, _line_batches(stream, 1000)))


def _check_counts(names, counts):
    if counts[0] != counts[1]:
        raise UserError(
            f"expected as many lines in both files, got {counts[0]} in {names[0]} and {counts[1]} in {names[1]}"
        )
