"""Results out: text line by line as it is made, or a whole file or none."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
import pathlib
import re
import shutil
import sys

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files.atomic import cannot_write, replacing

_STANDARD_OUTPUT = None, "-"


class Output:
    """Where results go: a file (``.gz`` compressed by name) or standard output.

    A `write` ends with a flush, so that a reader has the lines at once: such a file grows under its
    own name.

    Args:
        name: path; None or ``-`` for standard output.
        inputs: names of the files that are read meanwhile.

    Raises:
        UsageError: the file is one of the inputs.
        UserError: the file cannot be written.
    """

    def __init__(self, name=None, inputs=()):
        _refuse_inputs(name, inputs)
        self._name = name
        self._stream = sys.stdout
        if name not in _STANDARD_OUTPUT:
            with _named(name):
                self._stream = (gzip.open if str(name).endswith(".gz") else open)(
                    name, "wt", encoding="utf-8", newline="\n"
                )

    def write(self, lines, flush=True):
        """Write one line for each string; a line break inside one becomes a space."""
        with _named(self._name):
            for line in lines:
                self._stream.write(re.sub("[\r\n]+", " ", line))
                self._stream.write("\n")
        if flush:
            self.flush()

    def flush(self):
        with _named(self._name):
            self._stream.flush()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        if self._name not in _STANDARD_OUTPUT:
            with _named(self._name):  # what a full disk did not take is tried again
                self._stream.close()


def check_output(name, inputs=()) -> None:
    """Raise before long work what writing its results would raise after it; nothing is written.
    Arguments and errors as of :class:`Output`.
    """
    if name in _STANDARD_OUTPUT:
        return
    _refuse_inputs(name, inputs)
    path = pathlib.Path(name)
    for refused, code in (
        (path.is_dir(), errno.EISDIR),
        (not path.parent.is_dir(), errno.ENOENT),
        (not os.access(path if path.exists() else path.parent, os.W_OK), errno.EACCES),
    ):
        if refused:
            raise cannot_write(name, OSError(code, os.strerror(code)))


def check_outputs(names, inputs=()) -> None:
    """:func:`check_output` of several files, which have to be different ones; names by flag,
    {"--output": path or None}.
    """
    places = {}
    for flag, name in names.items():
        check_output(name, inputs)
        if name in _STANDARD_OUTPUT:
            continue
        other = places.setdefault(os.path.realpath(name), flag)
        if other != flag:
            raise UsageError(
                f"{other}, {flag}: expected two files, got {name} twice; name another for one of"
                " them"
            )


def _refuse_inputs(name, inputs):
    if name not in _STANDARD_OUTPUT and pathlib.Path(name).is_file():
        for other in inputs:
            if (
                other not in _STANDARD_OUTPUT
                and os.path.exists(other)
                and os.path.samefile(name, other)
            ):
                raise UsageError(
                    f"{name}: expected another file than the one that is read, got the same; write"
                    " elsewhere"
                )


@contextlib.contextmanager
def whole_file(name):
    """A binary stream whose file appears under its name only once everything is written.

    Args:
        name: path, ``.gz`` compressed by name; None or ``-`` for standard output. What is
            there and no plain file (a pipe, /dev/stdout) is written to as it is.

    Raises:
        UserError: the file cannot be written.
    """
    if name in _STANDARD_OUTPUT:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = pathlib.Path(name)
    with _named(path), contextlib.ExitStack() as stack:
        if path.exists() and not path.is_file():
            raw = stack.enter_context(open(path, "wb"))
        else:
            partial = stack.enter_context(replacing(path, alone=False))
            raw = stack.enter_context(open(partial, "wb"))
            if path.exists():
                shutil.copymode(path, partial)
        # No name and no time inside: the same results make the same bytes.
        packed = path.name.endswith(".gz")
        yield (
            stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0))
            if packed
            else raw
        )


@contextlib.contextmanager
def _named(name):
    """Inside, an error of writing names the file, if it is one."""
    try:
        yield
    except OSError as error:
        # a pipe by name: its reader has gone as that of standard output
        if name in _STANDARD_OUTPUT or isinstance(error, BrokenPipeError):
            raise
        raise cannot_write(name, error) from None
