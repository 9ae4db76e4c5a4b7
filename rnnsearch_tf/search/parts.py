"""A batch in parts, each computed by a thread of its own (see threads.py), and results put together again."""

from __future__ import annotations

import concurrent.futures

import numpy as np

from rnnsearch_tf.config import PAD_ID


def in_parts(compute, size: int, parts: int):
    """What ``compute`` gives for all rows of a batch.

    Args:
        compute: function of rows (int array) → NamedTuple of tensors [rows, …], the same whatever stands beside a row.
        size: int, rows of the batch.
        parts: int, calls of ``compute`` at once, if there are as many rows.

    Returns:
        The NamedTuple, of NumPy arrays, its rows in their order; see :func:`put_together`.
    """
    rows, parts = np.arange(size), min(parts, size)
    if parts <= 1:
        return arrays(compute(rows))
    chosen = [rows[part::parts] for part in range(parts)]  # neighbours are of like length: every part gets long and short
    with concurrent.futures.ThreadPoolExecutor(parts) as threads:
        results = list(threads.map(lambda rows: arrays(compute(rows)), chosen))
    return put_together(list(zip(chosen, results)))


def arrays(result):
    """The NamedTuple with NumPy arrays for tensors."""
    return type(result)(*(np.asarray(values) for values in result))


def put_together(pieces):
    """One result of several for rows of a batch; where two have a row, it is the later's.

    Args:
        pieces: list of (rows, NamedTuple of arrays [rows, …]); together they have all rows.

    Returns:
        The NamedTuple; each array has the largest sizes of the pieces', zeros (PAD_ID) where a piece ends before.
    """
    size = 1 + max(max(rows, default=-1) for rows, _ in pieces)

    def merged(values):
        shape = [size, *np.max([array.shape[1:] for array in values], axis=0).astype(int)]
        whole = np.full(shape, PAD_ID, values[0].dtype)
        for (rows, _), array in zip(pieces, values):
            whole[rows] = PAD_ID
            whole[(rows, *(slice(length) for length in array.shape[1:]))] = array
        return whole

    return type(pieces[0][1])(*map(merged, zip(*(result for _, result in pieces))))
