"""Results of translating, scoring and sampling, and the interface that all translators share."""

from __future__ import annotations

import collections
import dataclasses
import importlib
import typing
from collections.abc import Iterable, Sequence

import numpy as np

from rnnsearch_tf.config import ATTENDING, END_ID, SPECIAL_TOKENS
from rnnsearch_tf.errors import UserError

if typing.TYPE_CHECKING:
    from matplotlib.figure import Figure


class Translated(typing.Protocol):
    """The translation of one text."""

    text: str
    score: float | None  # higher is better; None if unknown


@typing.runtime_checkable
class TextTranslator(typing.Protocol):
    """Interface of a Translator, an exported model and a client of a server."""

    def translate(self, texts: Iterable[str | bytes]) -> Sequence[Translated]:
        """Translate texts; the translations are in the same order."""


class WithAttention:
    """What has attention weights of a sentence pair: a Translation, a ScoredPair."""

    alignment: np.ndarray | None
    source_tokens: list[str] | None

    def _target_tokens(self) -> list[str] | None:
        raise NotImplementedError

    def attention(self) -> tuple[np.ndarray, list[str], list[str]]:
        """The attention weights and the tokens to which their rows and columns belong.

        Returns:
            (float32 [I, J], the I target tokens, the J source tokens): row i has the weights α_ij
            with which target token i looks at the source tokens. The last token of each side is
            the end symbol ``</s>``.

        Raises:
            UserError: there are none: the sentence has no words, the model no attention, or the
                exported model does not return them.
        """
        target = self._target_tokens()
        source = self.source_tokens
        if self.alignment is None or target is None or source is None:
            raise UserError(
                "attention: expected the attention weights of a translation, got one without; an"
                " exported model returns them with the signature translate_aligned, for a"
                " single translation, nbest=1"
            )
        if not self.alignment.any():
            why = (
                "a model without attention, which has none; use a model of a system with attention:"
                f" {', '.join(ATTENDING)}"
                if source
                else "the translation of a sentence without words, which has none; leave it out"
            )
            raise UserError(f"attention: expected attention weights, got {why}")
        end = SPECIAL_TOKENS[END_ID]
        return self.alignment, [*target, end], [*source, end]

    def plot(self) -> Figure:
        """Draw the attention weights as in Figure 3 of the paper: source words along the top,
        target words on the left, from black (0) to white (1).

        Returns:
            a matplotlib Figure, which a notebook shows; ``figure.savefig("attention.png")`` keeps
            it.

        Raises:
            UserError: as `attention`, or matplotlib, of the extra ``plots``, is missing.
        """
        alignment, target, source = self.attention()
        # by name: the core does without its extras until one is asked for
        plots = importlib.import_module("rnnsearch_tf.extras.plots.alignment")
        figure: Figure = plots.alignment_figure(alignment, source, target)
        return figure


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence. Its repr has text and score only; two are equal if text, score
    and log-probability are.

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
        finished: False if the translation was cut at the maximum length
            (search.maximum_length_ratio).

    An exported model may not return all fields; the missing ones are None.
    """

    text: str
    score: float
    log_probability: float | None = dataclasses.field(default=None, repr=False)
    tokens: list[str] | None = dataclasses.field(default=None, repr=False, compare=False)
    alignment: np.ndarray | None = dataclasses.field(default=None, repr=False, compare=False)
    token_log_probabilities: np.ndarray | None = dataclasses.field(
        default=None, repr=False, compare=False
    )
    finished: bool | None = dataclasses.field(default=None, repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Translation(Hypothesis, WithAttention):
    """The best hypothesis of a sentence, with its source tokens and the n-best list, best first.

    Example:
        >>> nbest = [Hypothesis("un chat", -0.5), Hypothesis("une chatte", -0.75)]
        >>> Translation(**vars(nbest[0]), nbest=nbest)
        Translation(text='un chat', score=-0.5)
    """

    source_tokens: list[str] | None = dataclasses.field(default=None, repr=False, compare=False)
    nbest: list[Hypothesis] = dataclasses.field(default_factory=list, repr=False, compare=False)

    def _target_tokens(self) -> list[str] | None:
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

    def _target_tokens(self) -> list[str]:
        return self.target_tokens


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
