"""Results out: text line by line as it is made, or a whole file or none."""

from __future__ import annotations

import contextlib
import gzip
import os
import sys
import tempfile

from rnnsearch_tf.files import cannot_write, sync


class Output:
    """Where results go: a file (``.gz`` compressed by name) or standard output.

    A `write` ends with a flush, so that a reader has the lines at once: such a file grows under its own name.

    Raises:
        UserError: the file cannot be written.
    """

    def __init__(self, name=None):
        self._stack = contextlib.ExitStack()
        self._name = name
        self._stream = sys.stdout if name in (None, "-") else self._stack.enter_context(_open_text(name))

    def write(self, lines, flush=True):
        """Write one line for each string; a line break inside one becomes a space."""
        with self._named():
            for line in lines:
                self._stream.write(" ".join(line.splitlines()) if _breaks(line) else line)
                self._stream.write("\n")
        if flush:
            self.flush()

    def flush(self):
        with self._named():
            self._stream.flush()

    @contextlib.contextmanager
    def _named(self):
        """Inside, an error of writing names the file."""
        try:
            yield
        except OSError as error:
            if self._stream is sys.stdout:
                raise
            raise cannot_write(self._name, error) from None

    def __enter__(self):
        return self

    def __exit__(self, *error):
        return self._stack.__exit__(*error)


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
                raise cannot_write(path, error) from None
            # No name and no time inside: the same results make the same bytes.
            packed = path.endswith(".gz")
            yield stack.enter_context(gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0)) if packed else raw
        if partial:
            sync(partial)
            os.replace(partial, path)
            partial = None
            sync(os.path.dirname(path) or ".")
    finally:
        if partial:
            os.unlink(partial)


def _breaks(line) -> bool:
    return "\n" in line or "\r" in line


def _open_text(name):
    try:
        return (gzip.open if str(name).endswith(".gz") else open)(name, "wt", encoding="utf-8", newline="\n")
    except OSError as error:
        raise cannot_write(name, error) from None


def _usual_mode(path) -> int:
    """The permissions of the file that is replaced, or what a new file gets."""
    if os.path.exists(path):
        return os.stat(path).st_mode & 0o777
    mask = os.umask(0)
    os.umask(mask)
    return 0o666 & ~mask
