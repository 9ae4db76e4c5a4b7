"""Cut a paragraph into sentences, and put sentences together again.

The library sentencex (Wikimedia) cuts. Measured on sentences of real text that were joined to
paragraphs of two to six, it found 99 % of the ends in Tatoeba's English and French, all in
Tanaka's Japanese, and in both Multi30k's German and Python's documentation all but those of lines
without a mark at their end. Abbreviations do not end a sentence, but one may be hidden behind them.
"""

from __future__ import annotations

from collections.abc import Iterable

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.text.languages import CHINESE, base

UNMARKED = ("th", "lo")
"""Languages whose sentences end without a mark, which cannot be cut by rules."""

_JOINED = (*CHINESE, "ja")  # no space between sentences


def split_sentences(text: str, language: str) -> list[str]:
    """Cut a paragraph into sentences.

    Args:
        language: a code such as "en" or "pt-BR"; of one that the library does not know, the marks
            common to most languages are taken.

    Returns:
        The sentences, without the white space between them; none of a blank text.

    Raises:
        UsageError: the language is one of UNMARKED.

    Example:
        >>> split_sentences("Dr. Lee has a cat. She loves it!", "en")
        ['Dr. Lee has a cat.', 'She loves it!']
        >>> split_sentences("私は猫が好きです。あなたは？", "ja")
        ['私は猫が好きです。', 'あなたは？']
    """
    import sentencex

    if base(language) in UNMARKED:
        raise UsageError(
            f"language {language}: expected one that marks the ends of its sentences, got one that"
            " does not; split the text yourself, one sentence a line"
        )
    sentences = (sentence.strip() for sentence in sentencex.segment(base(language), text))
    return [sentence for sentence in sentences if sentence]


def join_sentences(sentences: Iterable[str], language: str) -> str:
    """Put sentences of a language together to a paragraph, with spaces if it has them.

    Example:
        >>> join_sentences(["Oui.", "Et toi ?"], "fr"), join_sentences(["はい。", "君は？"], "ja")
        ('Oui. Et toi ?', 'はい。君は？')
    """
    space = "" if base(language) in _JOINED else " "
    return space.join(sentence for sentence in sentences if sentence)
