"""Atomic file writes: a file is written under another name, synced, then renamed."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pathlib
import shutil
import uuid

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.untrusted import refuse_link

PARTIAL = "partial-"
"""What the name of a file that is still being written begins with; its end is that of the final
name.
"""


@contextlib.contextmanager
def replacing(path, rename=None, alone=True):
    """The path of a file to be written in the block, which then takes the place of ``path`` in one
    move.

    A kill or a power failure at any moment leaves the old file or the new one. If the block fails,
    the old one stays.

    Args:
        path: of the file.
        rename: called with both paths when the new file is on the disk; None: os.replace.
        alone: False where another process may write the same file at the same time: the new one is
            called ``.NAME.`` and a suffix of its own until then.

    Raises:
        UserError: the file cannot be written, because the disk is full, say; or a link stands where
            the new one is to grow.

    Example:
        >>> import tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "names.txt")
        >>> with replacing(path) as partial:
        ...     _ = partial.write_text("one")
        >>> path.read_text(), partial.name, partial.exists()
        ('one', 'partial-names.txt', False)
    """
    path = pathlib.Path(path)
    partial = path.with_name(PARTIAL + path.name if alone else f".{path.name}.{uuid.uuid4().hex}")
    _make_way(partial)
    try:
        yield partial
        sync(partial)
        (rename or os.replace)(partial, path)
        sync(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


def _make_way(partial):
    """Remove what a killed process left of a file: written over, a second name of another file
    would change that file, too.
    """
    refuse_link(partial)
    try:
        partial.unlink(missing_ok=True)
    except OSError as error:
        raise cannot_write(partial, error) from None


@contextlib.contextmanager
def new_folder(path):
    """The path of a folder to be filled in the block, which then appears as ``path``, where there
    is nothing yet, in one move.

    Raises:
        UserError: it cannot be written.
    """
    path = pathlib.Path(path)
    partial = path.with_name(PARTIAL + path.name)
    try:
        shutil.rmtree(partial, ignore_errors=True)  # a killed process's
        partial.mkdir(parents=True)
        yield partial
        sync_all(partial)
        os.rename(partial, path)
        sync(path.parent)
    except OSError as error:
        raise cannot_write(path, error) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextlib.contextmanager
def locked(folder, name=None, waiting=None):
    """A folder, created if missing, that no other process has in such a block at the same
    time; gives whether it is locked.

    The lock ends with the process, however that ends. A file system without locks gives False.

    Args:
        folder: its path.
        name: what the message calls it; None: the path.
        waiting: called where another process has it, whose end is then waited for; None: that is an
            error.

    Raises:
        UserError: another process has it, or it cannot be made.
    """
    try:
        descriptor = os.open(make_folder(folder), os.O_RDONLY)
    except OSError as error:
        raise cannot_write(folder, error) from None
    try:
        yield _lock(descriptor, name or folder, waiting)
    finally:
        os.close(descriptor)


def _lock(descriptor, name, waiting):
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if waiting is None:
            raise UserError(
                f"{name}: expected to be the only process that writes it, got another that does;"
                " wait for its end"
            ) from None
        waiting()
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        return False
    return True


def make_folder(path) -> pathlib.Path:
    """Make a folder, and those above it, if missing.

    Raises:
        UserError: it cannot be made.
    """
    path = pathlib.Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{path}: expected a folder that can be made, got: {error.strerror}; check the path, or"
            " write elsewhere"
        ) from None
    return path


def sync_all(folder) -> None:
    """Wait until a folder and all that is in it are on the disk."""
    for path, _, files in os.walk(folder):
        for name in files:
            sync(os.path.join(path, name))
        sync(path)


def write_file(path, content: str | bytes) -> None:
    """Write a whole file; a string as UTF-8, its line breaks as they are. Errors as of
    :func:`replacing`.
    """
    with replacing(path) as partial:
        partial.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def sync(path) -> None:
    """Wait until a file, or the names in a folder, are on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class NamedFile:
    """A new binary file, for a ``with`` block; whatever cannot be written is a UserError that names
    it.
    """

    def __init__(self, path):
        self._path = path
        with naming(path):
            self._file = open(path, "wb")

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        with naming(self._path) if kind is None else contextlib.suppress(OSError):
            self._file.close()  # which writes what is left

    def write(self, data: bytes) -> None:
        with naming(self._path):
            self._file.write(data)


@contextlib.contextmanager
def naming(path):
    """Inside, what fails to be written is a UserError that names the path."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path, error) -> UserError:
    """The error to raise for an OSError met while a file was written."""
    reason = error.strerror or " ".join(str(error).split())[:200]
    full = error.errno in (errno.ENOSPC, errno.EDQUOT) or os.strerror(errno.ENOSPC) in str(error)
    hint = (
        "free some space there, or write elsewhere"
        if full
        else "check the folder and its permissions, or write elsewhere"
    )
    return UserError(f"{path}: expected a file that can be written, got: {reason}; {hint}")
