"""Minimum error rate training (Och 2003): the weights of a log-linear model that maximize the BLEU
of n-best lists.

    ê_s(w) = argmax over the hypotheses e of sentence s of  w · h(e)
    w*     = argmax over w of  BLEU(ê_1(w) … ê_S(w))

Along a line w + γ d, the best hypothesis of a sentence changes at the corners of the upper envelope
of the lines γ ↦ w · h(e) + γ d · h(e). Between corners BLEU is constant, so that the best γ is
found exactly. The search follows the axes and random directions.

Dimension letters: S sentences, K hypotheses of the longest list, F features.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import sacrebleu

ORDER = 4
STATISTICS = 2 * ORDER + 2
"""Number of statistics of BLEU: for each order, matching n-grams and all n-grams; words; words of
the reference.
"""

Weights = np.ndarray | Sequence[float]
"""float [F], the weights of the features."""

RANDOM_LINES = 8
"""Random directions of a round, beside the axes."""

LEAST_GAIN = 1e-4
"""Smallest gain of a round in BLEU percent; a round that gains less is the last."""

LEAST_SPREAD = 1e-9
"""Mean standard deviation within the lists below which a feature counts as constant."""


@dataclasses.dataclass(frozen=True)
class Candidates:
    """The hypotheses of a text; shorter lists are padded with their first hypothesis.

    Attributes:
        features: float64 [S, K, F].
        statistics: int64 [S, K, STATISTICS].
    """

    features: np.ndarray
    statistics: np.ndarray

    @classmethod
    def from_lists(
        cls, lists: Sequence[Sequence[tuple[str, Weights]]], references: Sequence[str]
    ) -> Candidates:
        """Compute features and statistics of n-best lists.

        Args:
            lists: for each sentence, one or more (text, features float [F]); tokens are separated
                by spaces.
            references: one for each sentence, with tokens separated by spaces.
        """
        # only its counts are used; effective_order avoids a warning of sacreBLEU
        metric = sacrebleu.BLEU(tokenize="none", force=True, effective_order=True)
        longest = max(map(len, lists))
        known = {}
        features = []
        statistics = []
        for sentence, (entries, reference) in enumerate(zip(lists, references, strict=True)):
            for text, _ in entries:
                if (sentence, text) not in known:
                    known[sentence, text] = _statistics(metric, text, reference)
            filled = [*entries, *[entries[0]] * (longest - len(entries))]
            features.append([values for _, values in filled])
            statistics.append([known[sentence, text] for text, _ in filled])
        return cls(np.asarray(features, np.float64), np.asarray(statistics, np.int64))

    def with_features(self, columns: list[int]) -> Candidates:
        """The same hypotheses with a selection of the features."""
        return dataclasses.replace(self, features=self.features[..., columns])

    def bleu(self, weights: Weights) -> float:
        """BLEU of the best hypotheses, in percent."""
        rows = np.arange(len(self.statistics))
        best = np.argmax(self.features @ np.asarray(weights, np.float64), axis=1)  # first of ties
        return float(bleu(self.statistics[rows, best].sum(axis=0)))


def tune(
    candidates: Candidates, weights: Weights, starts: int = 4, seed: int = 1
) -> tuple[np.ndarray, float]:
    """Find weights with a high BLEU.

    Args:
        candidates: hypotheses of the development text.
        weights: initial weights.
        starts: number of searches; the first starts from the initial weights, the others from
            random weights near them.
        seed: seed of the random weights and directions.

    Returns:
        (weights float64 [F], BLEU in percent) of the best search, never worse than the initial
        weights. A feature that is constant within all lists keeps its weight.

    Example:
        >>> lists = [[("a b c d e", [1.0, 0.0]), ("a b c d x", [0.0, 1.0])]]
        >>> tune(Candidates.from_lists(lists, ["a b c d e"]), [0.0, 1.0])[1]
        100.0
    """
    generator = np.random.default_rng(seed)
    weights = np.asarray(weights, np.float64)
    deviations = candidates.features.std(axis=1).mean(axis=0)  # [F], within a list
    # a feature that is constant within the lists decides nothing here, but may in another text:
    # its weight stays
    spread = np.where(deviations > LEAST_SPREAD, deviations, np.inf)
    best = weights, candidates.bleu(weights)
    for start in range(starts):
        initial = (
            weights
            if start == 0
            else weights
            + generator.normal(size=len(weights))
            * np.abs(weights).mean()
            * deviations.mean()
            / spread
        )
        found = _climb(candidates, initial, 1 / spread, generator)
        best = max(best, found, key=lambda each: each[1])
    return best


def _climb(candidates, weights, scale, generator):
    """(weights, BLEU) that no step along a line improves."""
    score = candidates.bleu(weights)
    while True:
        lines = [*np.diag(scale), *generator.normal(size=(RANDOM_LINES, len(weights))) * scale]
        before = score
        for direction in lines:
            step, reached = best_step(candidates, weights, direction)
            if reached > score + LEAST_GAIN:
                weights = weights + step * direction
                score = reached
        if score < before + LEAST_GAIN:
            return weights, candidates.bleu(weights)


def best_step(
    candidates: Candidates, weights: np.ndarray, direction: np.ndarray
) -> tuple[float, float]:
    """(γ, BLEU in percent) of the best point of the line weights + γ direction, the middle of the
    best interval between corners.
    """
    start, corners, changes = _envelope(candidates, weights, direction)
    order = np.argsort(corners, kind="stable")
    corners = corners[order]
    # [corners + 1], of the intervals
    scores = bleu(np.concatenate([start[np.newaxis], start + np.cumsum(changes[order], axis=0)]))
    if not len(corners):
        return 0.0, float(scores[0])
    bounds = np.concatenate([[corners[0] - 2], corners, [corners[-1] + 2]])
    # in a narrower interval, rounding could change the best hypothesis
    middles = (bounds[1:] + bounds[:-1]) / 2
    wide = np.diff(bounds) > 1e-9
    place = np.argmax(np.where(wide, scores, -1.0))
    return float(middles[place]), float(scores[place])


def _envelope(candidates, weights, direction):
    """Find the changes of the best hypotheses along a line.

    Returns:
        (statistics of the text at γ = −∞, int64 [STATISTICS]; corners float64 [N], unsorted;
        changes of the statistics at the corners, int64 [N, STATISTICS]).
    """
    # [S, K]
    height = candidates.features @ weights
    slope = candidates.features @ direction
    rows = np.arange(len(height))
    flattest = slope.min(axis=1, keepdims=True)
    chosen = np.argmax(np.where(slope == flattest, height, -np.inf), axis=1)  # [S]
    start = candidates.statistics[rows, chosen].sum(axis=0)
    corners = []
    changes = []
    while True:
        rise = slope[rows] - slope[rows, chosen][:, np.newaxis]
        fall = height[rows, chosen][:, np.newaxis] - height[rows]
        meets = np.where(rise > 1e-12, fall / np.where(rise > 1e-12, rise, 1), np.inf)  # [rows, K]
        nearest = meets.min(axis=1)
        following = np.argmax(
            np.where(meets == nearest[:, np.newaxis], slope[rows], -np.inf), axis=1
        )
        going = np.isfinite(nearest)
        rows = rows[going]
        chosen = chosen[going]
        following = following[going]
        nearest = nearest[going]
        if not len(rows):
            return (
                start,
                np.concatenate([np.zeros(0), *corners]),
                np.concatenate([np.zeros((0, STATISTICS), np.int64), *changes]),
            )
        corners.append(nearest)
        changes.append(candidates.statistics[rows, following] - candidates.statistics[rows, chosen])
        chosen = following


def bleu(statistics: np.ndarray) -> np.ndarray:
    """BLEU in percent, float64 [...], of summed statistics int64 [..., STATISTICS]; 0 if an order
    has no match.
    """
    matches = statistics[..., :ORDER]
    totals = statistics[..., ORDER : 2 * ORDER]
    words = statistics[..., -2]
    reference = statistics[..., -1]
    with np.errstate(divide="ignore", invalid="ignore"):
        precision = np.log(matches / np.maximum(totals, 1)).mean(axis=-1)
        brevity = np.minimum(0.0, 1 - reference / np.maximum(words, 1e-9))
    return 100 * np.exp(precision + brevity)


def _statistics(metric, text, reference) -> list:
    found = metric.sentence_score(text, [reference])
    return [*found.counts, *found.totals, found.sys_len, found.ref_len]
