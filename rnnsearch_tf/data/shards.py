"""A training text in many files: which they are, and their pairs one file after the other."""

from __future__ import annotations

import glob
import itertools
import os

from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.errors import UsageError, UserError


class Shard(Pairs):
    """The pairs of two of many files; alone it may be empty."""

    def _require_one(self, report):
        pass


class ShardedPairs(Pairs):
    """The pairs of many pairs of files, one after the other; bad lines are named with the file they
    are in.

    Args:
        shards: list of Shard.
    """

    def __init__(self, shards):
        super().__init__(None, None, shards[0].on_bad_line)
        self.shards = shards
        self.linked = shards[0].linked

    def name(self, side):
        first, last = (self.shards[k].name(side) for k in (0, -1))
        return f"{first} … {last} ({len(self.shards):,} files)"

    def scan(self):
        """Yield every line of every shard as Scanned; numbers count from 1 in each."""
        return itertools.chain.from_iterable(shard.scan() for shard in self.shards)


def open_files(data, source, target, names) -> Pairs:
    """The pairs of two files, or of as many on both sides.

    Args:
        data: DataConfig.
        source, target: path, list of paths, or pattern such as ``corpus.*.en.gz``; relative to
            data.folder.
        names: what messages call the two options.

    Raises:
        UserError: a file is missing, or a pattern fits none.
        UsageError: there are not as many files on both sides.
    """
    sides = [files_of(data, value, name) for value, name in zip((source, target), names)]
    for name, paths in zip(names, sides):
        for path in paths:
            if not os.path.exists(path):
                raise UserError(f"{name}: {path}: expected a text file, found none; check the path")
    counts = [len(paths) for paths in sides]
    if counts[0] != counts[1]:
        found = " and ".join(f"{len(paths):,} ({_shown(paths)})" for paths in sides)
        raise UsageError(
            f"{names[0]}, {names[1]}: expected as many files on both sides, got {found}; name the"
            " same parts of both"
        )
    if counts == [1, 1]:
        return Pairs(sides[0][0], sides[1][0], data.on_bad_line)
    return ShardedPairs([Shard(*paths, data.on_bad_line) for paths in zip(*sides)])


def files_of(data, value, name=None) -> list[str]:
    """The files that an option names; those that fit a pattern in the order of their names.

    Raises:
        UserError: none fits a pattern; without a name of the option the pattern then stands for
            itself.

    Example:
        >>> from rnnsearch_tf.config import DataConfig
        >>> files_of(DataConfig(folder="corpus"), ("a.en", "b.en"), "data.train_source")
        ['corpus/a.en', 'corpus/b.en']
    """
    paths = []
    for part in (value,) if isinstance(value, str) else value:
        path = os.path.join(data.folder or "", part)
        if not glob.has_magic(path) or os.path.exists(path):
            paths.append(path)
            continue
        found = sorted(glob.glob(path))
        if name and not found:
            raise UserError(
                f"{name}: {path}: expected files that fit this pattern, found none; check the path"
            )
        paths += found or [path]
    return paths


def _shown(paths):
    return paths[0] if len(paths) == 1 else f"{paths[0]} … {paths[-1]}"
