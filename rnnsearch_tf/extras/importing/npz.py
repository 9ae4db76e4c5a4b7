"""Arrays of an ``.npz`` file."""

from __future__ import annotations

import zipfile
from typing import Any

import numpy as np

from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.untrusted import check_archive
from rnnsearch_tf.extras.importing.arrays import ArrayFile, Shape

_DAMAGE = (ValueError, OSError, zipfile.BadZipFile, EOFError, KeyError)


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
            for entry in archive.namelist():
                name = entry.removesuffix(".npy")
                try:
                    with archive.open(entry) as file:
                        shape, dtype = _header(file)
                except _DAMAGE as error:
                    raise self.damaged(name, error) from None
                if dtype.kind in "fiu":
                    self.shapes[name] = shape

    def _values(self, name: str) -> np.ndarray:
        try:
            with np.load(self.path, allow_pickle=False) as archive:
                return archive[name]
        except _DAMAGE as error:
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
