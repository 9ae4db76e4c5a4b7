"""A claim of a paper as a difference between systems, over the seeds and over resamples of the test
text.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from papers.resampling import Counts, Difference

NOT_CLAIMED = "not claimed"
"""What `in_paper` begins with where the paper does not claim it: a question of ours."""

FLAT = 0.1
"""The share of BLEU that a flat system may lose from the shortest to the longest sentences; chosen
here, no paper gives one.
"""


@dataclasses.dataclass(frozen=True)
class Claim:
    """A claim and what was found.

    Attributes:
        paper: the paper that it is about.
        says: the claim.
        measure: what the difference is of.
        difference: Difference.
        in_paper: the same difference in the paper, or where the paper shows it; begins with
            NOT_CLAIMED if the paper does not claim it.
    """

    paper: str
    says: str
    measure: str
    difference: Difference
    in_paper: str


@dataclasses.dataclass(frozen=True)
class System:
    """BLEU of each seed, and the Counts of its translations, none if they were not kept."""

    bleu: list
    counts: list

    def of_first_seed(self):
        return System(self.bleu[:1], self.counts[:1])


def kept_counts(work, keys, part=None) -> list:
    """The Counts of outputs with these keys, of one part if they have several; [] unless all were
    kept.
    """
    kept = [work.kept_output(key) for key in keys]
    if None in kept:
        return []
    return [Counts((each if part is None else each[part])["counts"]) for each in kept]


def between(better, worse, units=None):
    """The Difference of two systems' BLEU."""
    return resampled(
        less(better.bleu, worse.bleu),
        units,
        [better.counts, worse.counts],
        lambda weights, more, less: more.bleu(weights) - less.bleu(weights),
    )


def resampled(values, units, counts: Sequence[list], difference: Callable) -> Difference:
    """A Difference with the variance of the text, if translations of all seeds were kept.

    Args:
        values: as measured, one for each seed.
        units: the unit of each line of the text; None: each is one.
        counts: for each system the Counts of each seed.
        difference: function of the weights and of one Counts of each system.
    """
    if any(len(each) < len(values) for each in counts):
        return Difference(values)
    seeds = list(zip(*counts))[: len(values)]
    units = range(len(seeds[0][0])) if units is None else units
    return Difference.of(
        values, lambda weights: [difference(weights, *each) for each in seeds], units
    )


def less(first, second):
    return [one - other for one, other in zip(first, second)]
