"""Word links of the pairs, for guided alignment: one line of Pharaoh links for each line of text.

A link `source-target` is a pair of positions, from 0. As in ``rnnsearch align``, positions count
the tokens of each side, or with SentencePiece the words that spaces separate, or the words that
byte-pair codes cut; there a link of two words links all their pieces.
"""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rnnsearch_tf.data.pairs import LinePair, Pairs, PathOrLines, Report, readable_again
from rnnsearch_tf.data.shards import ShardedPairs, files_of
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.reading import exists, read_lines

if TYPE_CHECKING:
    from rnnsearch_tf.config import DataConfig


class LinkedPairs(Pairs):
    """Pairs with word links: :meth:`scan` adds the links to each line.

    Args:
        pairs: the sentence pairs.
        links: path of a plain or .gz file of Pharaoh lines, or the lines; as many as the text has.

    Example:
        >>> pairs = LinkedPairs(Pairs(["a house"], ["une maison"]), ["0-0 1-1"])
        >>> [pair.links for pair in pairs.good()]
        [('the links:1', '0-0 1-1')]
    """

    linked = True

    def __init__(self, pairs: Pairs, links: PathOrLines):
        super().__init__(pairs.source, pairs.target, pairs.on_bad_line)
        self.pairs = pairs
        self.links = readable_again(links)

    def name(self, side: str) -> str:
        return self.pairs.name(side)

    def _check_not_empty(self, report: Report) -> None:
        self.pairs._check_not_empty(report)

    def scan(self) -> Iterator[LinePair]:
        """Yield every line of both sides; UserError unless there are as many lines of links."""
        if isinstance(self.links, (str, os.PathLike)):
            name = os.fspath(self.links)
            lines = iter(read_lines(self.links))
        else:
            name = "the links"
            lines = iter(self.links)
        number = 0
        expected = f"expected a line of links for each of {self.name('source')}"
        for pair in self.pairs.scan():
            number += 1
            line = next(lines, None)
            if line is None:
                raise UserError(
                    f"{name}: {expected}, got only {number - 1:,} lines; create the links again"
                )
            yield dataclasses.replace(pair, links=(f"{name}:{number}", line))
            if pair.kind == "unpaired":  # represents all remaining lines
                return
        if next(lines, None) is not None:
            raise UserError(
                f"{name}:{number + 1}: {expected}, which has {number:,}, got more; create the links"
                " again"
            )


def with_links(data: DataConfig, pairs: Pairs) -> Pairs:
    """The training pairs with the links of the files that data.train_alignments names.

    Raises:
        UserError: a file is missing.
        UsageError: the numbers of link files and text files differ.
    """
    name = "data.train_alignments"
    paths = files_of(data, data.train_alignments or "", name)
    for path in paths:
        if not exists(path):
            raise UserError(f"{name}: {path}: expected a file of links, found none; check the path")
    if len(paths) != len(pairs.shards):
        raise UsageError(
            f"{name}: expected a file for each of data.train_source, which has"
            f" {len(pairs.shards):,}, got {len(paths):,}; name the same shards"
        )
    linked = [LinkedPairs(shard, path) for shard, path in zip(pairs.shards, paths)]
    return ShardedPairs(linked) if isinstance(pairs, ShardedPairs) else linked[0]
