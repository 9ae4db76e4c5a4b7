"""Searching again with a wider beam where no hypothesis of a sentence finished, as the authors' program does."""

from __future__ import annotations

import dataclasses

import numpy as np

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.parallel import as_arrays, merge_rows
from rnnsearch_tf.search.beam import BeamResult

LARGEST_BEAM = 500
"""Beam size at which the authors' program gives up."""


def search_until_finished(search, config: SearchConfig, size: int, largest_beam: int = LARGEST_BEAM) -> BeamResult:
    """Beam search of `size` sentences; those without a finished hypothesis are searched again.

    The rule of the authors' program: first with the unknown word allowed, then with the beam doubled again and
    again, up to 500 hypotheses. A sentence's result does not depend on the others. Departure: where the
    authors' program returns no translation in the end, the best unfinished hypothesis of the last search is
    returned, marked in `finished`.

    Args:
        search: function of (rows, config) that returns the BeamResult of
            :func:`~rnnsearch_tf.search.beam.beam_search` for these rows of the batch (int array).
        config: the options of the first search.
        size: int, sentences in the batch.
        largest_beam: int, the widest beam to try.

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
    """The options of the next search: the unknown word allowed, or else the beam doubled; None: there is none."""
    if not config.allow_unknown:
        return dataclasses.replace(config, allow_unknown=True)
    if config.beam_size >= largest_beam:
        return None
    return dataclasses.replace(config, beam_size=min(2 * config.beam_size, largest_beam))
