"""Files of others: looked at before a library reads them, so that no code comes from them and none
takes all memory.

Keras itself refuses most of this; what it lets a file name changes from version to version.
"""

from __future__ import annotations

import json
import os
import pathlib
import stat
import zipfile
from collections.abc import Sequence

from rnnsearch_tf.errors import UserError

MOST_EXPANSION = 200
"""How many times as large as packed the files of an archive may be; weights hardly shrink."""

SMALL_ARCHIVE = 1 << 24
"""Bytes up to which an archive may expand however well it was packed."""

MOST_JSON = 1 << 24
"""Bytes of a JSON file that describes a model."""

MOST_TOKENS = 10_000_000
"""Entries of a vocabulary at most, in an option and in a file."""

OWN = "rnnsearch_tf>"
"""What the registered names of this package's classes begin with."""

MODULES = ("keras", "keras.optimizers", "keras.optimizers.schedules", "keras.dtype_policies")
"""Where else a saved model may name a class from; no layers: a Lambda has code."""


MODEL_FILES = (".json", ".weights.h5")
"""What the names of the files of a ``.keras`` archive end with."""


def check_archive(path, endings: Sequence[str], what="an archive") -> None:
    """Refuse a zip archive (``.keras``, ``.npz``) with other files in it than expected, links, or
    far more bytes than it has.

    Args:
        path: of the archive.
        endings: what the name of a file in it ends with, such as ``.npy``; folders there are none.
        what: what errors say was expected.

    Raises:
        UserError: one of these, or no archive at all.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            entries = archive.infolist()
    except (OSError, zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise UserError(
            f"{path}: expected {what}, got a damaged or other file ({error}); copy it again"
        ) from None
    for entry in entries:
        if not entry.filename.endswith(tuple(endings)) or any(
            part in entry.filename for part in ("/", "\\", "..")
        ):
            raise _refused(
                path, f"files *{', *'.join(endings)} without folders", repr(entry.filename)
            )
        if stat.S_ISLNK(entry.external_attr >> 16):
            raise _refused(path, "plain files", f"a link, {entry.filename!r}")
    size = sum(entry.file_size for entry in entries)
    limit = max(SMALL_ARCHIVE, MOST_EXPANSION * os.path.getsize(path))
    if size > limit:
        raise _refused(path, f"at most {limit:,} bytes, unpacked", f"{size:,}")


def check_model_archive(path) -> None:
    """Refuse a ``.keras`` file that names code: other classes than this package's, optimizers and
    number types.
    """
    check_archive(path, MODEL_FILES, "a model that model.save wrote")
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            if name.endswith(".json"):
                _check_json(
                    f"{path}: {name}", archive.getinfo(name).file_size, lambda: archive.read(name)
                )


def check_preset(folder) -> None:
    """Refuse a preset's folder whose JSON files name code, or whose links lead outside it."""
    for path in sorted(pathlib.Path(folder).rglob("*")):
        check_inside(path, folder)
        if path.suffix == ".json" and path.is_file():
            _check_json(path, path.stat().st_size, path.read_bytes)


def check_inside(path, folder) -> None:
    """Refuse a link to a file outside the folder.

    Raises:
        UserError: it is one.
    """
    # a loop of links has no resolve()
    if not pathlib.Path(os.path.realpath(path)).is_relative_to(os.path.realpath(folder)):
        raise _refused(
            path,
            f"a file of {folder}",
            f"a link to {os.path.realpath(path)}, outside it; put the file itself there if it is"
            " yours",
        )


def refuse_link(path) -> None:
    """Refuse any link in the place of what is about to be written.

    Raises:
        UserError: it is one.
    """
    if os.path.islink(path):
        raise UserError(
            f"{path}: refused: expected no link, got one to {os.path.realpath(path)}; delete it if"
            " it is not needed"
        )


def check_links(folder) -> None:
    """Refuse a folder that has links to places outside it, however deep: before anything is written
    there.

    The folder itself may be reached by a link.

    Raises:
        UserError: there is one.
    """
    for path, folders, files in os.walk(folder):
        for name in sorted(folders + files):
            if os.path.islink(os.path.join(path, name)):
                check_inside(os.path.join(path, name), folder)


def _check_json(where, size, read):
    if size > MOST_JSON:
        raise _refused(where, f"at most {MOST_JSON:,} bytes", f"{size:,}")
    try:
        tree = json.loads(read())
    except (ValueError, zipfile.BadZipFile):
        return  # who reads it next says what is wrong
    except RecursionError:
        raise _refused(where, "a description of a model", "one nested without end") from None
    _check_objects(tree, where)


def _check_objects(tree, where):
    """Refuse objects of other classes, wherever they stand."""
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
            not registered.startswith(OWN)
            and module not in MODULES
            or name in ("__lambda__", "function", "Lambda")
        ):
            raise _refused(
                where,
                "classes of rnnsearch_tf, optimizers and number types",
                f"{module}.{name} ({registered})",
            )
    for value in tree.values():
        _check_objects(value, where)


def _refused(where, expected, got) -> UserError:
    return UserError(
        f"{where}: refused: expected {expected}, got {got}; do not use the file unless you know"
        " where it is from"
    )
