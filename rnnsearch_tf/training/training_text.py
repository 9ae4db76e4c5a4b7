"""The lengths of the training sentences: recorded in RUN/training_text.json, and compared with the
limits.
"""

from __future__ import annotations

import itertools
import math
import os
import sys
from collections.abc import Iterable, Sequence

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import DataConfig
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.data.prepared.store import PreparedPairs
from rnnsearch_tf.evaluation.warning_signs import TrainingText
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text.pipeline import Text

PAIRS_MEASURED = 10_000
"""Pairs, evenly spread over the training text, whose lengths are recorded."""

MOST_PAIRS_READ = 1_000_000
"""They are spread over no more than so many first pairs of text: to read those takes about a
second. Those of a prepared corpus are spread over all of it.
"""

CHECKED_PAIRS = 1000
"""Number of first pairs whose lengths are compared with the limits."""

MOST_TOO_LONG = 0.02
"""Share of these pairs that may exceed the limits without a message; the limits that `init` chooses
leave out about 1 % of each side.
"""


def record_training_text(
    run: Run,
    text: Text,
    pairs: Pairs,
    longest: int,
    start_from: str | os.PathLike[str] | None = None,
) -> None:
    """Write RUN/training_text.json.

    Args:
        text: the source Text.
        longest: tokens of a source sentence; longer ones are left out of training.
        start_from: path of the RUN that the training starts from, whose text the model knows too.
    """
    lengths = (
        pairs.source_lengths(PAIRS_MEASURED)
        if isinstance(pairs, PreparedPairs)
        else _measured(text, pairs)
    )
    # if every sentence is too long, training will say so
    found = TrainingText.of([length for length in lengths if length <= longest] or lengths)
    before = None if start_from is None else TrainingText.load(Run.open(start_from))
    if before and before.source_length > found.source_length:
        found = before
    found.save(run)


def _measured(text: Text, pairs: Pairs) -> list[int]:
    """Numbers of tokens, without the end symbol, of source sentences that are read from text."""
    step = math.ceil(min(pairs.check().kept, MOST_PAIRS_READ) / PAIRS_MEASURED)
    lines = itertools.islice(pairs.lines(), 0, MOST_PAIRS_READ, step)
    return [len(ids) - 1 for ids in text.encode([source for source, _ in lines]).to_list()]


def report_too_long(
    data: DataConfig, texts: Sequence[Text], pairs: Iterable[tuple[str, str]]
) -> None:
    """Print a message if the length limits leave out many of the first pairs."""
    sides = list(zip(*itertools.islice(pairs, CHECKED_PAIRS)))
    limits = (data.maximum_source_length, data.maximum_target_length)
    # END_ID is not counted
    lengths = [
        text.encode(tf.constant(side)).row_lengths().numpy() - 1 for text, side in zip(texts, sides)
    ]
    share = np.mean((lengths[0] > limits[0]) | (lengths[1] > limits[1]))
    if share > MOST_TOO_LONG:
        print(
            f"{share:.0%} of the first {len(sides[0]):,} pairs are left out of training: they are"
            f" longer than data.maximum_source_length={limits[0]} or"
            f" data.maximum_target_length={limits[1]}; raise these limits to train on them",
            file=sys.stderr,
        )
