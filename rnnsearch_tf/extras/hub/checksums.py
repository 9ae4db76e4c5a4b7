"""Checksums of a preset's files: whatever saves a part of it writes them, whatever loads a part
compares them.

keras-hub's own loaders call the parts too, so that ``keras_nlp.models.Seq2SeqLM.from_preset``
compares as well.
"""

import logging
import os
import pathlib

from keras_hub.src.utils import preset_utils

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runs.folder import CHECKSUMS, digest_of, read_checksums, write_checksums

log = logging.getLogger("rnnsearch_tf")

CONFIGURATIONS = ("*.json",)
WEIGHTS = ("config.json", "model*.weights.*")

_noticed = set()  # presets whose missing checksums were spoken of


def record_files(folder, patterns) -> None:
    """Write the checksums of a preset's files as they are.

    Args:
        folder: of the preset.
        patterns: of names in it, such as ``assets/tokenizer/*``; the checksums of others stay.
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


def verify_files(preset, patterns) -> None:
    """Compare a preset's files with their checksums; one without checksums is good, with one
    warning.

    Args:
        preset: folder, or what keras-hub downloads, such as ``hf://…``: then the checksums come
            into the folder of the download.
        patterns: of names in it, as of :func:`record_files`.

    Raises:
        UserError: a file is missing or is not what was saved.
    """
    folder = pathlib.Path(preset)
    is_local = folder.is_dir()
    path = folder / CHECKSUMS if is_local else _downloaded(preset, CHECKSUMS)
    known = read_checksums(path) if path else {}
    unknown = [name for name in _names(folder, patterns) if name not in known] if is_local else []
    if unknown or path is None:
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
    if place not in _noticed:
        _noticed.add(place)
        log.warning(
            "warning: %s: no checksum of %s in %s: damage to it cannot be seen; "
            "load the model and save_to_preset writes checksums of what it is",
            preset,
            names,
            CHECKSUMS,
        )


def _downloaded(preset, name):
    """The path that keras-hub downloads a preset's file to; None where there is no such file."""
    try:
        return pathlib.Path(preset_utils.get_file(preset, name))
    except (
        FileNotFoundError,
        ImportError,
        ValueError,
    ):  # keras-hub's loader says what is wrong with the preset's name
        return None


def _names(folder, patterns):
    """The names of the files in the folder that match a pattern."""
    files = (path for pattern in patterns for path in folder.glob(pattern) if path.is_file())
    return sorted({path.relative_to(folder).as_posix() for path in files})


def _matches(name, patterns):
    # With the slash a pattern has to match the whole name, folders included.
    return any(pathlib.PurePosixPath("/", name).match(f"/{pattern}") for pattern in patterns)
