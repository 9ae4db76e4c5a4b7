"""Bytes out, whole or not at all."""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
import tempfile

from rnnsearch_tf.errors import UserError


@contextlib.contextmanager
def whole_file(name):
    """A binary stream whose file appears under its name only once everything is written.

    Args:
        name: path, ``.gz`` compressed by name; None or ``-`` for standard output. What is
            there and no plain file (a pipe, /dev/stdout) is written to as it is.

    Raises:
        UserError: the file cannot be written.
    """
    if name in (None, "-"):
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    path = os.fspath(name)
    replace = os.path.isfile(path) or not os.path.exists(path)
    partial = None
    try:
        with contextlib.ExitStack() as stack:
            try:
                if replace:
                    handle, partial = tempfile.mkstemp(prefix=f".{os.path.basename(path)}.", dir=os.path.dirname(path) or ".")
                    raw = stack.enter_context(os.fdopen(handle, "wb"))
                    os.fchmod(handle, _usual_mode(path))
                else:
                    raw = stack.enter_context(open(path, "wb"))
            except OSError as error:
                raise UserError(f"{path}: expected a file that can be written, got: {error.strerror}") from None
            # No name and no time inside: the same results make the same bytes.
            packed = path.endswith(".gz")
            yield stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)) if packed else raw
        if partial:
            os.replace(partial, path)
            partial = None
    finally:
        if partial:
            os.unlink(partial)


def _usual_mode(path) -> int:
    """The permissions of the file that is replaced, or what a new file gets."""
    if os.path.exists(path):
        return os.stat(path).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
