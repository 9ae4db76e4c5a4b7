"""The authors' last resort for a sentence none of whose hypotheses finished: search again, more widely."""

from __future__ import annotations

import dataclasses

import numpy as np

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.parallel import as_arrays, merge_rows
from rnnsearch_tf.search.beam import BeamResult

LARGEST_BEAM = 500
"""Hypotheses; where the authors' program gives up."""


def search_until_finished(search, config: SearchConfig, size: int, largest_beam: int = LARGEST_BEAM) -> BeamResult:
    """Beam search of `size` sentences; those that finish nothing are searched again until they do.

    The rule of the authors' program: first with the unknown word allowed, then
    with the beam doubled, again and again, up to 500 hypotheses. It needs new
    searches of some of the sentences, so it is Python around the graph. A
    sentence's answer depends on nothing but that sentence. Departure: where the
    authors give no translation in the end, the best unfinished one of the last
    search is returned, marked in `finished`.

    Args:
        search: function of (rows, config) that runs
            :func:`~rnnsearch_tf.search.beam.beam_search` for the sentences whose indices
            are in `rows` (int array) by that config, and returns its BeamResult.
        config: the first search's options.
        size: int, sentences.
        largest_beam: int, no wider search is tried.

    Returns:
        BeamResult of NumPy arrays, its rows in the order of the sentences.

    Example::

        def search(rows, config):
            state, memory = model.start(source_ids[rows])
            return beam_search(state, memory, model.step, source_lengths[rows], config)

        result = search_until_finished(search, config, len(source_ids))
    """
    rows = np.arange(size)
    result = as_arrays(search(rows, config))
    while True:
        rows = rows[~result.finished[rows, 0]]
        config = wider(config, largest_beam)
        if not len(rows) or config is None:
            return result
        result = merge_rows([(np.arange(size), result), (rows, as_arrays(search(rows, config)))])


def wider(config: SearchConfig, largest_beam: int = LARGEST_BEAM) -> SearchConfig | None:
    """The next search to try, or None: the unknown word allowed, or else the beam doubled."""
    if not config.allow_unknown:
        return dataclasses.replace(config, allow_unknown=True)
    if config.beam_size >= largest_beam:
        return None
    return dataclasses.replace(config, beam_size=min(2 * config.beam_size, largest_beam))
