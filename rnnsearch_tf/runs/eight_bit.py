"""Store weights in eight bits: every column of a matrix has its own scale, w ≈ scale · q with q in
−127 … 127.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.files import AnyPath

SMALLEST = 4096
"""Entries of the smallest array that is quantized. Smaller ones (biases, v_a) stay in float32:
they would lose precision and hardly save space.
"""


def is_small(array: np.ndarray) -> bool:
    """Whether an array is not quantized: it is small, or a vector."""
    return array.size < SMALLEST or array.ndim < 2


def quantize(array: np.ndarray, levels: int = 127) -> tuple[np.ndarray, np.ndarray | None]:
    """Quantize an array of floats [rows, columns] to whole numbers from −levels to levels.

    Returns:
        (values int8 [rows, columns], scale float32 [1, columns]); (array, None) if it is small.
    """
    if is_small(array):
        return array, None
    largest = np.abs(array).max(axis=0, keepdims=True)
    scale = np.maximum(largest / levels, np.finfo(np.float32).tiny)
    return np.rint(array / scale).astype(np.int8), scale


def save_weights(path: AnyPath, variables: Iterable[Any]) -> None:
    """Write Keras variables in eight bits as a compressed .npz file: values ``w0``, ``w1``, … and
    the scales ``s0``, … of the quantized ones.
    """
    arrays: dict[str, Any] = {}
    for number, variable in enumerate(variables):
        values, scale = quantize(np.asarray(variable))
        arrays[f"w{number}"] = values
        if scale is not None:
            arrays[f"s{number}"] = scale
    np.savez_compressed(path, **arrays)


def load_weights(path: AnyPath, variables: Sequence[Any]) -> None:
    """Load Keras variables from a file that :func:`save_weights` wrote.

    Raises:
        ValueError, KeyError, or one of UNREADABLE: the file is damaged, or has other variables or
            Python objects, which are not read.
    """
    with np.load(path) as file:
        for number, variable in enumerate(variables):
            scale = file.get(f"s{number}", np.float32(1))
            variable.assign(file[f"w{number}"].astype(np.float32) * scale)
