"""Versions of a served model: numbered folders that are complete when they appear, and then never change.

A server polls the folder above and takes any number it finds there: the work is done under a
name that is none, and a rename, which happens at once or not at all, publishes it.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import pathlib
import shutil
import tempfile

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import sync, sync_all
from rnnsearch_tf.run import Run

LARGEST_VERSION = 2**63 - 1
"""Servers hold versions in an int64."""

UNFINISHED = ".exporting-"


def exported_version(path) -> pathlib.Path | None:
    """The version's folder, if the path is that of an exported model (DIR/N, or DIR for the highest N); else None."""
    path = pathlib.Path(path)
    if (path / "saved_model.pb").exists():
        return path
    versions = [folder for folder in path.glob("*") if folder.name.isdigit() and (folder / "saved_model.pb").exists()]
    return max(versions, key=lambda folder: int(folder.name), default=None)


def version_folder(output, version=None) -> pathlib.Path:
    """OUTPUT/N, which does not exist yet.

    Args:
        output: path of the model's folder.
        version: int from 1 to LARGEST_VERSION; None takes the one after the highest there.

    Raises:
        UserError: no such number, or a version that is there.
    """
    output = pathlib.Path(output)
    if output.exists() and not output.is_dir():
        raise UserError(f"{output}: expected a folder to put versions in, got a file; name another")
    if Run(output).config.exists():
        raise UserError(f"{output}: expected a folder for versions of a served model, got a RUN; name another, such as served/{output.name}")
    highest = max(_numbers(output), default=0)
    if version is None and highest == LARGEST_VERSION:
        raise UserError(f"{output}: expected a next version, got none after {LARGEST_VERSION}; choose a smaller one with --version")
    version = highest + 1 if version is None else version
    if not 1 <= version <= LARGEST_VERSION:
        raise UserError(f"version: expected a whole number from 1 to {LARGEST_VERSION}, got {version}")
    target = output / str(version)
    _refuse_existing(target)
    return target


@contextlib.contextmanager
def beside(target):
    """A folder on the same file system whose name no server takes for a version; removed unless it was published.

    It is locked as long as this process lives. What is there without a lock is a killed process's, and is removed first.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    _remove_leftovers(target.parent)
    folder, descriptor = _locked_folder(target)
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(descriptor)


def publish(folder, target):
    """Give a finished folder its number, once all of it is on the disk: after a power failure it is whole or not there."""
    folder.chmod(0o755)  # mkdtemp's is for its owner alone; the server may be another user
    sync_all(folder)
    _refuse_existing(target)
    os.rename(folder, target)
    sync(target.parent)


def _numbers(output) -> list:
    """The versions there, as a server sees them: 007 is 7, and what is beyond an int64 is none."""
    names = [path.name for path in output.glob("*")] if output.exists() else []
    return [int(name) for name in names if name.isascii() and name.isdecimal() and int(name) <= LARGEST_VERSION]


def _refuse_existing(target):
    if target.exists() or int(target.name) in _numbers(target.parent):
        raise UserError(f"{target}: expected a version that is not there yet, got one that is; versions are never overwritten")


def _locked_folder(target):
    """(path of a new folder, descriptor that holds its lock)."""
    while True:
        folder = pathlib.Path(tempfile.mkdtemp(prefix=f"{UNFINISHED}{target.name}-", dir=target.parent))
        with contextlib.suppress(FileNotFoundError):
            descriptor = os.open(folder, os.O_RDONLY)
            with contextlib.suppress(OSError):  # a file system without locks: then nothing there is ever taken for a leftover
                fcntl.flock(descriptor, fcntl.LOCK_EX)
            if folder.exists():  # else another export has found it before the lock
                return folder, descriptor
            os.close(descriptor)


def _remove_leftovers(output):
    for folder in output.glob(f"{UNFINISHED}*"):
        with contextlib.suppress(OSError):  # gone meanwhile, locked, or another user's
            descriptor = os.open(folder, os.O_RDONLY)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                shutil.rmtree(folder, ignore_errors=True)
            finally:
                os.close(descriptor)
