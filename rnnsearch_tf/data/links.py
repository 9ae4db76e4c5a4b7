"""Links of words beside the pairs, for guided alignment: read from Pharaoh lines, made links of tokens, and a matrix of a batch.

A line has the links of one sentence pair, `source-target`, from 0. They number what ``rnnsearch align`` numbers: the tokens of
each side, and under SentencePiece the words that spaces separate. There a link of two words is one of all their pieces.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import re

import numpy as np

from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.data.shards import ShardedPairs, files_of
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.io.reading import read_lines
from rnnsearch_tf.text.characters import WORD_START

_LINK = re.compile(r"(\d{1,9})-(\d{1,9})")


class LinkedPairs(Pairs):
    """Pairs with the links of their words: :meth:`scan` gives every line its own.

    Args:
        pairs: Pairs.
        links: path of a plain or .gz file of Pharaoh lines, as many as the text has, or a list of them.

    Example:
        >>> [scanned.links for scanned in LinkedPairs(Pairs(["a house"], ["une maison"]), ["0-0 1-1"]).good()]
        [('the links:1', '0-0 1-1')]
    """

    linked = True

    def __init__(self, pairs, links: str | os.PathLike | list):
        super().__init__(pairs.source, pairs.target, pairs.on_bad_line)
        self.pairs, self.links = pairs, links

    def name(self, side):
        return self.pairs.name(side)

    def scan(self):
        """Yield every line of both sides as Scanned; UserError where the links are not as many lines."""
        in_file = isinstance(self.links, (str, os.PathLike))
        name = os.fspath(self.links) if in_file else "the links"
        lines = iter(read_lines(self.links) if in_file else self.links)
        number = 0
        for scanned in self.pairs.scan():
            number += 1
            line = next(lines, None)
            if line is None:
                raise UserError(f"{name}: expected a line of links for each of {self.name('source')}, got {number - 1:,} lines, and no more; make them anew")
            yield dataclasses.replace(scanned, links=(f"{name}:{number}", line))
            if scanned.kind == "unpaired":  # it stands for all that follow
                return
        if next(lines, None) is not None:
            raise UserError(f"{name}:{number + 1}: expected a line of links for each of {self.name('source')}, which has {number:,}, got more; make them anew")


def with_links(data, pairs: Pairs) -> Pairs:
    """The training pairs with the links of the files that data.train_alignments names.

    Raises:
        UserError: a file is not there.
        UsageError: there are not as many files as of the text.
    """
    name = "data.train_alignments"
    paths = files_of(data, data.train_alignments, name)
    for path in paths:
        if not os.path.exists(path):
            raise UserError(f"{name}: {path}: expected a file of links, found none; check the path")
    shards = pairs.shards if isinstance(pairs, ShardedPairs) else [pairs]
    if len(paths) != len(shards):
        raise UsageError(f"{name}: expected a file for each of data.train_source, which has {len(shards):,}, got {len(paths):,}; name the same parts")
    linked = [LinkedPairs(shard, path) for shard, path in zip(shards, paths)]
    return ShardedPairs(linked) if isinstance(pairs, ShardedPairs) else linked[0]


class WordLinks:
    """Reads the links of a corpus, and makes links of tokens of them.

    Args:
        texts: (source Text, target Text).
    """

    def __init__(self, texts):
        self._begins = [_begins(text) for text in texts]

    def read(self, line: str, where: str, pair) -> np.ndarray:
        """The links of a line, int32 [links, 2]: (source word, target word).

        Args:
            line: ``0-0 1-2``.
            where: file and line, for errors.
            pair: (source, target), each its ids, the end symbol last, or its text as SentencePiece meets it.

        Raises:
            UserError: a word is no link, or links what is not there.
        """
        found = [_LINK.fullmatch(word) for word in line.split()]
        if None in found:
            wrong = line.split()[found.index(None)]
            raise UserError(f"{where}: expected links `1-2` of words, separated by spaces, got {wrong!r}; correct the line")
        links = np.array([match.groups() for match in found], np.int32).reshape(-1, 2)
        for side, last, words in zip(("source", "target"), links.max(axis=0, initial=-1), map(_words, pair, self._begins)):
            if last >= words:
                raise UserError(
                    f"{where}: expected links of the {words} {side} words, from 0, got one of word {last}; number the tokens that the "
                    f"{side} side is cut into, or under SentencePiece the words between spaces, as rnnsearch align does"
                )
        return links

    def of_tokens(self, links, ids) -> np.ndarray:
        """Links of tokens, int32 [links, 2]: those of all tokens of two words that are linked.

        Args:
            links: int32 [links, 2], of words.
            ids: (source ids, target ids), the end symbol last.
        """
        if all(begins is None for begins in self._begins):
            return links
        tokens = [_tokens_of_words(each, begins) for each, begins in zip(ids, self._begins)]
        together = (itertools.product(tokens[0][j], tokens[1][i]) for j, i in links.tolist())
        return np.array(list(itertools.chain.from_iterable(together)), np.int32).reshape(-1, 2)


def alignment_matrix(links, source_length: int, target_length: int) -> np.ndarray:
    """A of a batch: the share of each source token in the links of a target token.

    Args:
        links: list of int32 [links, 2]: (source token, target token) of each pair.
        source_length, target_length: J and I of the batch.

    Returns:
        float32 [B, I, J]; a row sums to 1, or is 0 where a target token has no links.

    Example:
        >>> alignment_matrix([np.array([[0, 1], [2, 1]])], 3, 2).tolist()
        [[[0.0, 0.0, 0.0], [0.5, 0.0, 0.5]]]
    """
    matrix = np.zeros((len(links), target_length, source_length), np.float32)
    for row, pairs in zip(matrix, links):
        row[pairs[:, 1], pairs[:, 0]] = 1
    return matrix / np.maximum(matrix.sum(axis=-1, keepdims=True), 1)


def _begins(text):
    """Whether each id begins a word, bool [V]; None where tokens are words."""
    if text.config.tokenization != "sentencepiece":
        return None
    return np.array([piece.startswith(WORD_START) for piece in text.vocabulary.tokens])


def _words(side, begins) -> int:
    """How many words one side of a pair has."""
    if isinstance(side, str):
        return len(side.split())
    return len(side) - 1 if begins is None else int(begins[side[:-1]].sum())


def _tokens_of_words(ids, begins) -> list:
    """The positions of each word's tokens."""
    words = np.arange(len(ids) - 1) if begins is None else np.cumsum(begins[ids[:-1]]) - 1
    return [np.flatnonzero(words == word) for word in range(words[-1] + 1 if len(words) else 0)]
