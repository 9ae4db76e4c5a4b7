"""Many requests as one batch, and the batch's answer as many again. Dimension 0 is the rows of all
of them.
"""

from __future__ import annotations

import grpc
import numpy as np

from rnnsearch_tf.extras.server.errors import ServingError, invalid_argument


def row_count(inputs) -> int:
    """Rows of a request.

    Args:
        inputs: dict of np.ndarray[B, …].

    Raises:
        ServingError: INVALID_ARGUMENT, an input has no dimension 0 or they differ in it.
    """
    if not inputs:
        raise invalid_argument("Batching Run() must have at least one input tensor")
    if any(array.ndim == 0 for array in inputs.values()):
        raise invalid_argument("Batching Run() input tensors must have at least one dimension")
    rows = {len(array) for array in inputs.values()}
    if len(rows) > 1:
        raise invalid_argument("Batching Run() input tensors must have equal 0th-dimension size")
    return rows.pop()


def shape_key(inputs, padded: bool) -> tuple:
    """What requests must have in common to be merged: shapes after dimension 0, or only ranks if
    they will be padded.
    """
    return tuple(
        (name, array.ndim if padded else array.shape[1:]) for name, array in inputs.items()
    )


def merge(requests, size) -> dict:
    """The inputs of one batch.

    Args:
        requests: list of dicts of np.ndarray[B_i, …], at least one.
        size: rows wanted; beyond those there are, the first row is repeated.

    Returns:
        dict of np.ndarray[size, …]. Arrays of unequal width are filled with
        their own first element, as tensorflow_model_server does.
    """
    return {
        name: _filled(np.concatenate(_equal_widths([inputs[name] for inputs in requests])), size)
        for name in requests[0]
    }


def split(outputs, counts, size) -> list:
    """The outputs of each request.

    Args:
        outputs: list of np.ndarray[size, …].
        counts: rows of each request.
        size: rows of the batch.

    Returns:
        for each request, a list of np.ndarray[count, …].

    Raises:
        ServingError: FAILED_PRECONDITION, an output has no row for every row of the input.
    """
    for array in outputs:
        if array.ndim == 0:
            raise ServingError(
                grpc.StatusCode.FAILED_PRECONDITION, "Batched output tensor has 0 dimensions"
            )
        if len(array) != size:
            raise ServingError(
                grpc.StatusCode.FAILED_PRECONDITION,
                "Batched output tensor's 0th dimension does not equal the sum of the 0th dimension"
                " sizes of the input tensors",
            )
    ends = np.cumsum(counts)
    return [[array[end - count : end] for array in outputs] for count, end in zip(counts, ends)]


def _equal_widths(arrays):
    shape = np.max([array.shape[1:] for array in arrays], axis=0).astype(int)
    if all(array.shape[1:] == tuple(shape) for array in arrays):
        return arrays
    return [_widened(array, shape) for array in arrays]


def _widened(array, shape):
    if not array.size:
        return (
            np.zeros((len(array), *shape), array.dtype)
            if array.dtype != object
            else np.full((len(array), *shape), b"", object)
        )
    missing = [(0, 0), *((0, after - before) for before, after in zip(array.shape[1:], shape))]
    return np.pad(array, missing, constant_values=array.flat[0])


def _filled(array, size):
    if len(array) == size or not len(array):
        return array
    return np.concatenate([array, np.repeat(array[:1], size - len(array), axis=0)])
