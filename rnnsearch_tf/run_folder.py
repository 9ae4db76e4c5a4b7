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
"""

from __future__ import annotations

import pathlib

from rnnsearch_tf.errors import UserError

NEEDED = ("config.yaml", "vocabulary.source.txt", "vocabulary.target.txt", "best")
"""What a model needs to be used."""


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
        raise UserError(
            f"{run}: expected a RUN folder that `rnnsearch train` wrote, got one without {', '.join(missing)}"
            + ("; training has not evaluated the model yet" if missing == ["best"] else "; check the path")
        )
    return run


def exported_version(path) -> pathlib.Path | None:
    """The version's folder, if the path is that of an exported model (DIR/N, or DIR for the highest N); else None."""
    path = pathlib.Path(path)
    if (path / "saved_model.pb").exists():
        return path
    versions = [folder for folder in path.glob("*") if folder.name.isdigit() and (folder / "saved_model.pb").exists()]
    return max(versions, key=lambda folder: int(folder.name), default=None)
