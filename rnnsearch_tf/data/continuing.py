"""A training that starts from a trained model: what its configuration must keep, and which of its
text is new.
"""

from __future__ import annotations

import dataclasses
import os

from rnnsearch_tf.config import Config, CorpusConfig
from rnnsearch_tf.config.data_options import DataConfig
from rnnsearch_tf.config.option import names_with
from rnnsearch_tf.data.corpus import files_of, open_corpus, training_corpora
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runs.folder import Run


def check_continues(config: Config, before: Config, run: Run | str) -> None:
    """Raise UsageError if a training that starts from a RUN has another architecture or converts
    text to other ids.

    Args:
        config: Config of the new training.
        before: Config of the RUN.
        run: the RUN, for messages.
    """
    for section in ("source", "target", "model"):
        old, new = (dataclasses.asdict(getattr(c, section)) for c in (before, config))
        free = names_with(getattr(config, section), "free_of_weights")
        for key in old:
            if key not in free and old[key] != new[key]:
                raise UsageError(
                    f"{section}.{key}: expected {old[key]} as in {run}, got {new[key]}; a training"
                    " that starts from a model keeps its architecture and vocabularies: begin the"
                    f" configuration with base: {run}/config.yaml, and leave the option out"
                )


def new_pairs(config: Config, before: Config) -> list[Pairs]:
    """The corpora of a training that a RUN, whose Config is `before`, was not trained on; all of
    them if there are none.
    """
    corpora = open_corpus(config, "train").corpora
    known = {_paths(before.data, corpus) for corpus in training_corpora(before.data)}
    new = [
        pairs
        for (pairs, _), corpus in zip(corpora, training_corpora(config.data))
        if _paths(config.data, corpus) not in known
    ]
    return new or [pairs for pairs, _ in corpora]


def _paths(data: DataConfig, corpus: CorpusConfig) -> tuple[tuple[str, ...], ...]:
    """The absolute paths of the files of each side of a corpus; they need not exist."""
    sides = (files_of(data, getattr(corpus, side)) for side in ("source", "target"))
    return tuple(tuple(map(os.path.abspath, paths)) for paths in sides)
