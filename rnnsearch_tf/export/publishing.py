"""Versions of a served model: numbered folders, complete when they appear, which never change.

A server polls the model's folder and loads any number that it finds there. So a version is written
under another name, and published by an atomic rename.
"""

from __future__ import annotations

import contextlib
import os
import pathlib
from collections.abc import Iterator

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import new_folder
from rnnsearch_tf.runs.folder import Run


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


def version_folder(output: str | os.PathLike[str], version: int | None = None) -> pathlib.Path:
    """The path OUTPUT/N of a new version, which does not exist yet.

    Args:
        output: path of the model's folder.
        version: whole number from 1; None takes the one after the highest there.

    Raises:
        UserError: the version exists, or OUTPUT is no folder for versions.
    """
    output = pathlib.Path(output)
    if output.exists() and not output.is_dir():
        raise UserError(f"{output}: expected a folder for versions, got a file; name another")
    if Run(output).config.exists():
        raise UserError(
            f"{output}: expected a folder for versions of a served model, got a run folder; name"
            f" another, such as served/{output.resolve().name}"
        )
    versions = _versions(output)
    version = max(versions, default=0) + 1 if version is None else version
    if version in versions:
        raise UserError(
            f"{output / str(version)}: expected a new version, got one that exists; versions are"
            " never overwritten: leave the version out to take the next one"
        )
    return output / str(version)


@contextlib.contextmanager
def new_version(
    output: str | os.PathLike[str], version: int | None = None
) -> Iterator[tuple[pathlib.Path, pathlib.Path]]:
    """Create a version: yields (OUTPUT/N, a temporary folder to fill in the block).

    After the block, the folder is renamed to OUTPUT/N; if the block fails, it is removed.

    Args:
        output, version: as of :func:`version_folder`.

    Raises:
        UserError: the folder cannot be written, or the version exists.
    """
    target = version_folder(output, version)
    with new_folder(target) as folder:
        yield target, folder


def _versions(output: pathlib.Path) -> dict[int, pathlib.Path]:
    """{number: folder} of the versions that a server finds."""
    return {
        int(folder.name): folder
        for folder in output.glob("*")
        if folder.name.isascii() and folder.name.isdecimal()
    }
