"""The weights of a log-linear model with which n-best lists have the highest BLEU: minimum error
rate training (Och 2003).

    ê_s(w) = argmax over the hypotheses e of sentence s of  w · h(e)
    w*     = argmax over w of  BLEU(ê_1(w) … ê_S(w))

Along a line w + γ d, the choice of a sentence changes where the upper envelope of its lines γ ↦ w ·
h(e) + γ d · h(e) has a corner. Between corners BLEU is constant, so that the best γ of a line is
found exactly. Lines: the axes and random ones.

Dimension letters: S sentences, K hypotheses of the longest list, F features.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import sacrebleu

ORDER = 4
STATISTICS = 2 * ORDER + 2
"""Numbers that BLEU is made of: n-grams that match and n-grams in all, of each order, words, words
of the reference.
"""

RANDOM_LINES = 8
"""In a round, beside the axes."""

LEAST_GAIN = 1e-4
"""In BLEU of 0 … 100; a round that gains less is the last."""


@dataclasses.dataclass(frozen=True)
class Candidates:
    """The hypotheses of a text, each list filled up with its first hypothesis.

    Attributes:
        features: float64 [S, K, F].
        statistics: int64 [S, K, STATISTICS].
    """

    features: np.ndarray
    statistics: np.ndarray

    @classmethod
    def of(cls, lists, references) -> Candidates:
        """Those of n-best lists.

        Args:
            lists: for each sentence [(text of tokens with spaces between, features)], at least one;
                features float [F].
            references: list[str], tokens with spaces between.
        """
        # of which the counts are read; without it sacreBLEU warns
        metric = sacrebleu.BLEU(tokenize="none", force=True, effective_order=True)
        longest = max(map(len, lists))
        known = {}
        features = []
        statistics = []
        for sentence, (entries, reference) in enumerate(zip(lists, references, strict=True)):
            for text, _ in entries:
                if (sentence, text) not in known:
                    known[sentence, text] = _statistics(metric, text, reference)
            filled = [*entries, *entries[:1] * (longest - len(entries))]
            features.append([values for _, values in filled])
            statistics.append([known[sentence, text] for text, _ in filled])
        return cls(np.asarray(features, np.float64), np.asarray(statistics, np.int64))

    def with_features(self, columns) -> Candidates:
        """The same hypotheses with these features only; list of int."""
        return dataclasses.replace(self, features=self.features[..., columns])

    def chosen(self, weights) -> np.ndarray:
        """int64 [S]: the place of each sentence's best hypothesis; of equals, the first."""
        return np.argmax(self.features @ np.asarray(weights, np.float64), axis=1)

    def bleu(self, weights) -> float:
        """BLEU, in percent, of the best hypotheses."""
        rows = np.arange(len(self.statistics))
        return float(bleu(self.statistics[rows, self.chosen(weights)].sum(axis=0)))


def tune(candidates: Candidates, weights, starts=4, seed=1):
    """Find weights of high BLEU.

    Args:
        candidates: of the development text.
        weights: float [F], where to begin.
        starts: how many times; after the first from random weights near these.
        seed: of the random weights and lines.

    Returns:
        (weights float64 [F], BLEU in percent): the best of all starts, never worse than what was
        begun with.

    Example:
        >>> lists = [[("a b c d e", [1.0, 0.0]), ("a b c d x", [0.0, 1.0])]]
        >>> tune(Candidates.of(lists, ["a b c d e"]), [0.0, 1.0])[1]
        100.0
    """
    generator = np.random.default_rng(seed)
    weights = np.asarray(weights, np.float64)
    spread = np.maximum(candidates.features.std(axis=1).mean(axis=0), 1e-9)  # [F], within a list
    best = weights, candidates.bleu(weights)
    for start in range(starts):
        begun = (
            weights
            if start == 0
            else weights
            + generator.normal(size=len(weights)) * np.abs(weights).mean() * spread.mean() / spread
        )
        found = _climb(candidates, begun, 1 / spread, generator)
        best = max(best, found, key=lambda each: each[1])
    return best


def _climb(candidates, weights, scale, generator):
    """(weights, BLEU) from which no line leads higher."""
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


def best_step(candidates, weights, direction):
    """(γ, BLEU in percent) of the best point of the line weights + γ direction: the middle of the
    best stretch.
    """
    start, corners, changes = _envelope(candidates, weights, direction)
    order = np.argsort(corners, kind="stable")
    corners = corners[order]
    # [corners + 1], of the stretches
    scores = bleu(np.concatenate([start[np.newaxis], start + np.cumsum(changes[order], axis=0)]))
    if not len(corners):
        return 0.0, float(scores[0])
    bounds = np.concatenate([[corners[0] - 2], corners, [corners[-1] + 2]])
    # rounding could pick another choice in a narrower one
    middles = (bounds[1:] + bounds[:-1]) / 2
    wide = np.diff(bounds) > 1e-9
    place = np.argmax(np.where(wide, scores, -1.0))
    return float(middles[place]), float(scores[place])


def _envelope(candidates, weights, direction):
    """What is chosen along a line.

    Returns:
        (statistics of the text far to the left, int64 [STATISTICS]; corners float64 [N], in no
        order; what changes there, int64 [N, STATISTICS]).
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


def bleu(statistics):
    """BLEU in percent, float64 [...], of sums of statistics, int64 [..., STATISTICS]; 0 where an
    order has no match.
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
