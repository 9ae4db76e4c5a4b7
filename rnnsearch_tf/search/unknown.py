"""Replace unknown words of an output by the source words that they are aligned to."""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.config import SPECIAL_TOKENS, UNKNOWN_ID


def replace_unknown(
    tokens: tf.RaggedTensor, alignments: tf.Tensor, source_tokens: tf.RaggedTensor
) -> tf.RaggedTensor:
    """Replace each unknown word by the source word with the largest attention weight.

    Departure from Bahdanau et al. 2015, who leave [UNK] in the output. The rule is that of Luong et
    al. 2015, with attention in place of an aligner. The end symbol of the source is never copied.

    Args:
        tokens: RaggedTensor string [B, (I)], without the end symbol.
        alignments: float [B, I, J]; I and J are at least the lengths of the longest rows.
        source_tokens: RaggedTensor string [B, (J)], without the end symbol.

    Returns:
        RaggedTensor string [B, (I)]; a row with an empty source is left unchanged.

    Example:
        >>> tokens = tf.ragged.constant([["<unk>", "dort"]])
        >>> source = tf.ragged.constant([["Zoe", "sleeps"]])
        >>> alignments = tf.constant([[[0.4, 0.1, 0.5], [0.0, 1.0, 0.0]]])
        >>> replace_unknown(tokens, alignments, source).to_list()
        [[b'Zoe', b'dort']]
    """
    source_lengths = tf.cast(source_tokens.row_lengths(), tf.int32)  # [B]
    real = tf.range(tf.shape(alignments)[2]) < source_lengths[:, tf.newaxis]  # [B, J]
    weights = tf.where(real[:, tf.newaxis], alignments, -tf.ones_like(alignments))
    # the empty word in the place of the end symbol, for a source without words
    end = tf.fill([tf.size(source_lengths), 1], "")
    words = tf.concat([source_tokens, end], axis=1).to_tensor()
    attended = tf.gather(words, tf.argmax(weights, axis=2), batch_dims=1)  # [B, I]
    attended = tf.RaggedTensor.from_tensor(attended, lengths=tokens.row_lengths()).values
    is_replaced = (tokens.values == SPECIAL_TOKENS[UNKNOWN_ID]) & (attended != "")
    return tokens.with_values(tf.where(is_replaced, attended, tokens.values))
