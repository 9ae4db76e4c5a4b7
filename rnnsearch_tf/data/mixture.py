"""Several corpora trained on together, each with a weight: how often an epoch goes through it.

weight 1     every pair once an epoch
weight 2     every pair twice
weight 0.25  a quarter of the pairs, drawn anew in every epoch
"""

import itertools

from rnnsearch_tf.data.pairs import Pairs, Report


class MixedPairs(Pairs):
    """The pairs of several corpora.

    Iterating yields the good pairs of all of them once, one corpus after the other, whatever
    the weights are; :func:`mixed` is one epoch of training. The report counts all.

    Args:
        corpora: list of (Pairs, weight).

    Example:
        >>> own, other = Pairs(["a house"], ["une maison"]), Pairs(["a door"], ["une porte"])
        >>> [source for source, _ in MixedPairs([(own, 1.0), (other, 0.5)])]
        ['a house', 'a door']
    """

    def __init__(self, corpora):
        super().__init__(None, None)
        self.corpora = list(corpora)

    def name(self, side):
        return " + ".join(pairs.name(side) for pairs, _ in self.corpora)

    def scan(self):
        """Yield every line of every corpus as Scanned; numbers count from 1 in each."""
        return itertools.chain.from_iterable(pairs.scan() for pairs, _ in self.corpora)

    def good(self):
        """As :meth:`Pairs.good`, of one corpus after the other; one without a good pair is an
        error.
        """
        for pairs, _ in self.corpora:
            yield from pairs.good()
        self.report = sum((pairs.report for pairs, _ in self.corpora), Report())


def mixed(corpora, generator):
    """One epoch of several corpora, mixed evenly from its beginning to its end.

    The order within a corpus stays; which corpus the next pair is of is drawn by how much each has
    left.

    Args:
        corpora: list of (iterable of pairs, how many there are, weight).
        generator: numpy.random.Generator, which alone decides.

    Yields:
        pairs, of whatever kind the iterables give.
    """
    streams = [_weighted(pairs, weight, generator) for pairs, _, weight in corpora]
    left = [max(1.0, count * weight) for _, count, weight in corpora]
    while len(streams) > 1:
        total = sum(left)
        which = int(generator.choice(len(left), p=[share / total for share in left]))
        try:
            yield next(streams[which])
            # some lines may have been too long, and the draw of a share varies
            left[which] = max(1.0, left[which] - 1)
        except StopIteration:
            del streams[which], left[which]
    yield from streams[0]


def _weighted(pairs, weight, generator):
    """The pairs as often as the weight says; of what is beyond a whole number each pair with that
    chance.
    """
    whole, share = divmod(weight, 1.0)
    for _ in range(int(whole)):
        yield from pairs
    if share:
        for pair in pairs:
            if generator.random() < share:
                yield pair
