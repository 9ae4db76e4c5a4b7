"""Forbid a hypothesis to repeat a sequence of N tokens (search.no_repeat_ngram), as in the trigram
blocking of Paulus et al. 2018, *A Deep Reinforced Model for Abstractive Summarization*.

A hypothesis may not be continued by a token that would complete N tokens which it already contains
in this order; occurrences may overlap. The token is left out of the choice only: the probabilities
of the others stay those of the model.

Dimension letters: as in beam.py; M is the length of the longest hypothesis allowed, at
least N.
"""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.runtime.nests import Nest
from rnnsearch_tf.search.topk import NextWords, without


def nothing_written(batch_size: tf.Tensor, maximum: tf.Tensor, size: int) -> tf.Tensor:
    """The words of a beam's initial hypotheses: int32 [B, 1, M], PAD_ID.

    Args:
        maximum: int32 [B], steps allowed.
        size: N.
    """
    return tf.fill([batch_size, 1, tf.maximum(tf.reduce_max(maximum), size)], PAD_ID)


def without_repetitions(
    words: NextWords, written: Nest, previous_ids: tf.Tensor, size: int
) -> tuple[NextWords, Nest]:
    """The next words without those that would complete N tokens for the second time.

    Args:
        words: NextWords of the hypotheses.
        written: int32 [b, k, M], their words before the previous one, the last one at the end;
            PAD_ID before the first. An id beyond the vocabulary (see constrained.py) is never
            forbidden.
        previous_ids: int32 [b, k].
        size: N; 0: `words` and `written` are returned as they are.

    Returns:
        (NextWords, the words of the hypotheses with the previous one). The first place of `written`
        is a PAD_ID and drops out, as M has place for the others.
    """
    if not size:
        return words, written
    written = tf.concat([written[:, :, 1:], previous_ids[:, :, tf.newaxis]], axis=2)
    ends = written[:, :, size - 1 :]  # [b, k, M - N + 1]: the last token of every N tokens
    count = tf.shape(ends)[2]
    begins_alike = tf.fill(tf.shape(ends), True)
    for place in range(size - 1):  # the last N - 1 words are the first of the N tokens
        begins_alike &= (
            written[:, :, place : place + count]
            == written[:, :, tf.shape(written)[2] - (size - 1) + place][:, :, tf.newaxis]
        )
    return without(words, tf.where(begins_alike, ends, PAD_ID)), written
