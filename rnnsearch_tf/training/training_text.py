"""The text of a training: the ids that its RUN keeps, and its development sentences."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterable, Sequence
from typing import Any

from rnnsearch_tf.config import Config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.ids import Ids, cached_folder, encode, key_of, open_ids, stored_key
from rnnsearch_tf.data.pairs import Pairs, as_pairs, held_out
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.files.reading import read_lines
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.runtime.progress import say
from rnnsearch_tf.text.pipeline import Text

Sides = tuple[Sequence[str], Sequence[str]]
"""(source sentences, reference translations) of a development text."""


def check_given(config: Config, pairs: Any, development: Any) -> None:
    """Raise UsageError if pairs are given in Python for a text that the configuration names."""
    data = config.data
    names = ["train_source", "train_target"] if pairs is not None else []
    names += ["development_source", "development_target"] if development is not None else []
    named = [f"data.{name}" for name in names if getattr(data, name)]
    if names and data.corpus != "files":
        named.append(f"data.corpus={data.corpus}")
    if named:
        raise UsageError(
            "train: expected no text in the configuration beside pairs or development, got"
            f" {', '.join(named)}; leave one of them out"
        )


def with_given_development(config: Config, run: Run, development: Any, resume: bool) -> Config:
    """The configuration that holds nothing out if a development text is given, or if the resumed
    training began with pairs in Python and one.
    """
    key = stored_key(run.ids) if resume else None
    is_given = development is not None
    if key and not key["files"] and config.data.corpus == "files":
        is_given = not key["held_out"]
    if not is_given:
        return config
    return dataclasses.replace(config, data=dataclasses.replace(config.data, held_out=0))


def open_text(config: Config, pairs: Any, development: Any) -> tuple[Pairs, Pairs | None]:
    """The (training, development) pairs, those that are given or those of the configuration."""
    whole = dataclasses.replace(config, data=dataclasses.replace(config.data, held_out=0))
    training = open_corpus(whole, "train") if pairs is None else as_pairs(pairs)
    if development is not None:
        return training, as_pairs(development)
    if config.data.held_out:
        return held_out(training, config.data.held_out)
    return training, open_corpus(whole, "development")


def write_text(
    run: Run,
    config: Config,
    texts: tuple[Text, Text],
    training: Pairs,
    development: Pairs | None,
) -> tuple[Ids, Sides | None]:
    """Write the ids of a training into its RUN, or into data.cache if they are not there yet; and
    the development sentences, unless the configuration names their files.

    Returns:
        (the ids, the development sentences that evaluations use, if there is a development text).
    """
    sentences = None
    if development is not None:
        sentences = [*development]
        _say_report(development, "development")
        if _keeps_development(config):
            lines = (json.dumps(pair, ensure_ascii=False) for pair in sentences)
            write_file(run.development, "".join(f"{line}\n" for line in lines))
    key = key_of(config, texts)
    folder = run.ids
    if config.data.cache and key["files"]:
        folder = cached_folder(config.data.cache, key)
        if stored_key(folder) == key:
            return open_ids(folder), _first(sentences, config)
    data = config.data
    ids = encode(
        training, texts, data.maximum_length, data.variants, config.training.seed, folder, key
    )
    _say_report(training, "training")
    return ids, _first(sentences, config)


def read_text(run: Run, config: Config, texts: tuple[Text, Text]) -> tuple[Ids, Sides | None]:
    """The same of a resumed training. The training text is read only if an option of it changed."""
    key = key_of(config, texts)
    folder = run.ids
    if config.data.cache and key["files"]:
        folder = cached_folder(config.data.cache, key)
    saved: list[tuple[str, str]] | None = None
    if _keeps_development(config) and run.development.exists():
        saved = [
            (source, target) for source, target in map(json.loads, read_lines(run.development))
        ]
    if stored_key(folder) == key:
        pairs = saved or open_corpus(config, "development")
        return open_ids(folder), _first(pairs, config)
    given = None if config.data.held_out else saved
    return write_text(run, config, texts, *open_text(config, None, given))


def _keeps_development(config: Config) -> bool:
    """Whether RUN has the development sentences: held-out ones, or given in Python."""
    return config.data.corpus == "files" and not config.data.development_source


def _first(pairs: Iterable[tuple[str, str]] | None, config: Config) -> Sides | None:
    """The sides of the pairs that evaluations use."""
    if pairs is None:
        return None
    sources, references = zip(*[*pairs][: config.training.evaluate_sentences])
    return sources, references


def _say_report(pairs: Pairs, part: str) -> None:
    report = pairs.report
    if report.empty or report.too_long:
        say(f"{part} text: {report}")
