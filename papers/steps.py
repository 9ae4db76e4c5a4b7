"""Steps from files to files, each made once: which of them are left, and what they need."""

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
    """Something that is made once and kept.

    Attributes:
        does: what, for people.
        outputs: the files or folders that it leaves; they appear when they are whole.
        make: makes them.
        inputs: the files that it reads.
        gigabytes: what it leaves on the disk, about.
        minutes: of one core, about; of a download at 10 MB a second.
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
    """Those that are to be made for some files, in their order: a file that is there needs none of
    what it was made from.

    Args:
        steps: list of Step; each stands behind those that make its inputs.
        wanted: paths.

    Example:
        >>> there = pathlib.Path(".")
        >>> get = Step("get", (there / "no-a",), print)
        >>> cut = Step("cut", (there,), print, (there / "no-a",))
        >>> sew = Step("sew", (there / "no-b",), print, (there,))
        >>> [step.does for step in steps_left([get, cut, sew], [there / "no-b"])]
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
    """UserError where a disk has less room than is needed.

    Args:
        needs: list of (path to be written, gigabytes).
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
