"""How sure a model is, in the graph: :mod:`rnnsearch_tf.evaluation.confidence` for a server, by the
calibration of the RUN.

Dimension letters: B sentences, I target tokens with the end symbol, T tokens and W words of all
sentences together.
"""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from rnnsearch_tf.text.characters import SPACE, WORD_START

DIGITS = 7
"""Decimals of a word's confidence."""


def confidences(calibration, log_probabilities, tokens, texts) -> dict:
    """The confidence of given translations; the same numbers as the Calibration's own.

    Args:
        calibration: Calibration, the weights of both regressions.
        log_probabilities: float32 [B, I], natural log of each token's probability, the end symbol's
            last; 0 at padding.
        tokens: RaggedTensor string [B, None], the tokens of the texts.
        texts: string [B], the translations.

    Returns:
        dict: ``confidence`` float32 [B], ``words`` string [B] (with spaces between),
            ``word_confidences`` string [B] (a JSON array).
    """
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    # [B, None], as str.split does
    words = tf.strings.split(tf.strings.regex_replace(texts, f"[{SPACE}]+", " "))
    log_probabilities = tf.cast(log_probabilities, tf.float64)
    lengths = tf.cast(tokens.row_lengths() + 1, tf.float64)  # [B], the end symbol counted
    means = tf.reduce_sum(log_probabilities, axis=1) / lengths  # [B]
    sentence = tf.stack(
        [
            tf.ones_like(means),
            means,
            tf.reduce_min(log_probabilities, axis=1),
            tf.math.log(lengths),
        ],
        axis=1,
    )
    # [W]
    of_words = _of_words(
        tf.RaggedTensor.from_tensor(log_probabilities, lengths=tokens.row_lengths()), tokens, words
    )
    word = tf.stack(
        [tf.ones_like(of_words), of_words, tf.gather(means, words.value_rowids())], axis=1
    )
    return {
        "confidence": tf.cast(_regression(sentence, calibration.sentence), tf.float32),
        "words": tf.strings.reduce_join(words, axis=1, separator=" "),
        "word_confidences": _as_json(words.with_values(_regression(word, calibration.word))),
    }


def _regression(features, weights):
    return tf.sigmoid(tf.linalg.matvec(features, np.asarray(weights, np.float64)))


def _of_words(log_probabilities, tokens, words):
    """The log-probability of each word, the sum over its tokens: float64 [W].

    A token of several words counts for each by its characters; one that stands for no character
    belongs to the word after it. The characters of the tokens and of the words are numbered alike,
    which says what belongs together.
    """
    words_of_rows = words.with_values(tf.strings.length(words.values, "UTF8_CHAR"))
    characters = tf.reduce_sum(words_of_rows, axis=1)  # [B]
    # [B, None]
    sizes = tokens.with_values(
        tf.strings.length(tf.strings.regex_replace(tokens.values, WORD_START, ""), "UTF8_CHAR")
    )
    # where each token begins in its sentence
    places = tf.cumsum(sizes.to_tensor(), axis=1, exclusive=True)
    places = tf.RaggedTensor.from_tensor(places, lengths=sizes.row_lengths())
    # [T], characters from there on
    left = tf.gather(characters, sizes.value_rowids()) - places.values
    # at the end of the text the last character stands in
    counts = tf.clip_by_value(left, 1, tf.maximum(sizes.values, 1))
    counts = tf.where(tf.gather(characters, sizes.value_rowids()) > 0, counts, 0)
    token = tf.repeat(tf.range(tf.size(counts)), counts)  # the token of each character
    offsets = tf.range(tf.size(token)) - tf.gather(tf.cumsum(counts, exclusive=True), token)
    rows = tf.gather(sizes.value_rowids(), token)
    place = tf.minimum(tf.gather(places.values, token) + offsets, tf.gather(characters, rows) - 1)
    word_of_character = tf.repeat(tf.range(tf.size(words.values)), words_of_rows.values)
    word = tf.gather(
        word_of_character, tf.gather(tf.cumsum(characters, exclusive=True), rows) + place
    )
    shares = log_probabilities.values / tf.cast(tf.maximum(counts, 1), tf.float64)
    return tf.math.unsorted_segment_sum(tf.gather(shares, token), word, tf.size(words.values))


def _as_json(numbers):
    """[0.9,0.1] of each row: RaggedTensor float64 [B, None] -> string [B]."""
    strings = numbers.with_values(tf.strings.as_string(numbers.values, precision=DIGITS))
    return tf.strings.join(["[", tf.strings.reduce_join(strings, axis=1, separator=","), "]"])
