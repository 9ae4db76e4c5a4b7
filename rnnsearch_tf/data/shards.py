"""A training text in many files (shards), read one after the other."""

from __future__ import annotations

import glob
import itertools
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rnnsearch_tf.data.pairs import LinePair, Pairs, Report
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.reading import exists
from rnnsearch_tf.files.tables import split

if TYPE_CHECKING:
    from rnnsearch_tf.config import DataConfig


class Shard(Pairs):
    """The pairs of one shard, a file on each side; it may be empty."""

    def _check_not_empty(self, report: Report) -> None:
        pass


class ShardedPairs(Pairs):
    """The pairs of several shards, one after the other; bad lines are reported with their file."""

    def __init__(self, shards: Sequence[Pairs]):
        super().__init__(None, None, shards[0].on_bad_line)
        self.shards = shards
        self.linked = shards[0].linked

    def name(self, side: str) -> str:
        first, last = (self.shards[k].name(side) for k in (0, -1))
        return f"{first} … {last} ({len(self.shards):,} files)"

    def scan(self) -> Iterator[LinePair]:
        """Yield every line of every shard; line numbers start from 1 in each."""
        return itertools.chain.from_iterable(shard.scan() for shard in self.shards)


def open_files(
    data: DataConfig,
    source: str | Sequence[str],
    target: str | Sequence[str],
    names: Sequence[str],
) -> Pairs:
    """Open the pairs of one file, or of several, on each side.

    Args:
        data: options of the data.
        source, target: path, paths, or pattern such as ``corpus.*.en.gz``; relative to data.folder.
        names: names of the two options, for messages.

    Raises:
        UserError: a file is missing, or no file matches a pattern.
        UsageError: the sides have different numbers of files.
    """
    sides = [files_of(data, value, name) for value, name in zip((source, target), names)]
    for name, paths in zip(names, sides):
        for path in paths:
            if not exists(path):
                raise UserError(f"{name}: {path}: expected a text file, found none; check the path")
    counts = [len(paths) for paths in sides]
    if counts[0] != counts[1]:
        found = " and ".join(f"{len(paths):,} ({_shown(paths)})" for paths in sides)
        raise UsageError(
            f"{names[0]}, {names[1]}: expected the same number of files on both sides, got {found};"
            " name the same shards of both"
        )
    if counts == [1, 1]:
        return Pairs(sides[0][0], sides[1][0], data.on_bad_line)
    shards = [Shard(*files, on_bad_line=data.on_bad_line) for files in zip(sides[0], sides[1])]
    return ShardedPairs(shards)


def files_of(data: DataConfig, value: str | Sequence[str], name: str | None = None) -> list[str]:
    """The files that an option names; those that match a pattern are sorted by name.

    Args:
        data: options of the data, with the folder.
        value: path, paths, or patterns.
        name: name of the option, for messages; None: a pattern that no file matches is kept.

    Raises:
        UserError: no file matches a pattern.

    Example:
        >>> from rnnsearch_tf.config import DataConfig
        >>> files_of(DataConfig(folder="corpus"), ("a.en", "b.en"), "data.train_source")
        ['corpus/a.en', 'corpus/b.en']
    """
    paths: list[str] = []
    folder = data.folder or ""
    for part in (value,) if isinstance(value, str) else value:
        path = os.path.join(folder, part)
        if not glob.has_magic(part) or exists(path):
            paths.append(path)
            continue
        pattern = os.path.join(glob.escape(folder), part)
        found = sorted(glob.glob(pattern))
        tables, column = split(pattern)
        if column is not None and not found:
            found = [f"{file}#{column}" for file in sorted(glob.glob(tables))]
        if name and not found:
            raise UserError(
                f"{name}: {path}: expected files that match this pattern, found none; check the"
                " path"
            )
        paths += found or [path]
    return paths


def _shown(paths: Sequence[str]) -> str:
    return paths[0] if len(paths) == 1 else f"{paths[0]} … {paths[-1]}"
