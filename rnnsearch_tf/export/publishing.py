"""Versions of a served model: numbered folders, complete when they appear, which never change.

A server polls the model's folder and loads any number that it finds there. So a version is written
under another name, by :func:`~rnnsearch_tf.files.atomic.new_folder`, and renamed at the end.
"""

from __future__ import annotations

import json
import pathlib
from typing import Any

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.runs.folder import Run

ABOUT = pathlib.PurePath("assets.extra", "about.json")
"""What an export says of its model: languages and tokenization of both sides, whether it has
attention, and examples for the server's page.
"""


def exported_version(path: AnyPath) -> pathlib.Path | None:
    """The folder of a version of an exported model, for DIR/N or DIR (the highest N); None for any
    other path.
    """
    path = pathlib.Path(path)
    folders = [path, *(folder for _, folder in sorted(_versions(path).items(), reverse=True))]
    return next((folder for folder in folders if (folder / "saved_model.pb").exists()), None)


def read_about(version: AnyPath) -> dict[str, Any]:
    """What a version says of its model; {} if it is not an export of this package."""
    path = pathlib.Path(version, ABOUT)
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def version_folder(output: AnyPath, version: int | None = None) -> pathlib.Path:
    """The path OUTPUT/N of a new version, which does not exist yet.

    Args:
        output: path of the model's folder.
        version: whole number; None takes the one after the highest there.

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


def _versions(output: pathlib.Path) -> dict[int, pathlib.Path]:
    """{number: folder} of the versions that a server finds."""
    folders = (folder for folder in output.glob("*") if folder.name.isascii())
    return {int(folder.name): folder for folder in folders if folder.name.isdecimal()}
