"""Phrases that a translation must contain: text → tokens → ids, as in the middle of a sentence.

A word that the vocabulary lacks gets an id beyond the vocabulary, so that the search distinguishes
it from other words and the output has its spelling.

Dimension letters: B sentences, P phrases of a sentence, L tokens of a phrase, V vocabulary.
"""

from __future__ import annotations

import typing
import unicodedata

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID, UNKNOWN_ID
from rnnsearch_tf.text.characters import WITHOUT_SPACES, WITHOUT_SPACES_IN_KOREAN, WORD_START
from rnnsearch_tf.text.languages import base
from rnnsearch_tf.text.pipeline import Text

MOST_TOKENS = 64
"""Most tokens of all phrases of a sentence together; its translation may become longer by this."""

MOST_BYTES = 16_384
"""Most bytes of all phrases of a sentence together, 256 a token; a longer line is ignored."""


class PhraseTokens(typing.NamedTuple):
    """The phrases of a batch; P, L and T are from 1 to MOST_TOKENS."""

    ids: tf.Tensor  # int32 [B, P, L], padded with PAD_ID; V + n is the n-th of `tokens`
    tokens: tf.Tensor  # string [B, T], the tokens of all phrases of a sentence, padded with ""
    # bool [B], False: the sentence had more than MOST_TOKENS or MOST_BYTES, phrases were left out
    fits: tf.Tensor


def read_phrases(text: Text, lines: tf.Tensor) -> PhraseTokens:
    """Read the phrases of each sentence.

    Args:
        lines: string [B], the phrases of each sentence, separated by tabs; phrases without tokens
            are skipped.
    """
    readable = tf.strings.length(lines) <= MOST_BYTES  # [B]
    phrases = tf.strings.split(tf.where(readable, lines, ""), "\t")  # [B, (P)]
    tokens = _without_space(text, text.tokenize_phrases(phrases.values))  # [n, (L)]
    # [B, (P)], tokens up to each phrase, over all rows
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


def _at_least_one(values: tf.Tensor, padding: str | int) -> tf.Tensor:
    """Pad every axis of size 0 except the first to size 1."""
    missing = tf.cast(tf.shape(values)[1:] == 0, tf.int32)
    after = tf.concat([[0], missing], axis=0)
    return tf.pad(values, tf.stack([tf.zeros_like(after), after], axis=1), constant_values=padding)


def word_joints(text: Text) -> tuple[tf.Tensor, tf.Tensor]:
    """Whether each token can continue the word of the previous token, and whether its word can be
    continued by the next token: bool [V] each.

    Both are false but for SentencePiece: a piece that begins with a letter or digit continues a
    word, and the word of a piece that ends with one can be continued. Scripts without spaces do not
    show where a word ends: their pieces continue no word. With byte-pair codes, the last piece of a
    phrase is another one, without ``@@``, than inside a word; but a phrase may be the end of a
    longer word.
    """
    if text.config.tokenization != "sentencepiece":
        none = tf.fill([text.vocabulary.size], False)
        return none, none
    tokens = text.vocabulary.tokens
    begins, ends = (tf.constant([_of_word(token[place]) for token in tokens]) for place in (0, -1))
    return begins & ~tf.strings.regex_full_match(tokens, f"[{_without_spaces(text)}].*"), ends


def _without_spaces(text: Text) -> str:
    """The characters that a language writes without spaces between words, for a regular
    expression.
    """
    return WITHOUT_SPACES_IN_KOREAN if base(text.config.language) == "ko" else WITHOUT_SPACES


def _without_space(text: Text, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
    """Remove the space that SentencePiece adds before every text from phrases [n, (L)] in scripts
    without spaces.

    A piece that the vocabulary contains only with the space keeps it.
    """
    if text.config.tokenization != "sentencepiece":
        return tokens
    first, second = tf.unstack(tokens[:, :2].to_tensor("", shape=[None, 2]), axis=1)
    unspaced = _without_spaces(text)
    bare = tf.strings.regex_replace(first, f"^{WORD_START}([{unspaced}])", r"\1")
    first = tf.where(text.vocabulary.ids(bare) == UNKNOWN_ID, first, bare)
    only_space = (first == WORD_START) & tf.strings.regex_full_match(second, f"[{unspaced}].*")
    first = tf.RaggedTensor.from_tensor(
        first[:, tf.newaxis], lengths=tf.cast((first != "") & ~only_space, tf.int64)
    )
    return tf.concat([first, tokens[:, 1:]], axis=1)


def _of_word(character: str) -> bool:
    return unicodedata.category(character)[0] in "LMN"


def _first_places(flat: tf.Tensor) -> tf.Tensor:
    """The index of the first occurrence of each string [B, n] in its row: int32 [B, n]."""
    same = flat[:, :, tf.newaxis] == flat[:, tf.newaxis]
    return tf.argmax(tf.cast(same, tf.int32), axis=2, output_type=tf.int32)
