"""Versions of a served model: numbered folders that are complete when they appear, and then never
change.

A server polls the folder above and takes any number it finds there: the work is done under a
name that is none, and a rename, which happens at once or not at all, publishes it.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import pathlib
import shutil

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import PARTIAL, locked, new_folder
from rnnsearch_tf.runs.folder import Run

log = logging.getLogger("rnnsearch_tf")

LARGEST_VERSION = 2**63 - 1
"""Servers hold versions in an int64."""


def exported_version(path) -> pathlib.Path | None:
    """The version's folder, if the path is that of an exported model (DIR/N, or DIR for the highest
    N); else None.
    """
    path = pathlib.Path(path)
    if (path / "saved_model.pb").exists():
        return path
    versions = {
        number: folder
        for number, folder in _versions(path).items()
        if (folder / "saved_model.pb").exists()
    }
    return versions[max(versions)] if versions else None


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
        raise UserError(
            f"{output}: expected a folder for versions of a served model, got a RUN; name another,"
            f" such as served/{output.name}"
        )
    highest = max(_versions(output), default=0)
    if version is None and highest == LARGEST_VERSION:
        raise UserError(
            f"{output}: expected a next version, got none after {LARGEST_VERSION}; choose a smaller"
            " one with --version"
        )
    version = highest + 1 if version is None else version
    if not 1 <= version <= LARGEST_VERSION:
        raise UserError(
            f"version: expected a whole number from 1 to {LARGEST_VERSION}, got {version}"
        )
    target = output / str(version)
    _refuse_existing(target)
    return target


@contextlib.contextmanager
def new_version(output, version=None):
    """(OUTPUT/N, the path of a folder to be filled in the block, which then appears as OUTPUT/N in
    one move); removed if the block fails.

    Exports of the same model wait for one another: each has the model's folder locked as long as it
    works. What stands there unfinished once the lock is taken is a killed process's, and is
    removed.

    Args:
        output, version: as of :func:`version_folder`, which is asked when the lock is taken.

    Raises:
        UserError: it cannot be written, or there is such a version by then, or in the end.
    """
    waiting = functools.partial(
        log.warning, "%s: another export is writing there; waiting for its end", output
    )
    with locked(output, waiting=waiting) as alone:
        for left in pathlib.Path(output).glob(f"{PARTIAL}*") if alone else ():
            shutil.rmtree(left, ignore_errors=True)  # it may be another user's
        target = version_folder(output, version)
        with new_folder(target) as folder:
            yield target, folder
            _refuse_existing(target)


def _versions(output) -> dict:
    """{number: folder} of the versions there, as a server sees them: 007 is 7, and what is beyond
    an int64 is none.
    """
    numbered = [
        folder for folder in output.glob("*") if folder.name.isascii() and folder.name.isdecimal()
    ]
    return {int(folder.name): folder for folder in numbered if int(folder.name) <= LARGEST_VERSION}


def _refuse_existing(target):
    if target.exists() or int(target.name) in _versions(target.parent):
        raise UserError(
            f"{target}: expected a version that is not there yet, got one that is; versions are"
            " never overwritten"
        )
