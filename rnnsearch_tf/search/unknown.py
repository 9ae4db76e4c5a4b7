"""Replace unknown words of an output by the source words that they are aligned to."""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.config import SPECIAL_TOKENS, UNKNOWN_ID

UNKNOWN_TOKEN = SPECIAL_TOKENS[UNKNOWN_ID]


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
    # weights are at least 0
    weights = tf.where(real[:, tf.newaxis], alignments, tf.constant(-1.0, alignments.dtype))
    rows = tf.cast(tokens.value_rowids(), tf.int32)  # [T], T tokens of the whole batch
    columns = tf.range(tf.shape(rows)[0]) - tf.gather(tf.cast(tokens.row_starts(), tf.int32), rows)
    unknown = (tokens.values == UNKNOWN_TOKEN) & (tf.gather(source_lengths, rows) > 0)

    where = tf.cast(tf.reshape(tf.where(unknown), [-1]), tf.int32)  # [U], the unknown words
    rows = tf.gather(rows, where)
    columns = tf.gather(columns, where)
    # [U]
    best = tf.argmax(
        tf.gather_nd(weights, tf.stack([rows, columns], axis=1)), axis=1, output_type=tf.int32
    )
    words = tf.gather(
        source_tokens.values, tf.gather(tf.cast(source_tokens.row_starts(), tf.int32), rows) + best
    )
    return tokens.with_values(
        tf.tensor_scatter_nd_update(tokens.values, where[:, tf.newaxis], words)
    )
