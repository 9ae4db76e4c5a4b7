"""Results of translating, scoring and sampling."""

from __future__ import annotations

import collections
import dataclasses
import typing
from collections.abc import Sequence

import numpy as np

from rnnsearch_tf.alignment.figure import alignment_figure
from rnnsearch_tf.config import ATTENDING, END_ID, SPECIAL_TOKENS
from rnnsearch_tf.errors import UserError

if typing.TYPE_CHECKING:
    from matplotlib.figure import Figure

Answer = dict[str, typing.Any]
"""{name of an output of a function of text: array}; strings are bytes. See functions.py."""


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence; two are equal if text, score and log-probability are.

    Attributes:
        text: detokenized.
        score: the ranking score, log_probability / length^A (see search.length_penalty); higher
            is better.
        log_probability: natural logarithm of p(target | source), including the end symbol.
        tokens: without the end symbol.
        alignment: float32 [target tokens + 1, source tokens + 1]; the last row and
            column belong to the end symbols.
        token_log_probabilities: float32 [target tokens + 1], natural logarithm of each token's
            probability, the end symbol last; of a translation that was cut, without it.
        probability: the geometric mean of the tokens' probabilities, the end symbol's included.
        finished: False if the translation was cut at the maximum length
            (search.maximum_length_ratio).
    """

    text: str
    score: float
    log_probability: float = dataclasses.field(repr=False)
    tokens: list[str] = dataclasses.field(repr=False, compare=False)
    alignment: np.ndarray = dataclasses.field(repr=False, compare=False)
    token_log_probabilities: np.ndarray = dataclasses.field(repr=False, compare=False)
    probability: float = dataclasses.field(repr=False, compare=False)
    finished: bool = dataclasses.field(repr=False, compare=False)


class WithAttention:
    """What has the attention weights of a sentence pair."""

    alignment: np.ndarray
    source_tokens: list[str]
    target_tokens: list[str]

    def attention(self) -> tuple[np.ndarray, list[str], list[str]]:
        """(α float32 [I, J], the I target tokens, the J source tokens); the last token of each side
        is the end symbol ``</s>``.

        Raises:
            UserError: there are none: the sentence has no words, or the model no attention.
        """
        if not self.alignment.any():
            why = (
                "a model without attention, which has none; use a model of a system with attention:"
                f" {', '.join(ATTENDING)}"
                if self.source_tokens
                else "the translation of a sentence without words, which has none; leave it out"
            )
            raise UserError(f"attention: expected attention weights, got {why}")
        end = SPECIAL_TOKENS[END_ID]
        return self.alignment, [*self.target_tokens, end], [*self.source_tokens, end]

    def plot(self) -> Figure:
        """The attention weights as in Figure 3 of the paper, a matplotlib Figure: source words
        along the top, target words on the left, from black (0) to white (1).

        Raises:
            UserError: as `attention`, or matplotlib, of the extra ``plots``, is missing.
        """
        alignment, target, source = self.attention()
        return alignment_figure(alignment, source, target)


@dataclasses.dataclass(frozen=True)
class Translation(Hypothesis, WithAttention):
    """The best hypothesis of a sentence, with its source tokens and the n-best list, best first."""

    source_tokens: list[str] = dataclasses.field(repr=False, compare=False)
    nbest: list[Hypothesis] = dataclasses.field(repr=False, compare=False)

    @property
    def target_tokens(self) -> list[str]:  # type: ignore[override]
        """`tokens`, by the name that a ScoredPair has for them."""
        return self.tokens


@dataclasses.dataclass(frozen=True)
class ScoredPair(WithAttention):
    """Scores and alignment of a given sentence pair.

    Attributes:
        log_probability: the sum of `token_log_probabilities`.
        token_log_probabilities: float64 [target tokens + 1], natural logarithm of each token's
            probability, the end symbol last.
        unknown_words: number of unknown words on both sides together.
        source_tokens, target_tokens: without end symbols.
        alignment: as in `Hypothesis`.
    """

    log_probability: float
    token_log_probabilities: np.ndarray = dataclasses.field(repr=False, compare=False)
    source_tokens: list[str]
    target_tokens: list[str]
    alignment: np.ndarray = dataclasses.field(repr=False, compare=False)
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
    rows = [(first[key].text, first[key].log_probability, counts[key]) for key in counts]
    return sorted(rows, key=lambda row: -row[1])


def translation_of(row: Answer, nbest: int) -> Translation:
    """The Translation with at most `nbest` hypotheses in a row of the answer of ``nbest``.

    Raises:
        UserError: there is none, since the probabilities are not finite.
    """
    source = split_tokens(row["source_tokens"])
    found = [_hypothesis(row, n, len(source)) for n in range(nbest) if row["length"][n]]
    if not found:
        raise UserError(
            f"sentence {' '.join(source)[:60]!r}: expected finite probabilities,"
            " got none; the model's weights contain NaN or Inf"
        )
    return Translation(**vars(found[0]), source_tokens=source, nbest=found)


def _hypothesis(row: Answer, n: int, source_length: int) -> Hypothesis:
    """Place n of an n-best list."""
    tokens = split_tokens(row["tokens"][n])
    length = int(row["length"][n])
    alignment = row["alignment"][n, : len(tokens) + 1, : source_length + 1]
    cut = len(tokens) + 1 - len(alignment)  # 1: the end symbol, which was not reached, has no row
    return Hypothesis(
        row["translation"][n].decode(),
        float(row["score"][n]),
        float(row["log_probability"][n]),
        tokens,
        np.pad(alignment, [(0, cut), (0, 0)]),
        row["token_log_probabilities"][n, :length],
        float(row["probability"][n]),
        bool(row["finished"][n]),
    )


def scored_pair_of(row: Answer) -> ScoredPair:
    """The ScoredPair in a row of the answer of ``score``."""
    source, target = split_tokens(row["source_tokens"]), split_tokens(row["target_tokens"])
    log_probabilities = row["token_log_probabilities"][: len(target) + 1].astype(np.float64)
    return ScoredPair(
        float(log_probabilities.sum()),
        log_probabilities,
        source,
        target,
        row["alignment"][: len(target) + 1, : len(source) + 1],
        int(row["unknown_words"]),
    )


def sample_of(row: Answer) -> Sample:
    """The Sample in a row of the answer of ``sample``."""
    text, tokens = row["translation"].decode(), split_tokens(row["tokens"])
    return Sample(text, float(row["log_probability"]), tokens)


def split_tokens(joined: bytes) -> list[str]:
    """The tokens of an answer, with spaces between; a token may have other white space in it."""
    return joined.decode().split(" ") if joined else []
