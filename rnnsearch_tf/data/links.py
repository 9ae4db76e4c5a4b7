"""Links of words beside the pairs, for guided alignment: lines of Pharaoh links, as many as the
text has.

A line has the links of one sentence pair, `source-target`, from 0. They number what ``rnnsearch
align`` numbers: the tokens of each side, and under SentencePiece the words that spaces separate.
There a link of two words is one of all their pieces.
"""

from __future__ import annotations

import dataclasses
import os

from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.data.shards import ShardedPairs, files_of
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.reading import read_lines


class LinkedPairs(Pairs):
    """Pairs with the links of their words: :meth:`scan` gives every line its own.

    Args:
        pairs: Pairs.
        links: path of a plain or .gz file of Pharaoh lines, as many as the text has, or a list of
            them.

    Example:
        >>> pairs = LinkedPairs(Pairs(["a house"], ["une maison"]), ["0-0 1-1"])
        >>> [scanned.links for scanned in pairs.good()]
        [('the links:1', '0-0 1-1')]
    """

    linked = True

    def __init__(self, pairs, links: str | os.PathLike | list):
        super().__init__(pairs.source, pairs.target, pairs.on_bad_line)
        self.pairs = pairs
        self.links = links

    def name(self, side):
        return self.pairs.name(side)

    def _require_one(self, report):
        self.pairs._require_one(report)

    def scan(self):
        """Yield every line of both sides as Scanned; UserError where the links are not as many
        lines.
        """
        in_file = isinstance(self.links, (str, os.PathLike))
        name = os.fspath(self.links) if in_file else "the links"
        lines = iter(read_lines(self.links) if in_file else self.links)
        number = 0
        expected = f"expected a line of links for each of {self.name('source')}"
        for scanned in self.pairs.scan():
            number += 1
            line = next(lines, None)
            if line is None:
                raise UserError(
                    f"{name}: {expected}, got {number - 1:,} lines, and no more; make them anew"
                )
            yield dataclasses.replace(scanned, links=(f"{name}:{number}", line))
            if scanned.kind == "unpaired":  # it stands for all that follow
                return
        if next(lines, None) is not None:
            raise UserError(
                f"{name}:{number + 1}: {expected}, which has {number:,}, got more; make them anew"
            )


def with_links(data, pairs: Pairs) -> Pairs:
    """The training pairs with the links of the files that data.train_alignments names.

    Raises:
        UserError: a file is missing.
        UsageError: there are not as many files as of the text.
    """
    name = "data.train_alignments"
    paths = files_of(data, data.train_alignments, name)
    for path in paths:
        if not os.path.exists(path):
            raise UserError(f"{name}: {path}: expected a file of links, found none; check the path")
    if len(paths) != len(pairs.shards):
        raise UsageError(
            f"{name}: expected a file for each of data.train_source, which has"
            f" {len(pairs.shards):,}, got {len(paths):,}; name the same parts"
        )
    linked = [LinkedPairs(shard, path) for shard, path in zip(pairs.shards, paths)]
    return ShardedPairs(linked) if isinstance(pairs, ShardedPairs) else linked[0]
