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


def continuations_with(words: NextWords, live: tf.Tensor, ids: tf.Tensor) -> tf.Tensor:
    """Log-probabilities [B, K, n] of the hypotheses continued by each of the words `ids`, int32
    [B, K, n].
    """
    # [B, K, V], or a little more
    values = tf.reshape(words.blocks, tf.concat([tf.shape(words.blocks)[:2], [-1]], axis=0))
    chosen = tf.gather(values, ids, batch_dims=2)
    return _totals(chosen, words.log_sum[..., tf.newaxis], live[..., tf.newaxis])


def without(words: NextWords, ids: tf.Tensor) -> NextWords:
    """The next words without some of each hypothesis, whose logits become NO_HYPOTHESIS. The
    probabilities of the others do not change.

    Args:
        words: NextWords.
        ids: int32 [B, K, n]; ids outside the vocabulary and PAD_ID, which is never chosen, are
            ignored.
    """
    shape = tf.shape(words.blocks)
    hypotheses = shape[0] * shape[1]
    size = shape[2] * shape[3]
    ids = tf.reshape(tf.where(ids < size, ids, PAD_ID), [hypotheses, -1])
    rows = tf.zeros_like(ids) + tf.range(hypotheses)[:, tf.newaxis]
    forbidden = tf.fill(tf.shape(ids), tf.constant(NO_HYPOTHESIS, words.blocks.dtype))
    # LiteRT has no tensor_scatter_nd_min, and sums the values that are written to the same index: n
    # times NO_HYPOTHESIS still excludes the word
    blocks = tf.tensor_scatter_nd_update(
        tf.reshape(words.blocks, [hypotheses, size]), tf.stack([rows, ids], axis=-1), forbidden
    )
    blocks = tf.ensure_shape(tf.reshape(blocks, shape), words.blocks.shape)
    return words._replace(blocks=blocks, maxima=tf.reduce_max(blocks, axis=-1))


def best_of_each(words: NextWords, live: tf.Tensor, first_word: int) -> tuple[tf.Tensor, tf.Tensor]:
    """The best continuation of each hypothesis; for the arguments see :func:`best_continuations`.

    Returns:
        (log-probabilities float32 [B, K], words int32 [B, K]).
    """
    shape = tf.shape(live)
    # one sentence for each hypothesis: [B·K, 1, …]
    separate = NextWords(
        *(tf.reshape(x, tf.concat([[-1, 1], tf.shape(x)[2:]], axis=0)) for x in words)
    )
    separate = NextWords(
        *(tf.ensure_shape(x, [None, 1, *old.shape[2:]]) for x, old in zip(separate, words))
    )
    totals, _, chosen = best_continuations(separate, tf.reshape(live, [-1, 1]), 1, first_word)
    return tf.reshape(totals, shape), tf.reshape(chosen, shape)


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
    if blocks.shape[2] is None or number * block < count:
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


def _block_size(vocabulary_size: int | None) -> int | None:
    """The largest block size that divides the vocabulary size, so that no padding (a copy) is
    needed; None if there is none.
    """
    if vocabulary_size is None:
        return None
    if vocabulary_size <= _LARGEST_BLOCK:
        return vocabulary_size
    sizes = range(_LARGEST_BLOCK, _SMALLEST_BLOCK - 1, -1)
    return next((size for size in sizes if vocabulary_size % size == 0), None)
