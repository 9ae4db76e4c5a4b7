"""Read the arrays of an ``.npz`` file: names and shapes first, values one at a time."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.untrusted import check_archive

Shape = tuple[int, ...]


class Arrays:
    """The float arrays of an ``.npz`` file.

    Args:
        path: the file.

    Attributes:
        path: as given.
        shapes: {name: shape} of all arrays of numbers; others are left out.

    Raises:
        UserError: the file is missing, damaged, or no ``.npz`` file.
    """

    def __init__(self, path: AnyPath) -> None:
        check_archive(path, (".npy",), "an .npz file")
        self.path = path
        self.shapes: dict[str, Shape] = {}
        with zipfile.ZipFile(path) as archive:
            for entry in archive.namelist():
                with archive.open(entry) as file:
                    shape, dtype = self._header(entry, file)
                if dtype.kind in "fiu":
                    self.shapes[entry.removesuffix(".npy")] = shape

    def _header(self, entry: str, file: Any) -> tuple[Shape, np.dtype]:
        try:
            version = np.lib.format.read_magic(file)
            read = (
                np.lib.format.read_array_header_1_0
                if version == (1, 0)
                else np.lib.format.read_array_header_2_0
            )
            shape, _, dtype = read(file)
        except (ValueError, OSError, zipfile.BadZipFile, EOFError) as error:
            raise UserError(
                f"{self.path}: {entry}: expected an array, got damaged bytes ({error}); copy the"
                " file again"
            ) from None
        return shape, dtype

    def __contains__(self, name: str) -> bool:
        return name in self.shapes

    def check(self, expected: Mapping[str, Sequence[int | None]]) -> None:
        """Check names and shapes before any array is read.

        Args:
            expected: {name: shape}; None: any size.

        Raises:
            UserError: an array is missing or has another shape.
        """
        for name, sizes in expected.items():
            wanted = f"({', '.join('any' if size is None else f'{size:,}' for size in sizes)})"
            if name not in self.shapes:
                raise UserError(
                    f"{self.path}: expected an array {name} {wanted}, found none; are these the"
                    " weights of this program and kind of model?"
                )
            got = self.shapes[name]
            fits = len(got) == len(sizes) and all(
                size in (None, other) for size, other in zip(sizes, got)
            )
            if not fits:
                raise UserError(
                    f"{self.path}: {name}: expected {wanted} by the options, got {got}; do options"
                    " and weights belong together?"
                )

    def read(self, name: str) -> np.ndarray:
        """One array as float32.

        Raises:
            UserError: it is missing or damaged.
        """
        if name not in self.shapes:
            self.check({name: ()})
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                values = archive[name]
        except (ValueError, OSError, zipfile.BadZipFile, EOFError, KeyError) as error:
            raise UserError(
                f"{self.path}: {name}: expected an array, got damaged bytes ({error}); copy the"
                " file again"
            ) from None
        return values.astype(np.float32)

    def count(self, names: Sequence[str]) -> int:
        """Number of values in these arrays."""
        return sum(math.prod(self.shapes[name]) for name in names)
