"""Atomic file writes: write to a temporary name, fsync, rename."""

from __future__ import annotations

import contextlib
import errno
import os
import pathlib
import shutil
from collections.abc import Iterator

from rnnsearch_tf.errors import UserError, one_line
from rnnsearch_tf.files import AnyPath

PARTIAL = "partial-"
"""Prefix of the names of temporary files and folders."""


@contextlib.contextmanager
def replacing(path: AnyPath) -> Iterator[pathlib.Path]:
    """Yield a temporary path to write to; after the block, that file replaces ``path`` atomically.

    A kill or a power failure at any moment leaves either the old or the new file. If the block
    fails, the old file stays.

    Raises:
        UserError: the file cannot be written, for example because the disk is full.
    """
    path = pathlib.Path(path)
    partial = path.with_name(PARTIAL + path.name)
    try:
        with naming(path):
            yield partial
            _sync(partial)
            os.replace(partial, path)
            _sync(path.parent)
    finally:
        with contextlib.suppress(OSError):
            partial.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(path: AnyPath) -> Iterator[pathlib.Path]:
    """Yield a temporary folder to fill; after the block, it is renamed to ``path`` atomically.

    Raises:
        UserError: the folder has files, or cannot be written.
    """
    path = pathlib.Path(os.path.realpath(path))
    partial = path.with_name(PARTIAL + path.name)
    try:
        with naming(path):
            if path.exists() and not (path.is_dir() and not any(path.iterdir())):
                raise UserError(
                    f"{path}: expected a new or empty folder, got files; choose another"
                )
            shutil.rmtree(partial, ignore_errors=True)  # left by a killed process
            partial.mkdir(parents=True)
            yield partial
            for folder, _, files in os.walk(partial):
                for name in (*files, "."):
                    _sync(os.path.join(folder, name))
            os.rename(partial, path)
            _sync(path.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def make_folder(path: AnyPath) -> pathlib.Path:
    """Create a folder and its parents if missing; UserError if it cannot be created."""
    path = pathlib.Path(path)
    with naming(path):
        path.mkdir(parents=True, exist_ok=True)
    return path


def write_file(path: AnyPath, content: str | bytes) -> None:
    """Write a whole file atomically; a string as UTF-8 with unchanged line breaks. Raises the
    errors of :func:`replacing`.
    """
    with replacing(path) as partial:
        partial.write_bytes(content.encode("utf-8") if isinstance(content, str) else content)


def _sync(path: AnyPath) -> None:
    """Call fsync on a file, or on the entries of a folder."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


@contextlib.contextmanager
def naming(path: AnyPath) -> Iterator[None]:
    """Turn an OSError inside the block into a UserError that names the path; not that of a pipe
    whose reader is gone.
    """
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        reason = error.strerror or one_line(error)
        no_room = os.strerror(errno.ENOSPC)
        full = error.errno in (errno.ENOSPC, errno.EDQUOT) or no_room in str(error)
        hint = "free some space there" if full else "check the folder and its permissions"
        raise UserError(
            f"{path}: expected a place that can be written, got: {reason}; {hint}, or write"
            " elsewhere"
        ) from None
