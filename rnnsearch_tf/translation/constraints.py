"""Phrases that have to stand in translations, as a caller of a Translator hands them in."""

from __future__ import annotations

from collections.abc import Iterable

from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.text.phrases import MOST_TOKENS


def constraint_lines(constraints, texts) -> list[bytes]:
    """For each text its phrases with tabs between.

    Args:
        constraints: for each text an iterable of str, or bytes of UTF-8.
        texts: list.

    Raises:
        UsageError: they are something else, or not as many.
    """
    if isinstance(constraints, (str, bytes)) or not isinstance(constraints, Iterable):
        raise UsageError(f"constraints: expected a list of phrases for each text, got {type(constraints).__name__} {constraints!r}")
    constraints = list(constraints)
    if len(constraints) != len(texts):
        raise UsageError(f"constraints: expected a list of phrases for each of {len(texts)} texts, got {len(constraints)} lists")
    return [_line(phrases, f"constraints[{number}]") for number, phrases in enumerate(constraints)]


def too_many_tokens(number, line) -> UserError:
    """The error of a text whose phrases have more tokens than are searched for.

    Args:
        number: its place among the texts.
        line: bytes, its phrases.
    """
    start = line[:60].decode("utf-8", "replace")
    return UserError(
        f"constraints[{number}] ({start!r}): expected phrases of at most {MOST_TOKENS} tokens together, got more; leave some out"
    )


def _line(phrases, name):
    if isinstance(phrases, (str, bytes)) or not isinstance(phrases, Iterable):
        raise UsageError(f"{name}: expected a list of phrases, got {type(phrases).__name__} {phrases!r}; one phrase goes in a list too")
    phrases = list(phrases)
    for phrase in phrases:
        if not isinstance(phrase, (str, bytes)):
            raise UsageError(f"{name}: expected phrases as str, got {type(phrase).__name__} {phrase!r}")
    phrases = (phrase.encode() if isinstance(phrase, str) else phrase for phrase in phrases)
    return b"\t".join(phrase.replace(b"\t", b" ") for phrase in phrases)
