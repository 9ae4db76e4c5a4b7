"""Open the sentence pairs that a configuration names."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator, Sequence
from typing import Any, Literal, overload

from rnnsearch_tf.config import Config, DataConfig
from rnnsearch_tf.config.data_options import CorpusConfig
from rnnsearch_tf.config.effects import evaluation_defaults
from rnnsearch_tf.config.text_checks import names_development_text
from rnnsearch_tf.data.held_out import HeldOut, SplitPairs
from rnnsearch_tf.data.mixture import MixedPairs
from rnnsearch_tf.data.pairs import LinePair, Pairs
from rnnsearch_tf.data.phrasebook import PARTS, phrasebook
from rnnsearch_tf.errors import UsageError, UserError


class SeveralFiles(Pairs):
    """The pairs of several files, one after the other; bad lines are reported with their file."""

    def __init__(self, files: Sequence[Pairs]):
        super().__init__(None, None, files[0].on_bad_line)
        self.files = files

    def name(self, side: str) -> str:
        first, last = (self.files[k].name(side) for k in (0, -1))
        return f"{first} … {last} ({len(self.files):,} files)"

    def scan(self) -> Iterator[LinePair]:
        """Yield every line of every file; line numbers start from 1 in each."""
        return itertools.chain.from_iterable(pairs.scan() for pairs in self.files)


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
        The pairs; None if there is no development text.

    Raises:
        UsageError: no file is named for a side.
        UserError: a file is missing.
    """
    data = config.data
    if data.corpus == "phrasebook":
        size = data.phrasebook_size if part == "train" else PARTS.get(part, 0)
        return Pairs(*phrasebook(size, part), data.on_bad_line)
    if part not in ("train", "development"):
        raise UsageError(
            f"data: expected part train or development of a corpus in files, got {part!r}; only"
            " the phrasebook has a part test"
        )
    if data.held_out:
        whole = dataclasses.replace(config, data=dataclasses.replace(data, held_out=0))
        return _split(open_corpus(whole, "train"), data.held_out, part)
    if data.corpora is not None and part == "train":
        numbered = enumerate(data.corpora, start=1)
        return MixedPairs((_corpus(data, each, number), each.weight) for number, each in numbered)
    names = [f"{part}_source", f"{part}_target"]
    paths = [getattr(data, name) for name in names]
    if part == "development" and paths == [None, None]:
        return None
    for name, path in zip(names, paths):
        if path is None:
            others = ", data.corpora" if part == "train" else ""
            raise UsageError(
                f"data.{name}: expected a text file, got none; set it{others}, or"
                " data.corpus=phrasebook"
            )
    return _open_files(data, paths[0], paths[1], [f"data.{name}" for name in names])


def check_files(config: Config) -> None:
    """Check that the text files of a configuration exist, without reading them or importing
    TensorFlow.

    Raises:
        UserError: a file is missing.
        UsageError: as for :func:`open_corpus`.
    """
    if config.data.corpus == "files":
        for part in ("train", "development"):
            open_corpus(config, part)


def check_development(config: Config) -> None:
    """Raise UsageError if an option of the evaluations is set without a development text."""
    if names_development_text(config.data):
        return
    for name, default in evaluation_defaults(config.training, set()).items():
        raise UsageError(
            f"training.{name}: has no effect without a development text; set"
            " data.development_source and data.development_target, or data.held_out, or leave"
            f" training.{name} at its default, {default}"
        )


def files_of(data: DataConfig, value: str | Sequence[str] | None) -> list[str]:
    """The paths of the files that an option names.

    Example:
        >>> from rnnsearch_tf.config import DataConfig
        >>> files_of(DataConfig(folder="corpus"), ("a.en", "b.en"))
        ['corpus/a.en', 'corpus/b.en']
    """
    names = (value,) if isinstance(value, str) else value or ()
    return [os.path.join(data.folder or "", name) for name in names]


def _open_files(data: DataConfig, source: Any, target: Any, names: Sequence[str]) -> Pairs:
    """Open the pairs of one file, or of several, on each side; `names` are those of the two options
    in messages.
    """
    sides = [files_of(data, value) for value in (source, target)]
    for name, paths in zip(names, sides):
        for path in paths:
            if not os.path.exists(path):
                raise UserError(f"{name}: {path}: expected a text file, found none; check the path")
    counts = [len(paths) for paths in sides]
    if counts[0] != counts[1]:
        raise UsageError(
            f"{names[0]}, {names[1]}: expected the same number of files on both sides, got"
            f" {counts[0]:,} and {counts[1]:,}; name the same parts of both"
        )
    files = [Pairs(source, target, data.on_bad_line) for source, target in zip(*sides)]
    return files[0] if len(files) == 1 else SeveralFiles(files)


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
    return _open_files(data, corpus.source or "", corpus.target or "", names)
