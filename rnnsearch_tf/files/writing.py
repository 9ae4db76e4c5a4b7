"""Write results: text line by line as it is produced, or a whole file atomically."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import pathlib
import re
import shutil
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import IO, Any, BinaryIO

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files import AnyPath, tables
from rnnsearch_tf.files.atomic import cannot_write, replacing, sync

OutputFile = AnyPath | None
"""A path, whose ending ``.gz`` selects compression; one of STANDARD_OUTPUT."""

Binary = BinaryIO | gzip.GzipFile
"""A stream of bytes to write."""

STANDARD_OUTPUT = None, "-", "/dev/stdout"
"""Names of standard output. Opening /dev/stdout would truncate a file that it is appended to."""

NOT_WRITTEN = (".bz2", ".xz", ".zst")
"""Endings of compressed files that can only be read."""


class Output:
    """A text stream for results: a file (compressed if its name ends in ``.gz``) or standard
    output.

    Every `write` flushes, so that a reader gets the lines at once; the file therefore
    has its final name from the start.

    Args:
        name: path; None or ``-`` for standard output.
        inputs: names of the input files, which must not be overwritten.

    Raises:
        UsageError: the file is one of the inputs.
        UserError: the file cannot be written.
    """

    def __init__(self, name: OutputFile = None, inputs: Iterable[Any] = ()) -> None:
        _check_name(name, inputs)
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


def check_output(name: OutputFile, inputs: Iterable[Any] = (), whole: bool = False) -> None:
    """Check before long work that its results can be written; write nothing. Errors as in
    :class:`Output`.

    Args:
        name, inputs: as of :class:`Output`.
        whole: whether :func:`whole_file` will write it.
    """
    if name in STANDARD_OUTPUT:
        return
    _check_name(name, inputs)
    path = pathlib.Path(name)
    written = [path] if path.exists() else []
    if not written or (whole and not _is_written_directly(path)):
        written.append(path.parent)  # gets a new file, under its name or a temporary one
    for refused, code in (
        (path.is_dir() or str(name).endswith("/"), errno.EISDIR),
        (not path.parent.is_dir(), errno.ENOENT),
        (not all(os.access(place, os.W_OK) for place in written), errno.EACCES),
    ):
        if refused:
            raise cannot_write(name, OSError(code, os.strerror(code)))


def check_outputs(names: Mapping[str, OutputFile], inputs: Iterable[Any] = ()) -> None:
    """Call :func:`check_output` for several files, which must differ; `names` is
    {"--output": path or None}.
    """
    places: dict[str, str] = {}
    for flag, name in names.items():
        check_output(name, inputs)
        if name in STANDARD_OUTPUT:
            continue
        other = places.setdefault(os.path.realpath(name), flag)
        if other != flag:
            raise UsageError(
                f"{other}, {flag}: expected two files, got {name} twice; name another for one of"
                " them"
            )


def check_own_file(flag: str, name: OutputFile, others: str) -> None:
    """Raise UsageError if an option names standard output, which has other lines (in words)."""
    if name is not None and name in STANDARD_OUTPUT:
        raise UsageError(
            f"{flag} {name}: expected a file, as standard output has {others}; name one"
        )


def _check_name(name: OutputFile, inputs: Iterable[Any]) -> None:
    """Refuse the name of an input or of standard input's file, and that of a compression which is
    not written.
    """
    ending = pathlib.Path(name or "").suffix
    if ending in NOT_WRITTEN:
        raise UsageError(
            f"{name}: expected a name that ends in .gz or of no compression, got {ending}; write"
            " to standard output and pipe it into the program that compresses"
        )
    if name not in STANDARD_OUTPUT and pathlib.Path(name).is_file():
        read: list[int | str] = [0]  # standard input; of a table's column: the table
        read += [tables.split(other)[0] for other in inputs if other not in STANDARD_OUTPUT]
        if any(os.path.exists(path) and os.path.samefile(name, path) for path in read):
            raise UsageError(
                f"{name}: expected another file than the input, got the same; write elsewhere"
            )


@contextlib.contextmanager
def whole_file(name: OutputFile) -> Iterator[Binary]:
    """Yield a binary stream whose file appears under its name only once everything is written.

    Args:
        name: path, compressed if it ends in ``.gz``; one of STANDARD_OUTPUT. An existing path that
            is not a plain file (a pipe, a link) is written to directly.

    Raises:
        UserError: the file cannot be written.
    """
    with whole_files([name]) as [stream]:
        yield stream


@contextlib.contextmanager
def whole_files(names: Iterable[OutputFile]) -> Iterator[list[Binary]]:
    """Like :func:`whole_file` for files that belong together: the first appears once all are
    written.
    """
    with contextlib.ExitStack() as replaced:
        partials: list[pathlib.Path] = []
        with contextlib.ExitStack() as written:
            yield [_begun(name, replaced, written, partials) for name in names]
        for partial in partials:
            sync(partial)


def _begun(
    name: OutputFile,
    replaced: contextlib.ExitStack,
    written: contextlib.ExitStack,
    partials: list[pathlib.Path],
) -> Binary:
    """A stream that `written` closes. If its file is to be replaced, `replaced` does it, and the
    temporary file joins `partials`.
    """
    if name in STANDARD_OUTPUT:
        return written.enter_context(_standard_output())
    path = pathlib.Path(name)
    written.enter_context(_named(path))
    if _is_written_directly(path):
        raw = written.enter_context(open(path, "wb"))
    else:
        partials.append(replaced.enter_context(replacing(path, one_writer=False)))
        raw = written.enter_context(open(partials[-1], "wb"))
        if path.exists():
            shutil.copymode(path, partials[-1])
    if path.name.endswith(".gz"):
        # no name and no time in the gzip header, so that equal results give equal bytes
        packed = gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)
        return written.enter_context(packed)
    return raw


@contextlib.contextmanager
def _standard_output() -> Iterator[BinaryIO]:
    yield sys.stdout.buffer
    sys.stdout.buffer.flush()


def _is_written_directly(path: pathlib.Path) -> bool:
    """Whether :func:`whole_file` writes to what is there: a pipe, or the target of a link."""
    return path.exists() and (path.is_symlink() or not path.is_file())


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
