"""Open the sentence pairs that a configuration names."""

from __future__ import annotations

import os
from typing import Literal, overload

from rnnsearch_tf.config import Config, DataConfig
from rnnsearch_tf.data.pairs import Pairs, held_out
from rnnsearch_tf.data.phrasebook import PARTS, phrasebook
from rnnsearch_tf.errors import UsageError, UserError


@overload
def open_corpus(config: Config, part: Literal["train"] = "train") -> Pairs: ...


@overload
def open_corpus(config: Config, part: str) -> Pairs | None: ...


def open_corpus(config: Config, part: str = "train") -> Pairs | None:
    """Open the pairs of a configuration.

    Args:
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
        return Pairs(zip(*phrasebook(size, part)))
    if part not in ("train", "development"):
        raise UsageError(
            f"data: expected part train or development of a corpus in files, got {part!r}; only"
            " the phrasebook has a part test"
        )
    if data.holds_out:
        training, development = held_out(_training_pairs(data), data.held_out)
        return training if part == "train" else development
    if part == "train":
        return _training_pairs(data)
    if not (data.development_source or data.development_target):
        return None
    return Pairs(_paths(data, "development_source"), _paths(data, "development_target"))


def training_files(data: DataConfig) -> list[tuple[str, str]]:
    """The paths of the training text, (source, target) of each pair of files; they need not exist.

    Example:
        >>> training_files(DataConfig(folder="mine", train_source="a.en", train_target="a.fr"))
        [('mine/a.en', 'mine/a.fr')]
    """
    return [*zip(_named(data, "train_source"), _named(data, "train_target"))]


def check_files(config: Config) -> None:
    """Check that the text files of a configuration exist, without reading them or importing
    TensorFlow.

    Raises:
        UserError: a file is missing.
        UsageError: as for :func:`open_corpus`.
    """
    if config.data.corpus == "files":
        _training_pairs(config.data)
        if not config.data.holds_out:
            open_corpus(config, "development")


def _training_pairs(data: DataConfig) -> Pairs:
    sides = _paths(data, "train_source"), _paths(data, "train_target")
    return Pairs(*sides, data.train_weights)


def _named(data: DataConfig, name: str) -> list[str]:
    """The paths of the files that an option of data names."""
    names = getattr(data, name) or ()
    names = (names,) if isinstance(names, str) else names
    return [os.path.join(data.folder or "", each) for each in names]


def _paths(data: DataConfig, name: str) -> list[str]:
    """The same, of files that exist."""
    paths = _named(data, name)
    if not paths:
        raise UsageError(f"data.{name}: expected a text file, got none; set it")
    for path in paths:
        if not os.path.exists(path):
            raise UserError(
                f"data.{name}: {path}: expected a text file, found none; check the path"
            )
    return paths
