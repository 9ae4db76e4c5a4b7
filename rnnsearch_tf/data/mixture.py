"""A mixture of corpora, each with a weight: how often an epoch goes through it.

weight 1     every pair once an epoch
weight 2     every pair twice
weight 0.25  a quarter of the pairs, drawn anew in every epoch
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, TypeVar

from rnnsearch_tf.data.pairs import LinePair, Pairs, Report

if TYPE_CHECKING:
    import numpy as np

Pair = TypeVar("Pair")


class MixedPairs(Pairs):
    """The pairs of several corpora.

    Iterating yields the good pairs of each corpus once, one corpus after the other, whatever the
    weights are; :func:`mixed` is one epoch of training. The report covers all corpora.

    Args:
        corpora: (Pairs, weight) of each corpus.

    Example:
        >>> own, other = Pairs(["a house"], ["une maison"]), Pairs(["a door"], ["une porte"])
        >>> [source for source, _ in MixedPairs([(own, 1.0), (other, 0.5)])]
        ['a house', 'a door']
    """

    def __init__(self, corpora: Iterable[tuple[Pairs, float]]):
        super().__init__(None, None)
        self.corpora = list(corpora)

    def name(self, side: str) -> str:
        return " + ".join(pairs.name(side) for pairs, _ in self.corpora)

    def scan(self) -> Iterator[LinePair]:
        """Yield every line of every corpus; line numbers start from 1 in each."""
        return itertools.chain.from_iterable(pairs.scan() for pairs, _ in self.corpora)

    def good(self) -> Iterator[LinePair]:
        """As :meth:`Pairs.good`, one corpus after the other; UserError if one has no good pair."""
        for pairs, _ in self.corpora:
            yield from pairs.good()
        self.report = sum((pairs.check() for pairs, _ in self.corpora), Report())


def mixed(
    corpora: Sequence[tuple[Iterable[Pair], int, float]], generator: np.random.Generator
) -> Iterator[Pair]:
    """Yield one epoch of several corpora, evenly mixed from beginning to end.

    The order within a corpus is kept. The corpus of the next pair is drawn with probabilities
    proportional to the pairs that each has left.

    Args:
        corpora: (pairs, their number, weight) of each corpus.
        generator: the only source of randomness.
    """
    streams = [_weighted(pairs, weight, generator) for pairs, _, weight in corpora]
    left = [max(1.0, count * weight) for _, count, weight in corpora]
    while len(streams) > 1:
        total = sum(left)
        drawn = int(generator.choice(len(left), p=[share / total for share in left]))
        try:
            yield next(streams[drawn])
            # the count is inexact: some pairs may be too long, and a fractional weight is drawn
            left[drawn] = max(1.0, left[drawn] - 1)
        except StopIteration:
            del streams[drawn], left[drawn]
    yield from streams[0]


def _weighted(
    pairs: Iterable[Pair], weight: float, generator: np.random.Generator
) -> Iterator[Pair]:
    """The pairs, repeated by the whole part of the weight; then each pair with the probability of
    its fractional part.
    """
    whole, share = divmod(weight, 1.0)
    for _ in range(int(whole)):
        yield from pairs
    if share:
        for pair in pairs:
            if generator.random() < share:
                yield pair
