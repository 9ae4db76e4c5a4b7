"""Variables of a TensorFlow checkpoint, of version 1 or 2 of TensorFlow."""

from __future__ import annotations

import glob
import math
import os

import numpy as np
import tensorflow as tf

from rnnsearch_tf.errors import UserError, one_line
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.extras.importing.arrays import ArrayFile

OBJECT_PATH = "/.ATTRIBUTES/VARIABLE_VALUE"
"""End of the names in a checkpoint of objects (TensorFlow 2)."""


class CheckpointFile(ArrayFile):
    """The variables of a checkpoint that are numbers.

    Args:
        path: ``PREFIX.index``; ``PREFIX.data-…`` stand beside it.

    Raises:
        UserError: a file is missing or damaged.
    """

    def __init__(self, path: AnyPath) -> None:
        self.path = path
        prefix = str(path).removesuffix(".index")
        try:
            self._reader = tf.train.load_checkpoint(prefix)
            shapes = self._reader.get_variable_to_shape_map()
            types = self._reader.get_variable_to_dtype_map()
        except (tf.errors.OpError, ValueError, RuntimeError) as error:
            raise UserError(
                f"{path}: expected a TensorFlow checkpoint, got a damaged or other file"
                f" ({one_line(error)}); its files PREFIX.data-… must stand beside PREFIX.index"
            ) from None
        numbers = [name for name, kind in types.items() if kind.is_floating or kind.is_integer]
        needed = sum(math.prod(shapes[name]) * types[name].size for name in numbers)
        given = sum(map(os.path.getsize, glob.glob(f"{glob.escape(prefix)}.data-*")))
        if needed > given:
            raise self.damaged(
                "PREFIX.data-…", ValueError(f"expected {needed:,} bytes of numbers, got {given:,}")
            )
        self._names = {name.removesuffix(OBJECT_PATH): name for name in numbers}
        self.shapes = {short: tuple(shapes[name]) for short, name in self._names.items()}

    def _values(self, name: str) -> np.ndarray:
        try:
            return np.asarray(self._reader.get_tensor(self._names[name]))
        except (tf.errors.OpError, ValueError, RuntimeError, IndexError) as error:
            raise self.damaged(name, error) from None
