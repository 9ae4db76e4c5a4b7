"""Weights in eight bits: every column of a matrix has its own scale, w ≈ scale · q with q in −127 …
127.
"""

from __future__ import annotations

import zipfile
import zlib

import numpy as np

from rnnsearch_tf.files.untrusted import check_archive

SMALLEST = 4096
"""Entries; smaller arrays (biases, v_a) are kept in float32: nothing is gained and digits are lost.
"""


def is_small(array) -> bool:
    """Whether an array is kept as it is."""
    return array.size < SMALLEST or array.ndim < 2


def quantize(array):
    """(values int8, scale float32 [1, columns]) of an array of floats [rows, columns]; (array,
    None) of a small one or a vector.
    """
    if is_small(array):
        return array, None
    scale = (
        np.maximum(np.abs(array).max(axis=0, keepdims=True), np.finfo(np.float32).tiny * 127) / 127
    )
    return np.rint(array / scale).astype(np.int8), scale


def save_weights(path, variables) -> None:
    """Write Keras variables in eight bits as a compressed .npz file: ``w0``, ``w1``, … and ``s0``,
    … of those with a scale.
    """
    arrays = {}
    for number, variable in enumerate(variables):
        values, scale = quantize(np.asarray(variable))
        arrays[f"w{number}"] = values
        if scale is not None:
            arrays[f"s{number}"] = scale
    np.savez_compressed(path, **arrays)


def load_weights(path, variables) -> None:
    """Give Keras variables the values of a file that :func:`save_weights` wrote.

    Raises:
        ValueError: the file is damaged, holds other variables, or Python objects, which are not
            read.
    """
    check_archive(path, (".npy",))
    try:
        with np.load(path) as file:
            arrays = dict(file)
    except (zipfile.BadZipFile, zlib.error, EOFError, OSError) as error:
        raise ValueError(str(error)) from None
    expected = len(variables)
    found = sum(name.startswith("w") for name in arrays)
    if found != expected:
        raise ValueError(f"expected {expected} arrays, got {found}")
    for number, variable in enumerate(variables):
        values = arrays[f"w{number}"]
        if values.shape != tuple(variable.shape):
            raise ValueError(
                f"{variable.path}: expected the shape {tuple(variable.shape)}, got {values.shape}"
            )
        variable.assign(values.astype(np.float32) * arrays.get(f"s{number}", np.float32(1)))
