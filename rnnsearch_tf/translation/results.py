"""What translating, scoring and sampling give, and what all that translates has in common."""

from __future__ import annotations

import collections
import dataclasses
import typing

import numpy as np


class Translated(typing.Protocol):
    """The translation of one text."""

    text: str
    score: float | None  # higher is better; None where it is not known


@typing.runtime_checkable
class TextTranslator(typing.Protocol):
    """What translates: a Translator, an exported model, a client of a server."""

    def translate(self, texts) -> list[Translated]:
        """The translations of texts, a list of str, in their order."""


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence.

    Attributes:
        text: detokenized.
        score: what it is ranked by: log_probability / length^A (see search.length_penalty) and what
            search.coverage_penalty adds; higher is better.
        log_probability: natural logarithm of p(target | source), the end symbol included.
        tokens: list[str], the end symbol left out.
        alignment: float32 [target tokens + 1, source tokens + 1]; the last row and
            column are the end symbols'.

    An exported model does not give all of them; what it does not give is None.
    """

    text: str
    score: float
    log_probability: float | None = None
    tokens: list | None = None
    alignment: np.ndarray | None = None


@dataclasses.dataclass(frozen=True)
class Translation(Hypothesis):
    """The best hypothesis of a sentence, with its source tokens and the n-best list, best first.

    Example:
        >>> nbest = [Hypothesis("un chat", -0.5), Hypothesis("une chatte", -0.75)]
        >>> Translation(**vars(nbest[0]), nbest=nbest).text
        'un chat'
    """

    source_tokens: list | None = None
    nbest: list = dataclasses.field(default_factory=list)


@dataclasses.dataclass(frozen=True)
class ScoredPair:
    """What the model says of a given sentence pair.

    Attributes:
        log_probability: the sum of `token_log_probabilities`.
        token_log_probabilities: float64 [target tokens + 1], natural logarithm of each token's
            probability, the end symbol last.
        unknown_words: how many, on both sides together.
        source_tokens, target_tokens, alignment: as in `Hypothesis`.
    """

    log_probability: float
    token_log_probabilities: np.ndarray
    source_tokens: list
    target_tokens: list
    alignment: np.ndarray
    unknown_words: int


@dataclasses.dataclass(frozen=True)
class Sample:
    """One translation drawn at random; log_probability is at temperature 1, other fields as in
    `Hypothesis`.
    """

    text: str
    log_probability: float
    tokens: list


def distinct(samples) -> list:
    """(text, log-probability, count) of each sample distinct by its tokens, likeliest first."""
    counts = collections.Counter(tuple(sample.tokens) for sample in samples)
    first = {tuple(sample.tokens): sample for sample in reversed(samples)}
    rows = [
        (first[tokens].text, first[tokens].log_probability, count)
        for tokens, count in counts.items()
    ]
    return sorted(rows, key=lambda row: -row[1])
