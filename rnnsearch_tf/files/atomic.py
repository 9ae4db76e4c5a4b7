"""Atomic file writes: write to a temporary name, fsync, rename."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import os
import pathlib
import shutil
from collections.abc import Callable, Iterator
from typing import Any

from rnnsearch_tf.errors import UserError, one_line
from rnnsearch_tf.files import AnyPath

PARTIAL = "partial-"
"""Prefix of the names of temporary files and folders."""


@contextlib.contextmanager
def replacing(path: AnyPath) -> Iterator[pathlib.Path]:
    """Yield a temporary path to write to; after the block, that file replaces ``path`` atomically.

    A kill or a power failure at any moment leaves either the old or the new file. If the block
    fails, the old file stays.

    Args:
        path: the file to replace.

    Raises:
        UserError: the file cannot be written, for example because the disk is full.

    Example:
        >>> import tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "names.txt")
        >>> with replacing(path) as partial:
        ...     _ = partial.write_text("one")
        >>> path.read_text(), partial.name, partial.exists()
        ('one', 'partial-names.txt', False)
    """
    path = pathlib.Path(path)
    partial = path.with_name(PARTIAL + path.name)
    try:
        with naming(path):
            yield partial
            sync(partial)
            os.replace(partial, path)
            sync(path.parent)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(path: AnyPath) -> Iterator[pathlib.Path]:
    """Yield a temporary folder to fill; after the block, it is renamed to ``path`` atomically.
    ``path`` must not exist yet.

    Args:
        path: the new folder.

    Raises:
        UserError: it cannot be written.
    """
    path = pathlib.Path(path)
    partial = path.with_name(PARTIAL + path.name)
    try:
        with naming(path):
            shutil.rmtree(partial, ignore_errors=True)  # left by a killed process
            partial.mkdir(parents=True)
            yield partial
            sync_all(partial)
            os.rename(partial, path)
            sync(path.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


@contextlib.contextmanager
def locked(
    folder: AnyPath, name: object = None, waiting: Callable[[], object] | None = None
) -> Iterator[bool]:
    """Hold an exclusive lock on a folder, which is created if missing. Yield whether the lock was
    obtained: False on a file system without locks.

    The operating system releases the lock when the process ends, even by a kill.

    Args:
        folder: its path.
        name: how messages name it; None: the path.
        waiting: called before waiting for another process that holds the lock; None: a held lock is
            an error.

    Raises:
        UserError: another process holds the lock, or the folder cannot be created.
    """
    with naming(folder):
        descriptor = os.open(make_folder(folder), os.O_RDONLY)
    try:
        yield _lock(descriptor, name or folder, waiting)
    finally:
        os.close(descriptor)


def _lock(descriptor: int, name: object, waiting: Callable[[], object] | None) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        if waiting is None:
            raise UserError(
                f"{name}: expected to be the only process that writes it, got another one; wait"
                " until it ends"
            ) from None
        waiting()
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    except OSError:
        return False
    return True


def make_folder(path: AnyPath) -> pathlib.Path:
    """Create a folder and its parents if missing; UserError if it cannot be created."""
    path = pathlib.Path(path)
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(
            f"{path}: expected a folder that can be made, got: {error.strerror}; check the path, or"
            " write elsewhere"
        ) from None
    return path


def sync_all(folder: AnyPath) -> None:
    """Call fsync on a folder and on everything in it."""
    for path, _, files in os.walk(folder):
        for name in files:
            sync(os.path.join(path, name))
        sync(path)


def write_file(path: AnyPath, content: str | bytes) -> None:
    """Write a whole file atomically; a string as UTF-8 with unchanged line breaks. Raises the
    errors of :func:`replacing`.
    """
    with replacing(path) as partial:
        partial.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def sync(path: AnyPath) -> None:
    """Call fsync on a file, or on the entries of a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class NamedFile:
    """A new binary file for a ``with`` block; a failed write is a UserError that names the file."""

    def __init__(self, path: AnyPath) -> None:
        self._path = path
        with naming(path):
            self._file = open(path, "wb")

    def __enter__(self) -> NamedFile:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: Any) -> None:
        with naming(self._path) if kind is None else contextlib.suppress(OSError):
            self._file.close()  # writes what is still buffered

    def write(self, data: bytes) -> None:
        with naming(self._path):
            self._file.write(data)


@contextlib.contextmanager
def naming(path: AnyPath) -> Iterator[None]:
    """Turn an OSError inside the block into a UserError that names the path."""
    try:
        yield
    except OSError as error:
        raise cannot_write(path, error) from None


def cannot_write(path: AnyPath, error: OSError) -> UserError:
    """The UserError to raise for an OSError during a write."""
    reason = error.strerror or one_line(error)
    full = error.errno in (errno.ENOSPC, errno.EDQUOT) or os.strerror(errno.ENOSPC) in str(error)
    hint = "free some space there" if full else "check the folder and its permissions"
    expected = "expected a file that can be written"
    return UserError(f"{path}: {expected}, got: {reason}; {hint}, or write elsewhere")
