"""Phrases that have to stand in a translation: text → tokens → ids, as they stand in the middle of
a sentence.

A word that the vocabulary lacks has an id of its own beyond it, so that search tells it from others
and the output is spelled right.

Dimension letters: B sentences, P phrases of a sentence, L tokens of a phrase, V vocabulary.
"""

from __future__ import annotations

import typing
import unicodedata

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID, UNKNOWN_ID
from rnnsearch_tf.text.characters import EAST_ASIAN, WORD_START
from rnnsearch_tf.text.pipeline import Text

MOST_TOKENS = 64
"""Tokens that the phrases of a sentence may have together; its translation may become longer by as
many.
"""

MOST_BYTES = 16_384
"""Bytes that the phrases of a sentence may have together, 256 a token; a longer line is not read at
all.
"""


class PhraseTokens(typing.NamedTuple):
    """The phrases of a batch; P, L and T are from 1 to MOST_TOKENS."""

    ids: tf.Tensor  # int32 [B, P, L], PAD_ID after the last; V + n is the n-th of `tokens`
    tokens: tf.Tensor  # string [B, T], those of all phrases of a sentence in a row, "" for padding
    # bool [B], False: phrases were left out, the sentence had more than MOST_TOKENS or MOST_BYTES
    fits: tf.Tensor


def read_phrases(text: Text, lines) -> PhraseTokens:
    """Read the phrases of each sentence.

    Args:
        text: Text of the target side.
        lines: string [B], the phrases of a sentence with tabs between; what has no token is passed
            over.
    """
    readable = tf.strings.length(lines) <= MOST_BYTES  # [B]
    phrases = tf.strings.split(tf.where(readable, lines, ""), "\t")  # [B, (P)]
    tokens = _without_space(text, text.tokenize(phrases.values))  # [n, (L)]
    # [B, (P)], counted from the first row on
    so_far = phrases.with_values(tf.cumsum(tokens.row_lengths()))
    before = tf.gather(tf.pad(so_far.values, [[1, 0]]), phrases.row_starts())  # [B]
    fit = so_far.values - tf.gather(before, phrases.value_rowids()) <= MOST_TOKENS  # [n]
    kept = fit & (tokens.row_lengths() > 0)
    counts = tf.math.unsorted_segment_sum(
        tf.cast(kept, tf.int64), phrases.value_rowids(), phrases.nrows()
    )
    # [B, (P), (L)]
    tokens = tf.RaggedTensor.from_row_lengths(tf.ragged.boolean_mask(tokens, kept), counts)
    in_a_row = tokens.merge_dims(1, 2)  # [B, (T)]
    words = _at_least_one(in_a_row.to_tensor(""), "")
    ids = text.vocabulary.ids(words)
    ids = tf.where(ids == UNKNOWN_ID, text.vocabulary.size + _first_places(words), ids)
    ids = tf.RaggedTensor.from_tensor(ids, lengths=in_a_row.row_lengths())
    ids = _at_least_one(tokens.with_flat_values(ids.values).to_tensor(PAD_ID), PAD_ID)
    all_fit = (
        tf.math.unsorted_segment_min(
            tf.cast(fit, tf.int32), phrases.value_rowids(), phrases.nrows()
        )
        > 0
    )
    return PhraseTokens(ids, words, readable & all_fit)


def _at_least_one(values, padding):
    """values [B, ...] with one place of padding in every axis but the first that has none."""
    missing = tf.cast(tf.shape(values)[1:] == 0, tf.int32)
    after = tf.concat([[0], missing], axis=0)
    return tf.pad(values, tf.stack([tf.zeros_like(after), after], axis=1), constant_values=padding)


def word_joints(text: Text):
    """Whether each token goes on in the word of the token before it, and whether it leaves its word
    open: bool [V] twice.

    Only subwords do: a piece that begins with a letter or digit goes on, one that ends with such a
    character leaves its word open. Scripts that are written without spaces do not show where a word
    ends: their pieces go on in no word.
    """
    if text.config.tokenization != "sentencepiece":
        none = tf.fill([text.vocabulary.size], False)
        return none, none
    tokens = text.vocabulary.tokens
    begins, ends = (tf.constant([_of_word(token[place]) for token in tokens]) for place in (0, -1))
    return begins & ~tf.strings.regex_full_match(tokens, f"[{EAST_ASIAN}].*"), ends


def _without_space(text, tokens):
    """Phrases [n, (L)] without the space that SentencePiece sets before every text, where the
    script is written without spaces.

    A piece that the vocabulary has only with the space keeps it.
    """
    if text.config.tokenization != "sentencepiece":
        return tokens
    first, second = tf.unstack(tokens[:, :2].to_tensor("", shape=[None, 2]), axis=1)
    bare = tf.strings.regex_replace(first, f"^{WORD_START}([{EAST_ASIAN}])", r"\1")
    first = tf.where(text.vocabulary.ids(bare) == UNKNOWN_ID, first, bare)
    only_space = (first == WORD_START) & tf.strings.regex_full_match(second, f"[{EAST_ASIAN}].*")
    first = tf.RaggedTensor.from_tensor(
        first[:, tf.newaxis], lengths=tf.cast((first != "") & ~only_space, tf.int64)
    )
    return tf.concat([first, tokens[:, 1:]], axis=1)


def _of_word(character):
    return unicodedata.category(character)[0] in "LMN"


def _first_places(flat):
    """Where each string [B, n] stands first in its row: int32 [B, n]."""
    same = flat[:, :, tf.newaxis] == flat[:, tf.newaxis]
    return tf.argmax(tf.cast(same, tf.int32), axis=2, output_type=tf.int32)
