"""Phrases that have to stand in translations, as a caller of a Translator hands them in."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.text.phrases import MOST_TOKENS


def constraint_lines(constraints, texts) -> list[str]:
    """For each text its phrases with tabs between.

    Args:
        constraints: for each text an iterable of str; None: there are none.
        texts: list.

    Raises:
        UsageError: they are something else, or not as many.
    """
    if constraints is None:
        return [""] * len(texts)
    if isinstance(constraints, (str, bytes)) or not isinstance(constraints, Iterable):
        raise UsageError(f"constraints: expected a list of phrases for each text, got {type(constraints).__name__} {constraints!r}")
    constraints = list(constraints)
    if len(constraints) != len(texts):
        raise UsageError(f"constraints: expected a list of phrases for each of {len(texts)} texts, got {len(constraints)} lists")
    return [_line(phrases, f"constraints[{number}]") for number, phrases in enumerate(constraints)]


def check_fit(phrases, numbers) -> None:
    """Refuse more tokens than are searched for.

    Args:
        phrases: PhraseTokens of a batch.
        numbers: place of each of its sentences in the input.

    Raises:
        UserError: naming the first such sentence.
    """
    too_long = np.flatnonzero(~phrases.fits.numpy())
    if len(too_long):
        raise UserError(
            f"constraints[{numbers[too_long[0]]}]: expected phrases of at most {MOST_TOKENS} tokens together, got more; leave some out"
        )


def _line(phrases, name):
    if isinstance(phrases, (str, bytes)) or not isinstance(phrases, Iterable):
        raise UsageError(f"{name}: expected a list of phrases, got {type(phrases).__name__} {phrases!r}; one phrase goes in a list too")
    phrases = list(phrases)
    for phrase in phrases:
        if not isinstance(phrase, str):
            raise UsageError(f"{name}: expected phrases as str, got {type(phrase).__name__} {phrase!r}")
    return "\t".join(phrase.replace("\t", " ") for phrase in phrases)
