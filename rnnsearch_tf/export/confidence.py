"""Confidence in TensorFlow operations: :mod:`rnnsearch_tf.evaluation.confidence` for a server, with
the calibration of the RUN.

Dimension letters: B sentences, I target tokens with the end symbol, T tokens and W words of all
sentences together.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from rnnsearch_tf.evaluation.confidence import Calibration
from rnnsearch_tf.text.characters import PIECE_JOINT, SPACE, WORD_START
from rnnsearch_tf.text.pipeline import Text

DIGITS = 7
"""Decimals of a word's confidence."""

_NO_CHARACTERS = f"{WORD_START}|{PIECE_JOINT}$"
"""What a token has beside the characters of the text."""


def confidences(
    calibration: Calibration,
    text: Text,
    log_probabilities: tf.Tensor,
    tokens: tf.RaggedTensor,
    texts: tf.Tensor,
) -> dict[str, tf.Tensor]:
    """Compute the confidence of given translations; the numbers are those of the Calibration.

    Args:
        calibration: the weights of both regressions.
        text: the target side.
        log_probabilities: float32 [B, I], natural log of each token's probability, the end symbol's
            last; 0 at padding.
        tokens: string [B, None], the tokens of the texts.
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
        tf.RaggedTensor.from_tensor(log_probabilities, lengths=tokens.row_lengths()),
        tokens,
        text.as_in_tokens(words),
    )
    word = tf.stack(
        [tf.ones_like(of_words), of_words, tf.gather(means, words.value_rowids())], axis=1
    )
    return {
        "confidence": tf.cast(_regression(sentence, calibration.sentence), tf.float32),
        "words": tf.strings.reduce_join(words, axis=1, separator=" "),
        "word_confidences": _as_json(words.with_values(_regression(word, calibration.word))),
    }


def _regression(features: tf.Tensor, weights: Sequence[float]) -> tf.Tensor:
    return tf.sigmoid(tf.linalg.matvec(features, np.asarray(weights, np.float64)))


def _of_words(
    log_probabilities: tf.RaggedTensor, tokens: tf.RaggedTensor, words: tf.RaggedTensor
) -> tf.Tensor:
    """The log-probability of each word, the sum over its tokens: float64 [W].

    A token that spans several words is divided among them by characters. A token without
    characters belongs to the next word. Tokens and words are aligned by the index of their
    characters in the sentence.
    """
    words_of_rows = words.with_values(tf.strings.length(words.values, "UTF8_CHAR"))
    characters = tf.reduce_sum(words_of_rows, axis=1)  # [B]
    # [B, None]
    sizes = tokens.with_values(
        tf.strings.length(tf.strings.regex_replace(tokens.values, _NO_CHARACTERS, ""), "UTF8_CHAR")
    )
    # start of each token in its sentence, in characters
    places = tf.cumsum(sizes.to_tensor(), axis=1, exclusive=True)
    places = tf.RaggedTensor.from_tensor(places, lengths=sizes.row_lengths())
    # [T], characters from the start of the token to the end of the sentence
    left = tf.gather(characters, sizes.value_rowids()) - places.values
    # a token at the end without characters belongs to the last character
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


def _as_json(numbers: tf.RaggedTensor) -> tf.Tensor:
    """Each row as JSON, such as [0.9,0.1]: float64 [B, None] -> string [B]."""
    strings = numbers.with_values(tf.strings.as_string(numbers.values, precision=DIGITS))
    return tf.strings.join(["[", tf.strings.reduce_join(strings, axis=1, separator=","), "]"])
