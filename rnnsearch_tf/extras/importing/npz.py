"""Arrays of an ``.npz`` file."""

from __future__ import annotations

import math
import zipfile
from typing import Any

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.untrusted import check_archive
from rnnsearch_tf.extras.importing.arrays import DAMAGE, ArrayFile, Shape


class NpzFile(ArrayFile):
    """The arrays of numbers of an ``.npz`` file; those of objects, which are pickles, are left out.

    Args:
        path: the file.

    Raises:
        UserError: the file is missing, damaged, or no ``.npz`` file.
    """

    def __init__(self, path: AnyPath) -> None:
        check_archive(path, (".npy",), "an .npz file")
        self.path = path
        self.shapes = {}
        with zipfile.ZipFile(path) as archive:
            for entry in archive.infolist():
                name = entry.filename.removesuffix(".npy")
                try:
                    with archive.open(entry) as file:
                        shape, dtype = _header(file)
                    if math.prod(shape) * dtype.itemsize > entry.file_size:
                        raise ValueError(f"cut off: {entry.file_size:,} bytes for {shape}")
                except DAMAGE as error:
                    raise self.damaged(name, error) from None
                if dtype.kind in "fiu":
                    self.shapes[name] = shape

    def text(self, name: str, most: int) -> str:
        """The text of an array of at most this many bytes, up to its first zero.

        Raises:
            UserError: it is missing, too long or no text.
        """
        self.check({name: (None,)})
        if self.shapes[name][0] > most:
            raise UserError(
                f"{self.path}: {name}: refused: expected at most {most:,} bytes, got"
                f" {self.shapes[name][0]:,}"
            )
        values = self._values(name)
        try:
            if values.dtype.itemsize != 1:
                raise ValueError(f"numbers of type {values.dtype}")
            return values.tobytes().split(b"\0")[0].decode("utf-8")
        except ValueError as error:
            raise self.damaged(name, error) from None

    def _values(self, name: str) -> np.ndarray:
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                return archive[name]
        except DAMAGE as error:
            raise self.damaged(name, error) from None


def _header(file: Any) -> tuple[Shape, np.dtype]:
    version = np.lib.format.read_magic(file)
    read = (
        np.lib.format.read_array_header_1_0
        if version == (1, 0)
        else np.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read(file)
    return shape, dtype
