"""Minimum and maximum length of the output, for each sentence."""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.config import SearchConfig


def minimum_lengths(source_lengths, config: SearchConfig):
    """Steps at which the end symbol is forbidden: ⌊minimum_length_ratio · J⌋, as in the authors' program (0.5).

    Args:
        source_lengths: int32 [B], end symbol counted.

    Returns:
        int32 [B]; the shortest output has one token more, the end symbol.
    """
    return _floor_of_product(config.minimum_length_ratio, source_lengths)


def maximum_lengths(source_lengths, config: SearchConfig):
    """Steps allowed: ⌊maximum_length_ratio · J⌋ + extra_length, at least 1.

    Args:
        source_lengths: int32 [B], end symbol counted.

    Returns:
        int32 [B], the end symbol counted.
    """
    return tf.maximum(_floor_of_product(config.maximum_length_ratio, source_lengths) + config.extra_length, 1)


def _floor_of_product(ratio, lengths):
    # In binary 0.29 · 100 is 28.999999999999996: the small term gives the 29 that was written.
    product = tf.constant(ratio, tf.float64) * tf.cast(lengths, tf.float64)
    return tf.cast(tf.floor(product + 1e-9), tf.int32)
