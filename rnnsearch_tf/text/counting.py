"""Count the tokens of a text."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Sequence

import tensorflow as tf

from rnnsearch_tf.files.reading import batches
from rnnsearch_tf.runtime.progress import progress

Line = str | bytes


class TokenCounts:
    """Counts how often each token of a text occurs.

    Args:
        tokenize: function string [B] -> RaggedTensor string [B, None].
        most_lines: number of lines to count; None: all.

    Attributes:
        is_cut: whether the text had more lines.

    Example:
        >>> counts = TokenCounts(tf.strings.split)
        >>> counts.add(["a b", "b"])
        >>> counts.total()
        {'a': 1, 'b': 2}
    """

    def __init__(
        self, tokenize: Callable[[tf.Tensor], tf.RaggedTensor], most_lines: int | None = None
    ) -> None:
        @tf.function(autograph=False, input_signature=[tf.TensorSpec([None], tf.string)])
        def distinct(texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            words, _, counts = tf.unique_with_counts(tokenize(texts).flat_values, tf.int64)
            return words, counts

        self._distinct = distinct
        self._counts: collections.Counter[bytes] = collections.Counter()
        self.most_lines = most_lines
        self.is_cut = False
        self._lines_left = most_lines

    def add(self, lines: Sequence[Line]) -> None:
        """Count the tokens of some lines."""
        if self._lines_left is not None:
            self.is_cut |= len(lines) > self._lines_left
            lines = lines[: self._lines_left]
            self._lines_left -= len(lines)
        if lines:
            words, counts = self._distinct(tf.constant(lines, tf.string))
            for word, count in zip(words.numpy().tolist(), counts.numpy().tolist()):
                self._counts[word] += count

    def total(self) -> dict[str, int]:
        """The counts by token."""
        return {word.decode("utf-8"): count for word, count in self._counts.items()}


def count_tokens(counts: Sequence[TokenCounts | None], pairs: Iterable[tuple[Line, Line]]) -> None:
    """Count the tokens of (source, target) lines: of each side, or of one whose counts are not
    None. The pairs are read to their end, unless no side is counted.
    """
    if not any(counts):
        return
    for batch in batches(progress(pairs, doing="reading the training text", unit="pairs")):
        for count, lines in zip(counts, zip(*batch)):
            if count:
                count.add(lines)
