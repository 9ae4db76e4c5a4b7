"""Checksums of a preset's files: whatever saves a part of it writes them, whatever loads a part compares them.

keras-hub's own loaders call the parts too, so that ``keras_nlp.models.Seq2SeqLM.from_preset`` compares as well.
"""

import logging
import pathlib

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.run import CHECKSUMS, digest_of, read_checksums, write_checksums

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
    """Compare a preset's files with their checksums; one without checksums is good, with one warning.

    Args:
        preset: folder; what is none, such as ``hf://…``, is downloaded file by file and not compared.
        patterns: of names in it, as of :func:`record_files`.

    Raises:
        UserError: a file is missing or is not what was saved.
    """
    folder = pathlib.Path(preset)
    if not folder.is_dir():
        return
    path = folder / CHECKSUMS
    known = read_checksums(path)
    unknown = [name for name in _names(folder, patterns) if name not in known]
    if unknown and folder.resolve() not in _noticed:
        _noticed.add(folder.resolve())
        log.warning(
            "warning: %s: no checksum of %s in %s: damage to it cannot be seen; "
            "load the model and save_to_preset writes checksums of what it is",
            folder, ", ".join(unknown), CHECKSUMS,
        )  # fmt: skip
    for name, digests in known.items():
        if not _matches(name, patterns):
            continue
        file = folder / name
        found = digest_of(file) if file.is_file() else None
        if found not in digests:
            expected = ", ".join(digest[:12] for digest in sorted(digests))
            raise UserError(
                f"{file}: expected the file that was saved, with the SHA-256 of {path} "
                f"({expected}…), got {f'{found[:12]}…' if found else 'no file'}: it was damaged or "
                f"changed; copy the preset again, or, if you changed it, delete {CHECKSUMS}"
            )


def _names(folder, patterns):
    """The names of the files in the folder that match a pattern."""
    files = (path for pattern in patterns for path in folder.glob(pattern) if path.is_file())
    return sorted({path.relative_to(folder).as_posix() for path in files})


def _matches(name, patterns):
    # With the slash a pattern has to match the whole name, folders included.
    return any(pathlib.PurePosixPath("/", name).match(f"/{pattern}") for pattern in patterns)
