"""Checks of files from others before a library reads them: they must not run code or exhaust the
memory.

Keras refuses most of this itself, but what it allows changes from version to version.
"""

from __future__ import annotations

import json
import os
import pathlib
import stat
import zipfile
import zlib
from collections.abc import Callable, Sequence
from typing import Any

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath

MOST_EXPANSION = 200
"""Largest ratio of unpacked to packed size of an archive; weights hardly compress."""

SMALL_ARCHIVE = 1 << 24
"""Unpacked bytes that are allowed at any ratio."""

MOST_JSON = 1 << 24
"""Most bytes of a JSON file that describes a model."""

MOST_TOKENS = 10_000_000
"""Most entries of a vocabulary, in an option and in a file."""

REGISTERED_PREFIX = "rnnsearch_tf>"
"""Prefix of the registered names of this package's classes."""

MODULES = ("keras", "keras.optimizers", "keras.optimizers.schedules", "keras.dtype_policies")
"""Other modules whose classes a saved model may name. No Keras layers: a Lambda contains code."""

UNREADABLE = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)
"""What reading a damaged archive raises; RuntimeError: also NotImplementedError and
RecursionError.
"""

MODEL_FILES = (".json", ".weights.h5")
"""Endings of the file names in a ``.keras`` archive."""


def check_archive(path: AnyPath, endings: Sequence[str], what: str = "an archive") -> None:
    """Refuse a zip archive (``.keras``, ``.npz``) that contains unexpected files, folders or links,
    or that expands too much.

    Args:
        path: the archive.
        endings: allowed endings of the names of its files, such as ``.npy``.
        what: what error messages say was expected.

    Raises:
        UserError: it contains one of these, or is not an archive.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (ValueError, *UNREADABLE) as error:
        raise UserError(
            f"{path}: expected {what}, got a damaged or other file ({error}); copy it again"
        ) from None
    for entry in entries:
        if not entry.filename.endswith(tuple(endings)) or any(
            part in entry.filename for part in ("/", "\\", "..")
        ):
            expected = f"files *{', *'.join(endings)} without folders"
            raise _refused(path, expected, repr(entry.filename))
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise _refused(path, "plain files", f"a link, {entry.filename!r}")
    size = sum(entry.file_size for entry in entries)
    limit = max(SMALL_ARCHIVE, MOST_EXPANSION * os.path.getsize(path))
    if size > limit:
        raise _refused(path, f"at most {limit:,} bytes, unpacked", f"{size:,}")


def check_model_archive(path: AnyPath) -> None:
    """Refuse a ``.keras`` file that names any class but those of this package, optimizers and
    number types.
    """
    check_archive(path, MODEL_FILES, "a model that model.save wrote")
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".json"):
                _check_json(
                    f"{path}: {name}", archive.getinfo(name).file_size, lambda: archive.read(name)
                )


def check_preset(folder: AnyPath) -> None:
    """Refuse a preset's folder whose JSON files name other classes, or whose links lead outside."""
    for path in sorted(pathlib.Path(folder).rglob("*")):
        check_inside(path, folder)
        if path.suffix == ".json" and path.is_file():
            _check_json(path, path.stat().st_size, path.read_bytes)


def check_inside(path: AnyPath, folder: AnyPath) -> None:
    """Raise UserError if a path is a link to a file outside the folder."""
    place = os.path.realpath(path)  # Path.resolve() fails on a loop of links
    if not pathlib.Path(place).is_relative_to(os.path.realpath(folder)):
        link = f"a link to {place}, outside it; put the file itself there if it is yours"
        raise _refused(path, f"a file of {folder}", link)


def refuse_link(path: AnyPath) -> None:
    """Raise UserError if a path to write to is a link."""
    if os.path.islink(path):
        raise UserError(
            f"{path}: refused: expected no link, got one to {os.path.realpath(path)}; delete it if"
            " it is not needed"
        )


def check_links(folder: AnyPath) -> None:
    """Raise UserError if a folder to write to contains, at any depth, a link to a place outside it.
    The folder itself may be reached through a link.
    """
    for path, folders, files in os.walk(folder):
        for name in sorted(folders + files):
            if os.path.islink(os.path.join(path, name)):
                check_inside(os.path.join(path, name), folder)


def _check_json(where: AnyPath, size: int, read: Callable[[], bytes]) -> None:
    if size > MOST_JSON:
        raise _refused(where, f"at most {MOST_JSON:,} bytes", f"{size:,}")
    try:
        tree = json.loads(read())
    except ValueError:
        return  # invalid JSON is reported by the loader
    except RecursionError:
        raise _refused(where, "a description of a model", "a too deeply nested one") from None
    except UNREADABLE as error:
        raise UserError(
            f"{where}: expected a description of a model, got a damaged one ({error}); copy it"
            " again"
        ) from None
    _check_objects(tree, where)


def _check_objects(tree: Any, where: AnyPath) -> None:
    """Refuse objects of other classes at any depth."""
    if isinstance(tree, list):
        for value in tree:
            _check_objects(value, where)
    if not isinstance(tree, dict):
        return
    if "class_name" in tree:
        name, module, registered = (
            str(tree.get(key)) for key in ("class_name", "module", "registered_name")
        )
        if (
            not registered.startswith(REGISTERED_PREFIX)
            and module not in MODULES
            or name in ("__lambda__", "function", "Lambda")
        ):
            known = "classes of rnnsearch_tf, optimizers and number types"
            raise _refused(where, known, f"{module}.{name} ({registered})")
    for value in tree.values():
        _check_objects(value, where)


def _refused(where: AnyPath, expected: str, got: str) -> UserError:
    return UserError(
        f"{where}: refused: expected {expected}, got {got}; do not use the file unless you know"
        " where it is from"
    )
