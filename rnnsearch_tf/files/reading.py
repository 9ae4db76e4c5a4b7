"""Read the lines of text files and of parallel texts; errors name file and line.

A text is a file, plain or .gz, see :mod:`~rnnsearch_tf.files.streams`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Iterable, Iterator, Sequence

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.streams import InputFile, display_name, line_batches, missing

log = logging.getLogger("rnnsearch_tf")

_LINES = 1024  # lines read at once if the caller takes them one by one


def read_raw(name: InputFile) -> Iterator[bytes]:
    """Yield the lines of a file one by one, as bytes without line feeds; argument and errors as in
    :func:`line_batches`.
    """
    for lines in line_batches(name, _LINES):
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
                f"{display_name(name)}:{number}: expected UTF-8, got byte"
                f" 0x{line[error.start]:02x} at column {error.start + 1}; convert the file, for"
                " example with iconv -f latin1 -t utf-8"
            ) from None


def read_batches(name: InputFile, size: int) -> Iterator[list[str]]:
    """Yield lists of 1 to `size` lines as str, as soon as they arrive; arguments and errors as in
    :func:`line_batches`.

    Bytes that are not UTF-8 become U+FFFD; a warning at the end counts the affected lines.
    """
    replaced = 0
    for lines in line_batches(name, size):
        texts = [line.removesuffix(b"\r").decode("utf-8", "replace") for line in lines]
        replaced += sum("\ufffd" in text and not is_utf8(line) for text, line in zip(texts, lines))
        yield texts
    if replaced:
        log.warning(
            "warning: %s: bytes that are not UTF-8 were replaced by U+FFFD in %d line(s)",
            display_name(name),
            replaced,
        )


def read_all(name: InputFile) -> list[str]:
    """All lines of a file, as :func:`read_batches` yields them."""
    return [line for lines in read_batches(name, _LINES) for line in lines]


def count_lines(names: Iterable[InputFile]) -> int | None:
    """Total number of lines of several files; None if one of them cannot be read twice (standard
    input, a pipe).
    """
    names = list(names)
    if all(map(_can_be_read_twice, names)):
        return sum(len(lines) for name in names for lines in line_batches(name, _LINES))
    return None


def _can_be_read_twice(name: InputFile) -> bool:
    if name is None or name == "-" or isinstance(name, int):
        return False
    return os.path.isfile(name)


def read_pairs(
    source: InputFile, target: InputFile, size: int
) -> Iterator[tuple[list[str], list[str]]]:
    """Iterate over (source lines, target lines) of two parallel files, 1 to `size` pairs as soon as
    they arrive.

    Raises:
        UserError: a file is missing or cannot be read; at the end, unequal line counts.
    """
    files = (source, target)
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
            raise missing(name, hint)


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
