"""Steps from files to files, each run once: which are left, and what they need."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import shutil
from collections.abc import Callable

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.progress import duration


@dataclasses.dataclass(frozen=True)
class Step:
    """A step whose results are made once and kept.

    Attributes:
        does: description of the step.
        outputs: files or folders that it writes; they appear when they are complete.
        make: runs the step.
        inputs: files that it reads.
        gigabytes: approximate size of the outputs.
        minutes: approximate time on one core, or of a download at 10 MB a second.
    """

    does: str
    outputs: tuple
    make: Callable[[], None]
    inputs: tuple = ()
    gigabytes: float = 0.0
    minutes: float = 0.0

    def __str__(self):
        return f"{self.does} ({self.gigabytes:.1f} GB, {duration(60 * self.minutes)})"


def steps_left(steps, wanted) -> list:
    """The steps that are needed to make some files, in order. An existing file does not need the
    files that it was made from.

    Args:
        steps: list of Step, each after those that make its inputs.
        wanted: paths of the files.

    Example:
        >>> existing = pathlib.Path(".")
        >>> get = Step("get", (existing / "no-a",), print)
        >>> cut = Step("cut", (existing,), print, (existing / "no-a",))
        >>> sew = Step("sew", (existing / "no-b",), print, (existing,))
        >>> [step.does for step in steps_left([get, cut, sew], [existing / "no-b"])]
        ['sew']
    """
    left = []
    wanted = set(wanted)
    for step in reversed(steps):
        if wanted & set(step.outputs) and not all(path.exists() for path in step.outputs):
            left.insert(0, step)
            wanted |= set(step.inputs)
    return left


def check_space(needs) -> None:
    """Raise UserError if a disk has too little free space.

    Args:
        needs: list of (path to write, gigabytes).
    """
    disks = {}
    for path, gigabytes in needs:
        folder = _existing(pathlib.Path(path).absolute())
        number = os.stat(folder).st_dev
        disks[number] = folder, disks.get(number, (folder, 0.0))[1] + gigabytes
    for folder, gigabytes in disks.values():
        free = shutil.disk_usage(folder).free / 1e9
        if free < gigabytes:
            raise UserError(
                f"{folder}: expected {gigabytes:.0f} GB free on its disk, got {free:.0f}; free"
                " some, or choose another --data and --output"
            )


def _existing(path):
    return path if path.exists() else _existing(path.parent)
