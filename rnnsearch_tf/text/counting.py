"""Exact counts of more words than memory should hold: sorted files, added up while they are read
side by side.
"""

from __future__ import annotations

import collections
import heapq
import itertools
import operator
import tempfile

import tensorflow as tf

from rnnsearch_tf.files.atomic import naming
from rnnsearch_tf.runtime.progress import progress
from rnnsearch_tf.text.vocabulary import batches

_WORDS_IN_MEMORY = 500_000

OPEN_AT_ONCE = 100
"""Files of saved counts; a process may have no more than 1,024 open on most systems."""


class TokenCounts:
    """How often each token of a text occurs, counted as the text goes by.

    Args:
        tokenize: function string [B] -> RaggedTensor string [B, None].
        most_lines: lines counted; None: all.
        most_words: different words held in memory; more are kept in temporary files.

    Example:
        >>> counts = TokenCounts(tf.strings.split)
        >>> counts.add(["a b", "b"])
        >>> sorted(counts.total().items())
        [('a', 1), ('b', 2)]
    """

    def __init__(self, tokenize, most_lines=None, most_words=_WORDS_IN_MEMORY):
        @tf.function(autograph=False, input_signature=[tf.TensorSpec([None], tf.string)])
        def distinct(texts):
            words, _, counts = tf.unique_with_counts(tokenize(texts).flat_values, tf.int64)
            return words, counts

        self._distinct, self._counts = distinct, collections.Counter()
        self.most_lines = most_lines
        self._most_words = most_words
        self._lines_left = most_lines
        self._files = []

    def add(self, lines):
        """Count the tokens of a list of lines, str or bytes."""
        if self._lines_left is not None:
            lines = lines[: self._lines_left]
            self._lines_left -= len(lines)
        if not lines:
            return
        words, counts = self._distinct(tf.constant(lines, tf.string))
        for word, count in zip(words.numpy().tolist(), counts.numpy().tolist()):
            self._counts[word] += count
        if len(self._counts) > self._most_words:
            self._put_away(sorted(self._counts.items()))

    def total(self, most=None) -> collections.Counter:
        """The counts, by str; no more than `most`, those of the most frequent words, and of equals
        the first by code points.
        """
        items = ((word.decode("utf-8"), count) for word, count in self._items())
        return collections.Counter(
            dict(
                items
                if most is None
                else heapq.nsmallest(most, items, key=lambda item: (-item[1], item[0]))
            )
        )

    def save(self, path):
        """Write the counts to a file; UserError, which names it, where that fails."""
        with naming(path), open(path, "wb") as file:
            _write(file, self._items())

    def add_saved(self, path):
        """Add the counts that :meth:`save` has written."""
        self._files.append(open(path, "rb"))
        if len(self._files) > OPEN_AT_ONCE:
            read = self._files
            self._files = []
            self._put_away(_merged([*map(_read, read), sorted(self._counts.items())]))
            for file in read:
                file.close()

    def _put_away(self, items):
        """Write (word, count) pairs to a file, and forget the counts in memory, which are among
        them.
        """
        with naming(tempfile.gettempdir()):
            # it has no name: nothing is left of it after a kill
            self._files.append(tempfile.TemporaryFile())
            _write(self._files[-1], items)
            self._files[-1].flush()
        self._counts.clear()

    def _items(self):
        """Yield (word, count), words as bytes in rising order."""
        return _merged([*map(_read, self._files), sorted(self._counts.items())])


def _merged(streams):
    """Yield the (word, count) pairs of several streams, each in rising order, those of a word added
    up.
    """
    for word, group in itertools.groupby(heapq.merge(*streams), key=operator.itemgetter(0)):
        yield word, sum(count for _, count in group)


def _write(file, items) -> None:
    """Write (word, count) pairs, words as bytes in rising order, one a line, to a binary file."""
    file.writelines(b"%d %s\n" % (count, word) for word, count in items)


def _read(file):
    """Yield what :func:`_write` wrote, from the file's beginning."""
    file.seek(0)
    for line in file:
        count, _, word = line.rstrip(b"\n").partition(b" ")
        yield word, int(count)


def count_tokens(counts, pairs):
    """Count the tokens of (source, target) lines; `counts` has a TokenCounts for each side that is
    counted.
    """
    if not any(counts.values()):
        return
    for batch in batches(progress(pairs, doing="reading the training text", unit="pairs")):
        for side, lines in zip(("source", "target"), zip(*batch)):
            if counts.get(side):
                counts[side].add(lines)
