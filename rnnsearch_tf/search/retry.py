"""Repeat the search with a wider beam for sentences without a finished hypothesis, like the
authors' program.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Callable, Sequence

import numpy as np

from rnnsearch_tf.config import PAD_ID, SearchConfig
from rnnsearch_tf.search.beam import BeamResult

Result = typing.TypeVar("Result", bound=tuple[np.ndarray, ...])

LARGEST_BEAM = 500
"""Largest beam size that the authors' program tries."""


def search_until_finished(
    search: Callable[[np.ndarray, SearchConfig], BeamResult], config: SearchConfig, size: int
) -> BeamResult:
    """Beam search of `size` sentences; those without a finished hypothesis are searched again.

    The rule of the authors' program: first allow the unknown word, then double the beam size
    repeatedly, up to 500 hypotheses. The result of a sentence does not depend on the others.
    Departure: where the authors' program finally returns no translation, the best unfinished
    hypothesis of the last search is returned and marked in `finished`.

    Args:
        search: function of (rows, config) that returns the BeamResult of
            :func:`~rnnsearch_tf.search.beam.beam_search` for these rows of the batch (int array),
            as NumPy arrays.
        config: the options of the first search.
        size: int, number of sentences in the batch.

    Returns:
        BeamResult of NumPy arrays, with rows in the order of the sentences.

    Example::

        def search(rows, config):
            state, memory = model.start(source_ids[rows])
            result = beam_search(state, memory, model.step, source_lengths[rows], config)
            return tf.nest.map_structure(np.asarray, result)

        result = search_until_finished(search, config, len(source_ids))
    """
    rows = np.arange(size)
    result = search(rows, config)
    while True:
        rows = rows[~result.finished[rows, 0]]
        wider_config = wider(config)
        if not len(rows) or wider_config is None:
            return result
        config = wider_config
        result = merge_rows([(np.arange(size), result), (rows, search(rows, config))])


def merge_rows(pieces: Sequence[tuple[np.ndarray, Result]]) -> Result:
    """Merge results for different rows of a batch; if two pieces have the same row, the later one
    is used.

    Args:
        pieces: list of (rows, NamedTuple of NumPy arrays [rows, …]); together they have all rows.

    Returns:
        The NamedTuple; each array has the largest sizes of the pieces, padded with zeros (PAD_ID).
    """
    size = 1 + max(max(rows, default=-1) for rows, _ in pieces)

    def merge(values: Sequence[np.ndarray]) -> np.ndarray:
        shape = [size, *np.max([array.shape[1:] for array in values], axis=0).astype(int)]
        merged = np.full(shape, PAD_ID, values[0].dtype)
        for (rows, _), array in zip(pieces, values):
            merged[rows] = PAD_ID
            place: tuple[typing.Any, ...] = (rows, *(slice(size) for size in array.shape[1:]))
            merged[place] = array
        return merged

    return type(pieces[0][1])(*map(merge, zip(*(result for _, result in pieces))))


def wider(config: SearchConfig) -> SearchConfig | None:
    """The options of the next search: the unknown word allowed, or else the beam doubled; None if
    no search is left to try.
    """
    if not config.allow_unknown:
        return dataclasses.replace(config, allow_unknown=True)
    if config.beam_size >= LARGEST_BEAM:
        return None
    return dataclasses.replace(config, beam_size=min(2 * config.beam_size, LARGEST_BEAM))
