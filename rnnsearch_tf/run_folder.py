"""The folder that training writes and everything else reads.

::

    RUN/config.yaml              the effective configuration
    RUN/vocabulary.source.txt    one token a line, line number = id
    RUN/vocabulary.target.txt
    RUN/best/                    the weights that did best on the development set
    RUN/evaluated/               the weights of the last evaluations, for averaging
    RUN/checkpoints/             for --resume
    RUN/metrics.jsonl            one object every 100 batches, epoch or evaluation
    RUN/model_card.md            what it is, and how well it did
    RUN/SHA256SUMS               what the files above are known by, as sha256sum writes and checks it
"""

from __future__ import annotations

import hashlib
import logging
import os
import pathlib
import re
import shlex

from rnnsearch_tf.errors import UserError

log = logging.getLogger("rnnsearch_tf")

NEEDED = ("config.yaml", "vocabulary.source.txt", "vocabulary.target.txt", "best")
"""What a model needs to be used."""

CHECKSUMS = "SHA256SUMS"
_TEXTS = ("vocabulary.*.txt", "*.spm.model")
_WHOLE = ("config.yaml", *_TEXTS, "best/*.h5")
_LINE = re.compile(r"([0-9a-f]{64}) [ *](.+)")
_noticed = set()  # RUNs without checksums that were spoken of


def check_run(path) -> pathlib.Path:
    """The folder as a Path, with everything in it that using the model needs.

    Raises:
        UserError: the folder or a part of it is missing; the message names what.
    """
    run = pathlib.Path(path)
    if not run.is_dir():
        found = "a file" if run.exists() else "nothing there"
        raise UserError(f"{run}: expected a RUN folder that `rnnsearch train` wrote, got {found}; check the path")
    if (run / "saved_model.pb").exists():
        raise UserError(f"{run}: expected a RUN folder, got an exported SavedModel; of the verbs only `rnnsearch translate` takes one")
    missing = [name for name in NEEDED if not (run / name).exists()]
    if missing:
        reason = "training has not evaluated the model yet" if missing == ["best"] else "check the path"
        if (run / "checkpoints" / "state.json").exists():
            reason += f"; go on with: {resuming(run)}"
        raise UserError(
            f"{run}: expected a RUN folder that `rnnsearch train` wrote, got one without {', '.join(missing)}; {reason}"
        )
    return run


def resuming(run) -> str:
    """The command that goes on with a training."""
    return f"rnnsearch train --output {shlex.quote(str(run))} --resume"


def text_files(run) -> list:
    """Names of the files that say how text becomes ids."""
    return _names(run, _TEXTS)


def verify(run, names=None) -> None:
    """Compare files of a RUN with its checksums; half a gigabyte takes about a second.

    A RUN without checksums is good with one notice, a changed config.yaml, which people do edit, with a warning.

    Args:
        run: path of the RUN folder.
        names: of files in it; None: those that using the model needs.

    Raises:
        UserError: a file is not what was written, or the list of checksums is none.
    """
    run = pathlib.Path(run)
    known = _read(run)
    names = _names(run, _WHOLE) if names is None else names
    if not known.keys() >= set(names) and run.resolve() not in _noticed:
        _noticed.add(run.resolve())
        log.warning(
            "notice: %s: no checksum of %s: damage to it cannot be seen; `cd %s && sha256sum %s > %s` writes checksums of the files as they are",
            run, ", ".join(name for name in names if name not in known), shlex.quote(str(run)), " ".join(map(shlex.quote, names)), CHECKSUMS,
        )  # fmt: skip
    for name in names:
        if name in known and (run / name).exists() and (found := _digest(run / name)) not in known[name]:
            if name == "config.yaml":
                log.warning("warning: %s: changed since training wrote it", run / name)
                continue
            raise UserError(
                f"{run / name}: expected the file that training wrote, with the SHA-256 of {run / CHECKSUMS} "
                f"({', '.join(digest[:12] for digest in sorted(known[name]))}…), got {found[:12]}…: it was damaged or changed; copy the RUN again"
            )


def record(run, names=None) -> None:
    """Write the checksums of files as they are; names as for :func:`verify`."""
    run = pathlib.Path(run)
    names = _names(run, _WHOLE) if names is None else names
    _write(run, _read(run) | {name: {_digest(run / name)} for name in names})


def replace_file(run, partial, name) -> None:
    """Put a file that is written whole in the place of another, and record it.

    Both checksums count in between: a kill at any moment leaves a RUN that loads.

    Args:
        run: path of the RUN folder.
        partial: path of the new file, on the same file system.
        name: of the file in the RUN that it becomes.
    """
    run, new = pathlib.Path(run), _digest(partial)
    known = _read(run)
    _write(run, known | {name: known.get(name, set()) | {new}})
    os.replace(partial, run / name)
    _write(run, known | {name: {new}})


def remove_file(run, name) -> None:
    """Delete a file of a RUN, and its checksum."""
    run = pathlib.Path(run)
    _write(run, {other: digests for other, digests in _read(run).items() if other != name})
    (run / name).unlink()


def recorded(run, names) -> list:
    """Those of the names that have a checksum."""
    known = _read(pathlib.Path(run))
    return [name for name in names if name in known]


def _names(run, patterns) -> list:
    run = pathlib.Path(run)
    return sorted(path.relative_to(run).as_posix() for pattern in patterns for path in run.glob(pattern) if "partial" not in path.name)


def _read(run) -> dict:
    """{name: set of the digests that count}."""
    path, known = run / CHECKSUMS, {}
    if not path.exists():
        return known
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), start=1):
        match = _LINE.fullmatch(line)
        if not match:
            raise UserError(
                f"{path}:{number}: expected a line `digest  file` as sha256sum writes it, got {line[:60]!r}; delete the file to do without"
            )
        known.setdefault(match[2], set()).add(match[1])
    return known


def _write(run, known):
    partial = run / f"{CHECKSUMS}.partial"
    lines = [f"{digest}  {name}\n" for name, digests in sorted(known.items()) for digest in sorted(digests)]
    partial.write_text("".join(lines), encoding="utf-8")
    os.replace(partial, run / CHECKSUMS)


def _digest(path) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def exported_version(path) -> pathlib.Path | None:
    """The version's folder, if the path is that of an exported model (DIR/N, or DIR for the highest N); else None."""
    path = pathlib.Path(path)
    if (path / "saved_model.pb").exists():
        return path
    versions = [folder for folder in path.glob("*") if folder.name.isdigit() and (folder / "saved_model.pb").exists()]
    return max(versions, key=lambda folder: int(folder.name), default=None)
