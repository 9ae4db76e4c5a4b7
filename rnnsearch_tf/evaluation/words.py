"""Sentences as the words of a model's vocabularies: which are known, and what the papers' BLEU compares."""

from __future__ import annotations

import dataclasses

import tensorflow as tf

from rnnsearch_tf.config import UNKNOWN_ID
from rnnsearch_tf.text.pipeline import Text


def without_unknown(source_text: Text, target_text: Text, sources, references) -> list:
    """Positions of the pairs without unknown words on either side (Table 1, right column).

    Args:
        source_text, target_text: the model's two sides.
        sources, references: list[str] of equal length.

    Returns:
        list[int], ascending.
    """
    rows = zip(source_text.encode(sources).to_list(), target_text.encode(references).to_list())
    return [number for number, pair in enumerate(rows) if not any(UNKNOWN_ID in ids for ids in pair)]


def tokenized(text: Text, lines) -> list:
    """Lines as tokens joined by spaces, by the rules of one side; Moses rules where that side has subwords.

    A lower-cased side gives lower-cased tokens.

    Args:
        text: the side.
        lines: list[str].

    Returns:
        list[str].
    """
    if text.config.tokenization == "sentencepiece":
        text = Text(dataclasses.replace(text.config, tokenization="moses"), text.vocabulary)
    joined = tf.strings.reduce_join(text.tokenize(lines), axis=1, separator=" ")
    return [line.decode("utf-8") for line in joined.numpy()]
