"""The size of a RUN, and the deletion of what a finished training no longer needs."""

from __future__ import annotations

import os
import pathlib
import shutil
import types
from typing import Any

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import PARTIAL, locked, naming
from rnnsearch_tf.files.untrusted import check_links
from rnnsearch_tf.runs.folder import Run, saved_numbers
from rnnsearch_tf.runs.limits import reached_limit


def size_of(run: Run) -> int:
    """Bytes of all files of a RUN; not of a RUN below it, such as RUN/averaged."""
    return sum(map(_size, _files(run.path)))


def cleanable(run: Run) -> int:
    """Bytes that :func:`clean` would free: of RUN/checkpoints and RUN/evaluated."""
    return sum(_size(path) for folder in _folders(run) for path in _files(folder))


def clean(run: Run, settings: Any) -> int:
    """Delete RUN/checkpoints and RUN/evaluated; return the number of bytes that this freed.

    The model is used as before, and other trainings start from it. Its own training cannot be
    resumed any more, nor its evaluations averaged.

    Args:
        settings: its TrainingConfig; None if this version cannot read it.

    Raises:
        UserError: another process trains it, it has no weights yet, its training is not finished,
            or it has a link to a place outside it.
    """
    if not run.path.is_dir() or not _folders(run):
        return 0
    with locked(run.path) as sure:
        if not sure:
            raise UserError(
                f"{run}: expected a file system with locks, to see whether it is being trained, got"
                f" one without; {_by_hand(run)}"
            )
        check_links(run.path)
        if not run.best_weights.exists() and not run.eight_bit_weights.exists():
            raise UserError(
                f"{run}: expected a trained model, got a training that has not evaluated it yet, of"
                f" which nothing would be left; resume with: {run.resume_command}"
            )
        if run.checkpoints.exists() and settings is None:
            raise UserError(
                f"{run}: expected a configuration that this version reads, to see whether the"
                f" training is finished, got another; {_by_hand(run)}"
            )
        if run.checkpoints.exists() and not _is_finished(run, settings):
            raise UserError(
                f"{run}: expected a finished training, got one that stopped before its limit;"
                f" resume with: {run.resume_command}; {_by_hand(run)}"
            )
        freed = cleanable(run)
        for path in run.evaluated_weights():
            run.remove(path)
        for folder in _folders(run):
            with naming(folder):
                if folder == run.checkpoints:  # half of it would be an unfinished training
                    folder = folder.rename(_being_deleted(run))
                shutil.rmtree(folder)
        return freed


def saved_progress(run: Run) -> dict[str, Any]:
    """The numbers of a RUN's last checkpoint; empty if there is none, or a damaged one."""
    return saved_numbers(run.state)


def _is_finished(run: Run, settings: Any) -> bool:
    """Whether a RUN's last checkpoint is at a limit of its training, evaluated and averaged."""
    progress = types.SimpleNamespace(**saved_progress(run))
    try:
        scored = progress.best_bleu is not None or progress.best_loss is not None
        averaged = not settings.average or not scored or progress.averaged == progress.batches
        evaluated = progress.evaluated == progress.batches
        return reached_limit(progress, settings) is not None and evaluated and averaged
    except (AttributeError, TypeError):  # not the numbers of a training
        return False


def _by_hand(run: Run) -> str:
    folders = " and ".join(map(str, _folders(run)))
    return f"to clean it all the same, delete {folders}"


def _folders(run: Run) -> list[pathlib.Path]:
    folders = (_being_deleted(run), run.checkpoints, run.evaluated)
    return [folder for folder in folders if folder.is_dir()]


def _being_deleted(run: Run) -> pathlib.Path:
    """The checkpoints while they are deleted; left by a killed process."""
    return run.path / f"{PARTIAL}{run.checkpoints.name}"


def _files(folder: pathlib.Path) -> list[str]:
    found = []
    for path, folders, names in os.walk(folder):
        found += [os.path.join(path, name) for name in names]
        folders[:] = [name for name in folders if not Run(os.path.join(path, name)).config.exists()]
    return found


def _size(path: str | pathlib.Path) -> int:
    try:
        return os.lstat(path).st_size
    except OSError:  # deleted meanwhile, by a training
        return 0
