"""Is a difference between two systems more than chance?

Two kinds of chance are in a difference. Models of other seeds would give another: its variance over
the seeds, divided by their number. Another test text would give another: its variance when the text
is resampled (Koehn 2004). Both variances are added, and the mean is compared with zero by Student's
t, with the degrees of freedom of Welch and Satterthwaite.

What is resampled are units of the text that have no sentence in common: see ``units`` of the texts
of each scale.
"""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Callable, Sequence

import numpy as np
from sacrebleu.metrics import BLEU

RESAMPLES = 1000
SEED = 1
ORDER = 4
"""Longest n-grams of BLEU."""

VERDICTS = HELD, SUGGESTIVE, UNDECIDED, NOT_HELD = "held", "suggestive", "undecided", "not held"

LEVEL = 0.05
"""Probability below which a difference counts as more than chance."""


def counts_of(
    texts: Sequence[str],
    references: Sequence[str],
    lowercase: bool = False,
    tokenize: str = "none",
) -> list:
    """What BLEU counts in each line.

    Args:
        texts, references: one line for each sentence.
        lowercase: compare without case.
        tokenize: sacreBLEU's tokenizer; ``none`` for tokens separated by spaces.

    Returns:
        [matching 1-grams, …, matching 4-grams, words of the text, words of the reference] of each
        line.
    """
    metric = BLEU(tokenize=tokenize, lowercase=lowercase, force=True)
    scores = (
        metric.corpus_score([text], [[reference]])
        for text, reference in zip(texts, references, strict=True)
    )
    return [[*score.counts, score.sys_len, score.ref_len] for score in scores]


class Counts:
    """What BLEU counts in each line of a translated text; gives BLEU of resampled lines.

    Args:
        counts: see :func:`counts_of`.
    """

    def __init__(self, counts) -> None:
        counts = np.asarray(counts, int).reshape(-1, ORDER + 2)
        words = counts[:, ORDER, None]
        totals = np.maximum(words - np.arange(ORDER), 0)
        self._columns = np.concatenate([counts[:, :ORDER], totals, counts[:, ORDER:]], axis=1)

    def __len__(self) -> int:
        return len(self._columns)

    def only(self, lines) -> Counts:
        """The same with all other lines left out, whatever their weight.

        Args:
            lines: positions, or bool [lines].
        """
        chosen = Counts.__new__(Counts)
        chosen._columns = np.zeros_like(self._columns)
        chosen._columns[lines] = self._columns[lines]
        return chosen

    def bleu(self, weights=None) -> np.ndarray:
        """BLEU in percent, float [resamples].

        Args:
            weights: how often each line counts, [resamples, lines]; without it: once.
        """
        weights = np.ones([1, len(self._columns)], int) if weights is None else weights
        return np.array(
            [
                BLEU.compute_bleu(
                    correct=[int(count) for count in sums[:ORDER]],
                    total=[int(count) for count in sums[ORDER : 2 * ORDER]],
                    sys_len=int(sums[-2]),
                    ref_len=int(sums[-1]),
                    smooth_method="exp",
                ).score
                for sums in weights @ self._columns
            ]
        )


def likelihoods_of(scores: Sequence[float], words: Sequence[int]) -> list:
    """What perplexity needs of each line.

    Args:
        scores: log-probability of each line, in nats.
        words: its number of words, without the end symbol.

    Returns:
        [log-probability in nats, words with the end symbol] of each line.
    """
    return [[score, count + 1] for score, count in zip(scores, words, strict=True)]


class Likelihoods:
    """Log-probability and words of each line of a text; gives the perplexity of resampled lines.

    Args:
        found: see :func:`likelihoods_of`.
    """

    def __init__(self, found) -> None:
        self._columns = np.asarray(found, float).reshape(-1, 2)

    def __len__(self) -> int:
        return len(self._columns)

    def perplexity(self, weights=None) -> np.ndarray:
        """Perplexity per word, float [resamples]; weights as of Counts.bleu."""
        weights = np.ones([1, len(self._columns)]) if weights is None else weights
        log_probabilities, words = (weights @ self._columns).T
        return np.exp(-log_probabilities / words)


