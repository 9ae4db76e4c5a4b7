"""Results of translating, scoring and sampling, and the interface that all translators share."""

from __future__ import annotations

import collections
import dataclasses
import typing
from collections.abc import Iterable, Sequence

import numpy as np


class Translated(typing.Protocol):
    """The translation of one text."""

    text: str
    score: float | None  # higher is better; None if unknown


@typing.runtime_checkable
class TextTranslator(typing.Protocol):
    """Interface of a Translator, an exported model and a client of a server."""

    def translate(self, texts: Iterable[str | bytes]) -> Sequence[Translated]:
        """Translate texts; the translations are in the same order."""


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence.

    Attributes:
        text: detokenized.
        score: the ranking score, log_probability / length^A (see search.length_penalty) plus the
            term of search.coverage_penalty; higher is better.
        log_probability: natural logarithm of p(target | source), including the end symbol.
        tokens: without the end symbol.
        alignment: float32 [target tokens + 1, source tokens + 1]; the last row and
            column belong to the end symbols.

    An exported model may not return all fields; the missing ones are None.
    """

    text: str
    score: float
    log_probability: float | None = None
    tokens: list[str] | None = None
    alignment: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class Translation(Hypothesis):
    """The best hypothesis of a sentence, with its source tokens and the n-best list, best first.

    Example:
        >>> nbest = [Hypothesis("un chat", -0.5), Hypothesis("une chatte", -0.75)]
        >>> Translation(**vars(nbest[0]), nbest=nbest).text
        'un chat'
    """

    source_tokens: list[str] | None = None
    nbest: list[Hypothesis] = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class ScoredPair:
    """Scores and alignment of a given sentence pair.

    Attributes:
        log_probability: the sum of `token_log_probabilities`.
        token_log_probabilities: float64 [target tokens + 1], natural logarithm of each token's
            probability, the end symbol last.
        unknown_words: number of unknown words on both sides together.
        source_tokens, target_tokens, alignment: as in `Hypothesis`.
    """

    log_probability: float
    token_log_probabilities: np.ndarray
    source_tokens: list[str]
    target_tokens: list[str]
    alignment: np.ndarray
    unknown_words: int


@dataclasses.dataclass(frozen=True)
class Sample:
    """A randomly drawn translation; log_probability is at temperature 1, other fields as in
    `Hypothesis`.
    """

    text: str
    log_probability: float
    tokens: list[str]


def distinct(samples: Sequence[Sample]) -> list[tuple[str, float, int]]:
    """(text, log-probability, count) of every distinct token sequence, most likely first."""
    counts = collections.Counter(tuple(sample.tokens) for sample in samples)
    first = {tuple(sample.tokens): sample for sample in reversed(samples)}
    rows = [
        (first[tokens].text, first[tokens].log_probability, count)
        for tokens, count in counts.items()
    ]
    return sorted(rows, key=lambda row: -row[1])
