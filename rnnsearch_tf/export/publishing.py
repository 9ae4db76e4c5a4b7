"""Versions of a served model: numbered folders, complete when they appear, which never change.

A server polls the model's folder and loads any number that it finds there. So a version is written
under another name, and published by an atomic rename.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import os
import pathlib
import shutil
from collections.abc import Iterator

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import PARTIAL, locked, new_folder
from rnnsearch_tf.runs.folder import LITERT_FILE, ONNX_FILE, Run

log = logging.getLogger("rnnsearch_tf")

LARGEST_VERSION = 2**63 - 1
"""Servers store versions as int64."""


def exported_version(path: str | os.PathLike[str]) -> pathlib.Path | None:
    """The folder of a version of an exported model, for DIR/N or DIR (the highest N); None for any
    other path.
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


def version_folder(
    output: str | os.PathLike[str], version: int | None = None, graph: bool = False
) -> pathlib.Path:
    """The path OUTPUT/N of a new version, which does not exist yet.

    Args:
        output: path of the model's folder.
        version: int from 1 to LARGEST_VERSION; None takes the one after the highest there.
        graph: whether it is a file with a graph (ONNX, LiteRT) rather than a SavedModel: a server
            takes the highest version and could not load the other kind.

    Raises:
        UserError: the number is out of range, the version exists, or the versions there are of the
            other kind.
    """
    output = pathlib.Path(output)
    if output.exists() and not output.is_dir():
        raise UserError(f"{output}: expected a folder for versions, got a file; name another")
    if Run(output).config.exists():
        raise UserError(
            f"{output}: expected a folder for versions of a served model, got a RUN; name another,"
            f" such as served/{output.resolve().name}"
        )
    others = ["saved_model.pb"] if graph else [ONNX_FILE, LITERT_FILE]
    for folder in _versions(output).values():
        if found := [name for name in others if (folder / name).exists()]:
            raise UserError(
                f"{output}: expected versions of the format to be exported, got {folder.name} with"
                f" {found[0]}; name another folder for each format"
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
            f"version: expected a whole number from 1 to {LARGEST_VERSION}, got {version}; leave"
            " it out to take the next one"
        )
    target = output / str(version)
    _refuse_existing(target)
    return target


@contextlib.contextmanager
def new_version(
    output: str | os.PathLike[str], version: int | None = None, graph: bool = False
) -> Iterator[tuple[pathlib.Path, pathlib.Path]]:
    """Create a version: yields (OUTPUT/N, a temporary folder to fill in the block).

    After the block, the folder is renamed to OUTPUT/N; if the block fails, it is removed. Exports
    of the same model wait for each other: each one locks the model's folder. Unfinished versions
    found after locking were left by killed processes, and are removed.

    Args:
        output, version, graph: as of :func:`version_folder`, which is called after locking.

    Raises:
        UserError: the folder cannot be written, or the version exists.
    """
    waiting = functools.partial(
        log.warning, "%s: waiting for another export that is writing there", output
    )
    with locked(output, waiting=waiting) as alone:
        for left in pathlib.Path(output).glob(f"{PARTIAL}*") if alone else ():
            if left.name.removeprefix(PARTIAL).isdecimal():
                shutil.rmtree(left, ignore_errors=True)  # it may be another user's
        target = version_folder(output, version, graph)
        with new_folder(target, one_writer=alone) as folder:
            yield target, folder
            _refuse_existing(target)


def _versions(output: pathlib.Path) -> dict[int, pathlib.Path]:
    """{number: folder} of the versions that a server finds: 007 is 7, and numbers beyond int64 are
    ignored.
    """
    numbered = [
        folder for folder in output.glob("*") if folder.name.isascii() and folder.name.isdecimal()
    ]
    return {int(folder.name): folder for folder in numbered if int(folder.name) <= LARGEST_VERSION}


def _refuse_existing(target: pathlib.Path) -> None:
    if target.exists() or int(target.name) in _versions(target.parent):
        raise UserError(
            f"{target}: expected a new version, got one that exists; versions are never"
            " overwritten: leave the version out to take the next one"
        )
