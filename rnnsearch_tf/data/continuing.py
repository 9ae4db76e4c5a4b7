"""A training that starts from a trained model: what its configuration must keep, and which of its
text is new.
"""

from __future__ import annotations

import dataclasses
import os

from rnnsearch_tf.config import Config, DataConfig
from rnnsearch_tf.data.corpus import open_corpus, training_files
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
        for key in old:
            if not key.endswith("_dropout") and old[key] != new[key]:
                raise UsageError(
                    f"{section}.{key}: expected {old[key]} as in {run}, got {new[key]}; a training"
                    " that starts from a model keeps its architecture and vocabularies: begin the"
                    f" configuration with base: {run}/config.yaml, and leave the option out"
                )


def new_pairs(config: Config, before: Config) -> Pairs:
    """The files of a training that a RUN, whose Config is `before`, was not trained on; the whole
    training text if there are none.
    """
    known = {*_absolute(before.data)}
    new = [files for files in _absolute(config.data) if files not in known]
    return Pairs(*zip(*new)) if new else open_corpus(config, "train")


def _absolute(data: DataConfig) -> list[tuple[str, str]]:
    return [
        (os.path.abspath(source), os.path.abspath(target))
        for source, target in training_files(data)
    ]
