"""Top-k over hypotheses and words: the best continuations of the hypotheses of each sentence by one
word.
"""

from __future__ import annotations

import typing

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID

NO_HYPOTHESIS = -1e9
"""Log-probability and score of an empty place. Finite, so that no arithmetic on it gives NaN."""

_LARGEST_BLOCK = 256
_SMALLEST_BLOCK = 32
_PADDED_BLOCK = 64


def exists(log_probabilities: tf.Tensor) -> tf.Tensor:
    """True where a hypothesis exists: bool, same shape. False for NaN and −inf."""
    return log_probabilities > 0.5 * NO_HYPOTHESIS


def or_none(log_probabilities: tf.Tensor) -> tf.Tensor:
    """Replace the log-probability by NO_HYPOTHESIS where no hypothesis exists."""
    return tf.where(exists(log_probabilities), log_probabilities, NO_HYPOTHESIS)


class NextWords(typing.NamedTuple):
    """Logits of the next word, with the vocabulary split into n blocks: log p = blocks −
    log_sum.
    """

    blocks: tf.Tensor  # float [B, K, n, block], logits
    maxima: tf.Tensor  # float [B, K, n], the largest value of each block
    log_sum: tf.Tensor  # float [B, K], log Σ exp of the blocks


def next_words(logits: tf.Tensor) -> NextWords:
    """Split the logits of a step into blocks for :func:`best_continuations`, which normalizes only
    the few words that it keeps.

    On a CPU, `tf.math.top_k` over long rows is slow and `tf.reduce_max` is fast. So top-k first
    selects blocks by their maxima. The maxima are also used to compute log Σ exp.

    Args:
        logits: float [B, K, V].
    """
    logits = tf.convert_to_tensor(logits)
    block = _block_size(logits.shape[-1])
    if block is None:
        block = _PADDED_BLOCK
        missing = block - tf.shape(logits)[2] % block  # at least 1
        logits = tf.pad(logits, [[0, 0], [0, 0], [0, missing]], constant_values=NO_HYPOTHESIS)
    shape = [-1, _size(logits, 1), _size(logits, 2) // block, block]
    blocks = tf.reshape(logits, shape)
    maxima = tf.reduce_max(blocks, axis=-1)
    # log Σ exp = largest logit − log of the largest probability, which is far from zero.
    probabilities = tf.gather(
        tf.reshape(tf.nn.softmax(logits), shape),
        tf.argmax(maxima, axis=-1, output_type=tf.int32),
        batch_dims=2,
    )
    log_sum = tf.reduce_max(maxima, axis=-1) - tf.math.log(tf.reduce_max(probabilities, axis=-1))
    return NextWords(blocks, maxima, log_sum)


def continuations_by(words: NextWords, live: tf.Tensor, word: int) -> tf.Tensor:
    """Log-probabilities [B, K] of the hypotheses continued by one special token; the special tokens
    are in the first block.
    """
    return _totals(words.blocks[:, :, 0, word], words.log_sum, live)


def best_continuations(
    words: NextWords, live: tf.Tensor, count: int, first_word: int
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """The `count` best (hypothesis, word) pairs of each sentence; ties go to the earlier
    hypothesis, then to the earlier word.

    The result equals that of one top-k over all K·V pairs. The `count` blocks with the largest
    maxima contain the `count` best pairs: a pair of another block is worse than at least `count` of
    these maxima.

    Args:
        words: NextWords.
        live: float32 [B, K], log-probability so far; NO_HYPOTHESIS for an empty place.
        count: int, number of pairs.
        first_word: int; lower ids are excluded.

    Returns:
        totals: float32 [B, count], descending; NO_HYPOTHESIS where there are fewer pairs.
        parents: int32 [B, count], the continued hypothesis, in [0, K).
        words: int32 [B, count], ids of the vocabulary; PAD_ID where there are fewer pairs.
    """
    blocks, maxima, log_sum = words
    block = blocks.shape[3]
    number = _size(blocks, 2)
    all_blocks = _size(blocks, 1) * number
    # C
    taken = tf.minimum(count, all_blocks) if tf.is_tensor(all_blocks) else min(count, all_blocks)
    # the special tokens are in block 0
    first_maximum = tf.reduce_max(blocks[:, :, :1, first_word:], axis=-1)
    maxima = tf.concat([first_maximum, maxima[:, :, 1:]], axis=2)
    maxima = tf.reshape(
        _totals(maxima, log_sum[..., tf.newaxis], live[..., tf.newaxis]), [-1, all_blocks]
    )
    chosen = tf.math.top_k(maxima, taken, sorted=False).indices
    # [B, C] in the order of the pairs, so that ties are broken as in one top-k
    chosen = -tf.math.top_k(-chosen, taken).values
    parents = chosen // number  # [B, C]

    # [B, C, block]
    values = tf.gather(tf.reshape(blocks, [-1, all_blocks, block]), chosen, batch_dims=1)
    # [B, C, block]
    ids = tf.expand_dims((chosen - parents * number) * block, 2) + tf.range(block)
    log_sum, live = (
        tf.expand_dims(tf.gather(x, parents, batch_dims=1), 2) for x in (log_sum, live)
    )
    totals = tf.where(ids < first_word, NO_HYPOTHESIS, _totals(values, log_sum, live))
    totals, ids = (tf.reshape(x, [-1, taken * block]) for x in (totals, ids))
    # there may be fewer than `count` pairs
    if number * block < count:
        totals = tf.pad(totals, [[0, 0], [0, count]], constant_values=NO_HYPOTHESIS)
        ids = tf.pad(ids, [[0, 0], [0, count]])
        parents = tf.pad(parents, [[0, 0], [0, count]])
    totals, index = tf.math.top_k(totals, count)
    # An empty place may be from the padding of the blocks, whose ids no step can read.
    ids = tf.where(exists(totals), tf.gather(ids, index, batch_dims=1), PAD_ID)
    parents = tf.gather(parents, index // block, batch_dims=1)
    return totals, parents, ids


def _totals(values: tf.Tensor, log_sum: tf.Tensor, live: tf.Tensor) -> tf.Tensor:
    """live + (values − log_sum). Log-probabilities are clipped at 0, because rounding may exceed it
    and the early stop relies on it.
    """
    return or_none(tf.minimum(tf.cast(values - log_sum, tf.float32), 0.0) + live)


def _size(values: tf.Tensor, axis: int) -> int | tf.Tensor:
    """Size of an axis: an int if it is static, otherwise a tensor."""
    return tf.shape(values)[axis] if values.shape[axis] is None else values.shape[axis]


def _block_size(vocabulary_size: int) -> int | None:
    """The largest block size that divides the vocabulary size, so that no padding (a copy) is
    needed; None if there is none.
    """
    if vocabulary_size <= _LARGEST_BLOCK:
        return vocabulary_size
    sizes = range(_LARGEST_BLOCK, _SMALLEST_BLOCK - 1, -1)
    return next((size for size in sizes if vocabulary_size % size == 0), None)
