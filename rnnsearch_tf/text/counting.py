"""Count the tokens of a text."""

from __future__ import annotations

import collections
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import tensorflow as tf

from rnnsearch_tf.files.reading import batches
from rnnsearch_tf.runtime.progress import progress

Line = str | bytes

Tokenizer = Callable[[tf.Tensor], tf.RaggedTensor]
"""A function string [B] -> RaggedTensor string [B, None]."""


def count_tokens(
    tokenizers: Sequence[Tokenizer | None], rows: Iterable[Sequence[Line]]
) -> list[dict[str, int]]:
    """How often each token of a text occurs: {token: count} for each of its columns.

    Args:
        tokenizers: one for each column; None: it is not counted.
        rows: lines, one for each column; read to the end unless no column is counted.

    Example:
        >>> count_tokens([tf.strings.split], [["a b"], ["b"]])
        [{'a': 1, 'b': 2}]
    """
    counters: list[collections.Counter[bytes]] = [collections.Counter() for _ in tokenizers]
    columns = [tokenize and _distinct(tokenize) for tokenize in tokenizers]
    if any(columns):
        for batch in batches(progress(rows, doing="reading the training text", unit="lines")):
            for distinct, counter, lines in zip(columns, counters, zip(*batch)):
                if distinct:
                    words, numbers = distinct(tf.constant(lines, tf.string))
                    for word, number in zip(words.numpy().tolist(), numbers.numpy().tolist()):
                        counter[word] += number
    return [{word.decode("utf-8"): n for word, n in counter.items()} for counter in counters]


def _distinct(tokenize: Tokenizer) -> Callable[[tf.Tensor], tuple[Any, Any]]:
    """A function string [B] → (distinct tokens, their counts)."""

    @tf.function(autograph=False, input_signature=[tf.TensorSpec([None], tf.string)])
    def distinct(texts: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        words, _, counts = tf.unique_with_counts(tokenize(texts).flat_values, tf.int64)
        return words, counts

    return distinct
