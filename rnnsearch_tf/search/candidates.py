"""The best one-word continuations of the hypotheses of each sentence."""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.search.interface import as_logits

NO_HYPOTHESIS = -1e9
"""Log-probability and score of an empty place. Finite, so that no arithmetic on it gives NaN."""

_LARGEST_BLOCK, _SMALLEST_BLOCK, _PADDED_BLOCK = 256, 32, 64


def exists(log_probabilities):
    """True where there is a hypothesis: bool, same shape. NaN and −inf are none."""
    return log_probabilities > 0.5 * NO_HYPOTHESIS


def or_none(log_probabilities):
    """The same numbers, every one that stands for no hypothesis made NO_HYPOTHESIS."""
    return tf.where(exists(log_probabilities), log_probabilities, NO_HYPOTHESIS)


def best_continuations(words, live, count, first_word):
    """The `count` best (hypothesis, word) pairs of each sentence; ties go to the earlier hypothesis, then word.

    The result is that of one top-k over the K·V pairs. `tf.math.top_k` is
    slow on a CPU over long rows and `tf.reduce_max` fast, so each hypothesis's
    vocabulary is cut into blocks; the `count` blocks with the largest maxima
    hold the `count` best pairs (a pair outside them has at least `count` maxima
    before it), and the top-k over those blocks alone is the answer.

    Args:
        words: log-probabilities of the next word, float [B, K, V], or Logits of it.
        live: float32 [B, K], log-probability so far; NO_HYPOTHESIS for an empty place.
        count: int, pairs wanted.
        first_word: int, ids below it are left out.

    Returns:
        totals: float32 [B, count], descending; NO_HYPOTHESIS where there are fewer pairs.
        parents: int32 [B, count], the hypothesis continued, in [0, K).
        words: int32 [B, count].
    """
    log_probabilities, log_sum = as_logits(words)
    block = _block_size(log_probabilities.shape[-1])
    if block is None:
        block = _PADDED_BLOCK
        missing = -tf.shape(log_probabilities)[2] % block
        log_probabilities = tf.pad(log_probabilities, [[0, 0], [0, 0], [0, missing]], constant_values=NO_HYPOTHESIS)
    shape = tf.shape(log_probabilities)
    batch_size, beam_size, blocks = shape[0], shape[1], shape[2] // block

    by_block = tf.reshape(log_probabilities, [batch_size, beam_size, blocks, block])
    first_maximum = tf.reduce_max(by_block[:, :, :1, first_word:], axis=-1)  # the specials are in block 0
    maxima = tf.concat([first_maximum, tf.reduce_max(by_block, axis=-1)[:, :, 1:]], axis=2)  # [B, K, blocks]
    maxima = or_none(tf.minimum(tf.cast(maxima, tf.float32) - log_sum[..., tf.newaxis], 0.0) + live[..., tf.newaxis])
    maxima = tf.reshape(maxima, [batch_size, beam_size * blocks])
    chosen = tf.math.top_k(maxima, tf.minimum(count, beam_size * blocks), sorted=False).indices
    chosen = tf.sort(chosen, axis=1)  # [B, C] in the order of the pairs, so that ties fall as in one top-k

    rows = tf.range(batch_size)[:, tf.newaxis] * (beam_size * blocks)
    values = tf.gather(tf.reshape(by_block, [-1, block]), rows + chosen)  # [B, C, block]
    words = chosen[:, :, tf.newaxis] % blocks * block + tf.range(block)  # [B, C, block]
    parents = chosen // blocks  # [B, C]
    so_far, log_sum = (tf.gather(x, parents, batch_dims=1)[:, :, tf.newaxis] for x in (live, log_sum))
    # A log-probability is at most 0; what rounding left above it is cut, which the early stop relies on.
    totals = or_none(tf.minimum(tf.cast(values, tf.float32) - log_sum, 0.0) + so_far)
    totals = tf.where(words < first_word, NO_HYPOTHESIS, totals)

    candidates = tf.shape(chosen)[1] * block
    totals = tf.reshape(totals, [batch_size, candidates])
    missing = tf.maximum(count - candidates, 0)
    totals = tf.pad(totals, [[0, 0], [0, missing]], constant_values=NO_HYPOTHESIS)
    totals, index = tf.math.top_k(totals, count)
    index = tf.minimum(index, candidates - 1)
    words = tf.gather(tf.reshape(words, [batch_size, candidates]), index, batch_dims=1)
    parents = tf.gather(parents, index // block, batch_dims=1)
    return totals, parents, words


def _block_size(vocabulary_size):
    """The largest block that divides the vocabulary evenly, or None: padding costs a copy of everything."""
    if vocabulary_size is None:
        return None
    if vocabulary_size <= _LARGEST_BLOCK:
        return vocabulary_size
    sizes = range(_LARGEST_BLOCK, _SMALLEST_BLOCK - 1, -1)
    return next((size for size in sizes if vocabulary_size % size == 0), None)
