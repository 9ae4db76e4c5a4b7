"""The sentence pairs that a configuration names, opened."""

from __future__ import annotations

import dataclasses
import os

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
from rnnsearch_tf.config.training_text import names_development_text

HELD_OUT_SIZE = 500
"""Pairs in the development and in the test part of the built-in corpus."""


def training_corpora(data: DataConfig) -> tuple:
    """The training texts in files that a data section names: CorpusConfigs, whether it has a list
    of them or one.
    """
    return data.corpora or (CorpusConfig(data.train_source or "", data.train_target or ""),)


def open_corpus(config: Config, part: str = "train") -> Pairs | None:
    """The pairs a configuration names.

    Args:
        config: Config.
        part: "train", "development", or "test" (built-in corpus only).

    Returns:
        Pairs; None where no development files are named. Those of training have links where
        training.guided_alignment_weight is set.

    Raises:
        UsageError: a needed file is not named, or only one of two is.
    """
    data = config.data
    guided = part == "train" and config.training.guided_alignment_weight
    if data.corpus == "phrasebook":
        size = data.phrasebook_size if part == "train" else HELD_OUT_SIZE
        drawn = size, data.phrasebook_seed, part
        pairs = Pairs(*phrasebook(*drawn), data.on_bad_line)
        return (
            LinkedPairs(pairs, [_pharaoh(links) for links in phrasebook_alignments(*drawn)])
            if guided
            else pairs
        )
    if part not in ("train", "development"):
        raise UsageError(
            f"data: expected part train or development of a corpus in files, got {part!r}"
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
        # with TensorFlow, which takes its seconds
        from rnnsearch_tf.data.prepared.store import (
            PreparedPairs,
        )

        prepared = PreparedPairs(data.prepared)
        prepared.check_config(config)
        return prepared if part == "train" else prepared.development()
    if data.corpora is not None and part == "train":
        return MixedPairs(
            [
                (_corpus(data, corpus, number), corpus.weight)
                for number, corpus in enumerate(data.corpora, start=1)
            ]
        )
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
    pairs = open_files(data, *paths, [f"data.{name}" for name in names])
    return with_links(data, pairs) if guided else pairs


def check_files(config: Config) -> None:
    """Open the text files that a configuration names, without reading them: an error takes no time,
    and no TensorFlow.

    Raises:
        UserError: a file is missing.
        UsageError: as of :func:`open_corpus`.
    """
    if config.data.corpus == "files" and config.data.prepared is None:
        for part in ("train", "development"):
            open_corpus(config, part)


def check_development(config: Config) -> None:
    """Raise UsageError where an option of the evaluations is not at its default, and there is no
    development text.

    Args:
        config: Config of a training that begins.
    """
    for name, default in _idle_without_development_text(config).items():
        raise UsageError(
            f"training.{name}: has no effect without a development text; set"
            " data.development_source and data.development_target, or data.held_out, or leave"
            f" training.{name} at its default, {default}"
        )


def with_default_evaluations(config: Config, named: set) -> Config:
    """The Config; where there is no development text, options of the evaluations that are not named
    are at their defaults.

    Args:
        config: Config.
        named: dotted names of the options that stay as they are.
    """
    unnamed = _idle_without_development_text(config, named)
    return dataclasses.replace(config, training=dataclasses.replace(config.training, **unnamed))


def _idle_without_development_text(config, named=frozenset()):
    """{name: default} of the unnamed options of the evaluations that are not at their defaults and
    lack a development text.
    """
    # the files need not be there yet
    if names_development_text(dataclasses.replace(config.data, prepared=None)):
        return {}
    if config.data.prepared is not None and open_corpus(config, "development") is not None:
        return {}
    return evaluation_defaults(config.training, named)


def _pharaoh(links):
    return " ".join(f"{source}-{target}" for source, target in links)


def _split(pairs, size, part):
    """A part of the training text; of several corpora the first gives the development text, and all
    keep its sentences out of training.
    """
    first, _ = pairs.corpora[0]
    held_out = HeldOut(first, size)
    if part == "development" or not isinstance(pairs, MixedPairs):
        return SplitPairs(first, held_out, part)
    return MixedPairs(
        [(SplitPairs(corpus, held_out, part), weight) for corpus, weight in pairs.corpora]
    )


def _corpus(data, corpus, number):
    names = [f"data.corpora: entry {number}: {side}" for side in ("source", "target")]
    pairs = open_files(data, corpus.source, corpus.target, names)
    return SplitPairs(pairs, HeldOut(pairs, corpus.held_out), "train") if corpus.held_out else pairs
