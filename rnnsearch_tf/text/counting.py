"""Count words exactly in limited memory: sorted temporary files, which are merged at the end."""

from __future__ import annotations

import collections
import heapq
import itertools
import operator
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import IO

import tensorflow as tf

from rnnsearch_tf.files.atomic import naming
from rnnsearch_tf.runtime.progress import progress
from rnnsearch_tf.text.vocabulary import batches

_WORDS_IN_MEMORY = 500_000

Line = str | bytes
_Counts = Iterable[tuple[bytes, int]]  # (word, count), by rising words


class TokenCounts:
    """Counts how often each token of a text occurs.

    Args:
        tokenize: function string [B] -> RaggedTensor string [B, None].
        most_lines: number of lines to count; None: all.
        most_words: most distinct words in memory; more are kept in temporary files.

    Attributes:
        is_cut: whether the text had more lines.

    Example:
        >>> counts = TokenCounts(tf.strings.split)
        >>> counts.add(["a b", "b"])
        >>> sorted(counts.total().items())
        [('a', 1), ('b', 2)]
    """

    def __init__(
        self,
        tokenize: Callable[[tf.Tensor], tf.RaggedTensor],
        most_lines: int | None = None,
        most_words: int = _WORDS_IN_MEMORY,
    ) -> None:
        @tf.function(autograph=False, input_signature=[tf.TensorSpec([None], tf.string)])
        def distinct(texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            words, _, counts = tf.unique_with_counts(tokenize(texts).flat_values, tf.int64)
            return words, counts

        self._distinct = distinct
        self._counts: collections.Counter[bytes] = collections.Counter()
        self.most_lines = most_lines
        self.is_cut = False
        self._most_words = most_words
        self._lines_left = most_lines
        self._files: list[IO[bytes]] = []

    def add(self, lines: Sequence[Line]) -> None:
        """Count the tokens of some lines."""
        if self._lines_left is not None:
            self.is_cut |= len(lines) > self._lines_left
            lines = lines[: self._lines_left]
            self._lines_left -= len(lines)
        if not lines:
            return
        words, counts = self._distinct(tf.constant(lines, tf.string))
        for word, count in zip(words.numpy().tolist(), counts.numpy().tolist()):
            self._counts[word] += count
        if len(self._counts) > self._most_words:
            self._move_to_file(sorted(self._counts.items()))

    def total(self, most: int | None = None) -> collections.Counter[str]:
        """The counts by word; of the `most` most frequent words only if given, ties in the order of
        code points.
        """
        items = ((word.decode("utf-8"), count) for word, count in self._items())
        return collections.Counter(
            dict(
                items
                if most is None
                else heapq.nsmallest(most, items, key=lambda item: (-item[1], item[0]))
            )
        )

    def _move_to_file(self, items: _Counts) -> None:
        """Write counts to a temporary file, and clear the memory, whose counts they include."""
        with naming(tempfile.gettempdir()):
            # a file without a name, which disappears even if the process is killed
            self._files.append(tempfile.TemporaryFile())
            _write(self._files[-1], items)
            self._files[-1].flush()
        self._counts.clear()

    def _items(self) -> Iterator[tuple[bytes, int]]:
        """Yield (word, count) by rising words."""
        return _merged([*map(_read, self._files), sorted(self._counts.items())])


def _merged(streams: Iterable[_Counts]) -> Iterator[tuple[bytes, int]]:
    """Merge sorted streams of (word, count), and add the counts of equal words."""
    for word, group in itertools.groupby(heapq.merge(*streams), key=operator.itemgetter(0)):
        yield word, sum(count for _, count in group)


def _write(file: IO[bytes], items: _Counts) -> None:
    """Write (word, count) pairs, one a line."""
    file.writelines(b"%d %s\n" % (count, word) for word, count in items)


def _read(file: IO[bytes]) -> Iterator[tuple[bytes, int]]:
    """Yield the pairs that :func:`_write` wrote, from the start of the file."""
    file.seek(0)
    for line in file:
        count, _, word = line.rstrip(b"\n").partition(b" ")
        yield word, int(count)


def count_tokens(
    counts: Mapping[str, TokenCounts | None], pairs: Iterable[tuple[Line, Line]]
) -> None:
    """Count the tokens of (source, target) lines.

    Args:
        counts: {side: its TokenCounts, or None if the side is not counted}.
        pairs: read to its end, unless no side is counted.
    """
    if not any(counts.values()):
        return
    for batch in batches(progress(pairs, doing="reading the training text", unit="pairs")):
        for side, lines in zip(("source", "target"), zip(*batch)):
            if counter := counts.get(side):
                counter.add(lines)