@dataclasses.dataclass(frozen=True)
class Difference:
    """A difference between systems, one value for each seed.

    Attributes:
        values: as measured.
        variance: of the mean of the values when the test text is resampled; None if the text's
            sentences were not kept, or the measure has no test text.
        units: number of units of the text that are resampled.
    """

    values: list
    variance: float | None = None
    units: int = 0

    @classmethod
    def of(cls, values: list, resampled: Callable, units: Sequence[int]) -> Difference:
        """With the variance of a text.

        Args:
            values: as measured.
            resampled: function of weights [resamples, lines]; returns a list of float [resamples],
                one for each seed.
            units: the unit of each line.
        """
        numbers = np.unique(units, return_inverse=True)[1]
        count = int(numbers.max()) + 1
        if count == 1:
            return cls(values)
        draws = np.random.default_rng(SEED).multinomial(count, [1 / count] * count, RESAMPLES)
        means = np.mean(resampled(draws[:, numbers]), axis=0)
        # drawing from n units again has (n − 1)/n of the variance
        return cls(values, float(np.var(means)) * count / (count - 1), count)

    @classmethod
    def of_shares(cls, shares: list, count: int) -> Difference:
        """Shares of `count` cases, above one half: the variance is that of the mean share if the
        cases are drawn, with one case added on either side, as equal shares of 0 or 1 vary, too.
        """
        mean = (statistics.mean(shares) * count + 1) / (count + 2)
        return cls([share - 0.5 for share in shares], mean * (1 - mean) / count, count)

    @property
    def mean(self) -> float:
        return statistics.mean(self.values)

    @property
    def margin(self) -> float | None:
        """Half of the 95 % confidence interval of the mean; None if nothing says how it varies."""
        from scipy.stats import t

        spread = self._spread()
        return None if spread is None else float(t.ppf(1 - LEVEL / 2, spread[1]) * spread[0])

    @property
    def probability(self) -> float | None:
        """Of so large a mean, to either side, if the true one is zero; None as for the margin."""
        from scipy.stats import t

        spread = self._spread()
        if spread is None:
            return None
        deviation, freedom = spread
        return float(2 * t.sf(abs(self.mean) / deviation, freedom))

    def shown(self) -> str:
        """The mean and its interval, as text; with one seed the interval is of the text alone; * if
        the test text was resampled.
        """
        digits = 3 if abs(self.mean) <= 1 else 2
        margin = self.margin
        interval = "" if margin is None else f" ± {margin:.{digits}f}"
        if len(self.values) == 1:
            seeds = " (one seed)"
        else:
            seeds = " (equal seeds)" if margin is None else ""
        return f"{self.mean:+.{digits}f}{interval}{seeds}{'' if self.variance is None else ' *'}"

    def _spread(self):
        """(standard deviation of the mean, degrees of freedom), or None."""
        parts = []
        if (seeds := len(self.values)) > 1:
            parts.append((statistics.variance(self.values) / seeds, seeds - 1))
        if self.variance is not None:
            parts.append((self.variance, self.units - 1))
        if not parts:
            return None
        total = sum(variance for variance, _ in parts)
        if total == 0:  # a few equal values do not say how they vary
            return None
        freedom = total**2 / sum(variance**2 / each for variance, each in parts)
        return total**0.5, freedom


def verdicts(differences: Sequence[Difference]) -> list:
    """Whether each difference is above zero, with Holm's correction for deciding all of them.

    Returns:
        For each: ``held`` or ``not held``: above, or below, zero at 5 % after the correction, with
        two seeds or more; ``suggestive``: above zero at 5 % before it, or with one seed;
        ``undecided``.
    """
    adjusted = holm([each.probability for each in differences])
    return [_verdict(each, corrected) for each, corrected in zip(differences, adjusted)]


def _verdict(difference, corrected):
    if corrected is None:
        return UNDECIDED
    if corrected < LEVEL and len(difference.values) > 1:
        return HELD if difference.mean > 0 else NOT_HELD
    above = difference.mean > 0 and difference.probability < LEVEL
    return SUGGESTIVE if above else UNDECIDED


def holm(probabilities: Sequence[float | None]) -> list:
    """Holm's correction: the k-th smallest of n probabilities is multiplied by n − k + 1, and none
    is smaller than one before it. None stays None and does not count.

    Example:
        >>> holm([0.01, None, 0.04, 0.02])
        [0.03, None, 0.04, 0.04]
    """
    known = sorted((value, place) for place, value in enumerate(probabilities) if value is not None)
    adjusted: list = [None] * len(probabilities)
    before = 0.0
    for rank, (value, place) in enumerate(known):
        before = max(before, min(1.0, value * (len(known) - rank)))
        adjusted[place] = before
    return adjusted
