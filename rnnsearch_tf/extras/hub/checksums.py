"""Checksums of a preset's files, written when a part of it is saved and verified when one is
loaded.

keras-hub's loaders call the methods of the parts, so that
``keras_nlp.models.Seq2SeqLM.from_preset`` verifies the files too.
"""

from __future__ import annotations

import logging
import os
import pathlib
from collections.abc import Iterable

from keras_hub.src.utils import preset_utils

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runs.folder import CHECKSUMS, digest_of, read_checksums, write_checksums

log = logging.getLogger("rnnsearch_tf")

CONFIGURATIONS = ("*.json",)
WEIGHTS = ("config.json", "model*.weights.*")

_warned: set[str] = set()  # presets with missing checksums


def record_files(folder: str | os.PathLike[str], patterns: Iterable[str]) -> None:
    """Write the checksums of a preset's files.

    Args:
        folder: path of the preset.
        patterns: patterns of file names in it, such as ``assets/tokenizer/*``; the checksums of
            other files are kept.
    """
    folder = pathlib.Path(folder)
    path = folder / CHECKSUMS
    others = {
        name: digests
        for name, digests in read_checksums(path).items()
        if not _matches(name, patterns)
    }
    new = {name: {digest_of(folder / name)} for name in _names(folder, patterns)}
    write_checksums(path, others | new)


def verify_files(preset: str | os.PathLike[str], patterns: Iterable[str]) -> None:
    """Verify the checksums of a preset's files; warn once about missing checksums.

    Args:
        preset: path of a folder, or a preset that keras-hub downloads, such as ``hf://…``; its
            checksums are downloaded with it.
        patterns: as of :func:`record_files`.

    Raises:
        UserError: a file is missing or differs from the one that was saved.
    """
    folder = pathlib.Path(preset)
    is_local = folder.is_dir()
    path = folder / CHECKSUMS if is_local else _downloaded(preset, CHECKSUMS)
    known = read_checksums(path) if path else {}
    unknown = [name for name in _names(folder, patterns) if name not in known] if is_local else []
    # keras-hub's loader says that there is no such preset
    if unknown or (path is None and _downloaded(preset, "config.json")):
        _warn_once(preset, ", ".join(unknown) or "any file")
    for name, digests in known.items():
        if not _matches(name, patterns):
            continue
        file = folder / name if is_local else _downloaded(preset, name)
        found = digest_of(file) if file and file.is_file() else None
        if found not in digests:
            expected = ", ".join(digest[:12] for digest in sorted(digests))
            raise UserError(
                f"{file or f'{preset}/{name}'}: expected the file that was saved, with the SHA-256"
                f" of {path} ({expected}…), got {f'{found[:12]}…' if found else 'no file'}: it was"
                " damaged or changed; copy the preset again, or, if you changed it, delete"
                f" {CHECKSUMS}"
            )


def _warn_once(preset, names):
    place = os.path.realpath(preset)
    if place not in _warned:
        _warned.add(place)
        log.warning(
            "warning: %s: no checksum of %s in %s: damage cannot be detected; load the model and"
            " save it with save_to_preset, which writes checksums",
            preset,
            names,
            CHECKSUMS,
        )


def _downloaded(preset, name):
    """The path of a preset's file that keras-hub has downloaded; None if there is no such file."""
    try:
        return pathlib.Path(preset_utils.get_file(preset, name))
    except (FileNotFoundError, ImportError, ValueError):
        return None  # keras-hub's loader reports a wrong name of the preset


def _names(folder, patterns):
    """Names of the files in the folder that match a pattern."""
    files = (path for pattern in patterns for path in folder.glob(pattern) if path.is_file())
    return sorted({path.relative_to(folder).as_posix() for path in files})


def _matches(name, patterns):
    # with the slash, a pattern must match the whole name, including folders
    return any(pathlib.PurePosixPath("/", name).match(f"/{pattern}") for pattern in patterns)
