"""The text of a training, which its RUN keeps: the ids, and the development sentences."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from typing import Any

from rnnsearch_tf.config import Config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.ids import Ids, encode
from rnnsearch_tf.data.pairs import Pairs, as_pairs, held_out
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.files.reading import read_lines
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.progress import say
from rnnsearch_tf.text.pipeline import Text

Sides = tuple[Sequence[str], Sequence[str]]
"""(source sentences, reference translations) of a development text."""


def open_text(config: Config, pairs: Any, development: Any) -> tuple[Pairs, Pairs | None]:
    """The (training, development) pairs, those that are given in Python or those of the
    configuration.

    Raises:
        UsageError: pairs are given for a text that the configuration names.
    """
    data = config.data
    names = ["train_source", "train_target", "train_weights"] if pairs is not None else []
    names += ["development_source", "development_target"] if development is not None else []
    named = [f"data.{name}" for name in names if getattr(data, name)]
    if names and data.corpus != "files":
        named.append(f"data.corpus={data.corpus}")
    if named:
        raise UsageError(
            "train: expected no text in the configuration beside pairs or development, got"
            f" {', '.join(named)}; leave one of them out"
        )
    whole = dataclasses.replace(config, data=dataclasses.replace(data, held_out=0))
    training = open_corpus(whole, "train") if pairs is None else as_pairs(pairs)
    if development is not None:
        return training, as_pairs(development)
    if data.holds_out:
        return held_out(training, data.held_out)
    return training, open_corpus(whole, "development")


def write_development(run: Run, development: Pairs | None, sentences: int) -> None:
    """Write the first development sentences into a RUN: those that evaluations use."""
    if development is not None:
        pairs = [*development][:sentences]  # all are read: files of unequal length are found
        lines = (f"{json.dumps(pair, ensure_ascii=False)}\n" for pair in pairs)
        write_file(run.development, "".join(lines))


def read_development(run: Run) -> Sides | None:
    """The development sentences of a RUN; None if it has none."""
    if not run.development.exists():
        return None
    sources, references = zip(*map(json.loads, read_lines(run.development)))
    return sources, references


def training_ids(run: Run, config: Config, texts: tuple[Text, Text], training: Pairs) -> Ids:
    """Write the ids of a training into its RUN."""
    data = config.data
    seed = config.training.seed
    ids = encode(training, texts, data.maximum_length, data.variants, seed, run.ids)
    if training.report.empty or training.report.too_long:
        say(f"training text: {training.report}")
    return ids
