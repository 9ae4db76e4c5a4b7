"""The tokens for the tokenized BLEU of the papers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence
from typing import Any

import tensorflow as tf

from rnnsearch_tf.text.pipeline import Text


def written_tokens(text: Text, translations: Iterable[Any]) -> list[str]:
    """The tokens of translations, joined by spaces: the model's own if they are words;
    Moses's of the text if the model writes SentencePiece pieces.

    Word tokens are not recomputed from the text, since Moses's rules split `. il` of a lowercased
    line differently from `. Il`.
    """
    if text.config.tokenization == "sentencepiece":
        return tokenized(text, [translation.text for translation in translations])
    return [" ".join(translation.tokens) for translation in translations]


def tokenized(text: Text, lines: Sequence[str]) -> list[str]:
    """The tokens of each detokenized line, joined by spaces, by the rules of a side, or by Moses's
    rules if the side has SentencePiece.

    A lowercase side gives lowercase tokens. If it has subwords, the line is lowercased before it is
    tokenized, since its translations have no capitals for Moses's rules. An unknown word,
    ``<unk>``, is one token; Moses's rules would split it into three.
    """
    if text.config.tokenization == "sentencepiece":
        lines = [line.lower() for line in lines] if text.config.lowercase else lines
        text = Text(dataclasses.replace(text.config, tokenization="moses"), text.vocabulary)
    joined = tf.strings.reduce_join(text.tokenize_translations(lines), axis=1, separator=" ")
    return [line.decode("utf-8") for line in joined.numpy()]
