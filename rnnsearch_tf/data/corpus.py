"""Open the sentence pairs that a configuration names."""

from __future__ import annotations

import dataclasses
import os
from typing import Any, Literal, overload

from rnnsearch_tf.alignment.pharaoh import as_pharaoh
from rnnsearch_tf.config import Config, DataConfig
from rnnsearch_tf.data.held_out import HeldOut, SplitPairs
from rnnsearch_tf.data.links import LinkedPairs, with_links
from rnnsearch_tf.data.mixture import MixedPairs
from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.data.phrase_table import PhrasePairs
from rnnsearch_tf.data.phrasebook import phrasebook, phrasebook_alignments
from rnnsearch_tf.data.shards import open_files
from rnnsearch_tf.config.effects import evaluation_defaults
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.config.data_options import CorpusConfig
from rnnsearch_tf.config.text_checks import names_development_text

HELD_OUT_SIZE = 500
"""Pairs in the development and in the test part of the built-in corpus."""


def training_corpora(data: DataConfig) -> tuple[CorpusConfig, ...]:
    """The training texts in files: those of data.corpora, or the one of data.train_source and
    data.train_target.
    """
    return data.corpora or (CorpusConfig(data.train_source or "", data.train_target or ""),)


@overload
def open_corpus(config: Config, part: Literal["train"] = "train") -> Pairs: ...


@overload
def open_corpus(config: Config, part: str) -> Pairs | None: ...


def open_corpus(config: Config, part: str = "train") -> Pairs | None:
    """Open the pairs of a configuration.

    Args:
        config: the configuration.
        part: "train", "development", or "test" (built-in corpus only).

    Returns:
        The pairs; None if there is no development text. Training pairs have links if
        training.guided_alignment_weight is set.

    Raises:
        UsageError: no file is named for a side.
    """
    data = config.data
    guided = part == "train" and config.training.guided_alignment_weight
    if data.corpus == "phrasebook":
        size = data.phrasebook_size if part == "train" else HELD_OUT_SIZE
        drawn = size, data.phrasebook_seed, part
        pairs = Pairs(*phrasebook(*drawn), data.on_bad_line)
        if not guided:
            return pairs
        return LinkedPairs(pairs, [*map(as_pharaoh, phrasebook_alignments(*drawn))])
    if part not in ("train", "development"):
        raise UsageError(
            f"data: expected part train or development of a corpus in files, got {part!r}; only"
            " the phrasebook has a part test"
        )
    if data.corpus == "phrase_table" and part == "train":
        if data.phrase_table is None:
            raise UsageError("data.phrase_table: expected a Moses phrase table, got none; set it")
        return PhrasePairs(os.path.join(data.folder or "", data.phrase_table), data.on_bad_line)
    if data.held_out:
        whole = dataclasses.replace(config, data=dataclasses.replace(data, held_out=0))
        return _split(open_corpus(whole, "train"), data.held_out, part)
    if data.prepared is not None and (
        part == "train" or data.development_source is None and data.development_target is None
    ):
        # imports TensorFlow, which takes seconds
        from rnnsearch_tf.data.prepared.store import PreparedPairs

        prepared = PreparedPairs(data.prepared)
        prepared.check_config(config)
        return prepared if part == "train" else prepared.development()
    if data.corpora is not None and part == "train":
        numbered = enumerate(data.corpora, start=1)
        return MixedPairs((_corpus(data, each, number), each.weight) for number, each in numbered)
    names = [f"{part}_source", f"{part}_target"]
    paths = [getattr(data, name) for name in names]
    if part == "development" and paths == [None, None]:
        return None
    for name, path in zip(names, paths):
        if path is None:
            others = ", data.corpora, data.prepared" if part == "train" else ""
            raise UsageError(
                f"data.{name}: expected a text file, got none; set it{others}, or"
                " data.corpus=phrasebook"
            )
    pairs = open_files(data, paths[0], paths[1], [f"data.{name}" for name in names])
    return with_links(data, pairs) if guided else pairs


def check_files(config: Config) -> None:
    """Check that the text files of a configuration exist, without reading them or importing
    TensorFlow.

    Raises:
        UserError: a file is missing.
        UsageError: as for :func:`open_corpus`.
    """
    if config.data.corpus == "files" and config.data.prepared is None:
        for part in ("train", "development"):
            open_corpus(config, part)


def check_development(config: Config) -> None:
    """Raise UsageError if an option of the evaluations is set without a development text."""
    for name, default in _idle_without_development_text(config).items():
        raise UsageError(
            f"training.{name}: has no effect without a development text; set"
            " data.development_source and data.development_target, or data.held_out, or leave"
            f" training.{name} at its default, {default}"
        )


def with_default_evaluations(config: Config, named: set[str]) -> Config:
    """Reset the options of the evaluations to their defaults if there is no development text.

    Args:
        config: the configuration.
        named: dotted names of options to keep.
    """
    unnamed = _idle_without_development_text(config, named)
    return dataclasses.replace(config, training=dataclasses.replace(config.training, **unnamed))


def _idle_without_development_text(config: Config, named: set[str] | None = None) -> dict[str, Any]:
    """{name: default} of the options of the evaluations that are set but have no effect, because
    there is no development text; without `named`.
    """
    # the prepared corpus need not exist yet
    if names_development_text(dataclasses.replace(config.data, prepared=None)):
        return {}
    if config.data.prepared is not None and open_corpus(config, "development") is not None:
        return {}
    return evaluation_defaults(config.training, named or set())


def _split(pairs: Pairs, size: int, part: str) -> Pairs:
    """A part of the training text. In a mixture, the development text is taken from the first
    corpus, and its sentences are left out of all.
    """
    first, _ = pairs.corpora[0]
    held_out = HeldOut(first, size)
    if part == "development" or not isinstance(pairs, MixedPairs):
        return SplitPairs(first, held_out, part)
    return MixedPairs(
        (SplitPairs(corpus, held_out, part), weight) for corpus, weight in pairs.corpora
    )


def _corpus(data: DataConfig, corpus: CorpusConfig, number: int) -> Pairs:
    names = [f"data.corpora: entry {number}: {side}" for side in ("source", "target")]
    pairs = open_files(data, corpus.source or "", corpus.target or "", names)
    return SplitPairs(pairs, HeldOut(pairs, corpus.held_out), "train") if corpus.held_out else pairs
