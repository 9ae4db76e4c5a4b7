"""An n-gram language model of ids: interpolated Kneser-Ney (Kneser and Ney 1995; Chen and Goodman
1999, section 4.1.6).

    p_n(w | h) = (max(c(hw) − D_n, 0) + D_n N(h) p_{n-1}(w | h')) / Σ_v c(hv)        N(h): different
    words seen after h p_0(w)     = 1 / (words that there are)
    h': h without its first word

c counts n-grams at the highest order, below it the different words seen before the n-gram; an
n-gram that begins a sentence has none and is counted as it is. D_n = n_1 / (n_1 + 2 n_2), of the
n-grams counted once and twice. After an h that was never seen, p_n is p_{n-1}.

It is here since no kept package estimates one: kenlm's Python module only reads what its C++
programs estimate, nltk.lm takes a second for a few sentences. This one learns 10 MB of text in
seconds, and a few megabytes of arrays hold it.
"""

from __future__ import annotations

import dataclasses

import numpy as np

WITHOUT_COUNTS = 0.5
"""D where no n-gram of an order was counted once, or none twice: text of a few lines."""


@dataclasses.dataclass(frozen=True)
class _Order:
    """What was counted of the n-grams of one length.

    An n-gram is known by its place among those of its length, a word by its id; the key of an
    n-gram is (place of its first n - 1 words) · (ids) + (its last id).
    """

    keys: np.ndarray  # int64, rising; empty for words, whose places are their ids
    counts: np.ndarray  # float64 [n-grams], c(hw)
    sums: np.ndarray  # float64 [contexts], Σ_v c(hv)
    words: np.ndarray  # float64 [contexts], N(h)
    discount: float  # D_n


class NgramModel:
    """The model of sentences of ids.

    Args:
        ids: int [N], the sentences one after the other.
        lengths: int [B], ids of each of them, the end symbol included; their sum is N.
        size: ids that there are: every id is below it.
        possible: those of them that can come: p_0 is 1 / possible.
        order: n of the longest n-grams.

    Example:
        >>> model = NgramModel([3, 4, 1, 3, 1], lengths=[3, 2], size=5, possible=3, order=2)
        >>> [round(float(p), 3) for p in np.exp(model.log_probabilities([3, 1], [2]))]
        [0.775, 0.5]
    """

    def __init__(self, ids, lengths, size: int, possible: int, order: int = 4):
        self._size = size
        self._possible = possible
        self.order = order
        words, position = self._begun(ids, lengths)
        places = [words]
        keys = [np.arange(0)]
        # nothing counts how often a sentence begins
        counts = [np.bincount(words[position > 0], minlength=size + 1).astype(np.float64)]
        for n in range(2, order + 1):
            inside = np.flatnonzero(position >= n - 1)  # where an n-gram ends
            found, first, place, count = np.unique(
                places[-1][inside - 1] * (size + 1) + words[inside],
                return_index=True,
                return_inverse=True,
                return_counts=True,
            )
            shorter = places[-1][inside[first]]  # each without its first word
            # ends of the shorter ones that begin a sentence: no word stands before them
            begins = (position == n - 2) & (position > 0)
            counts[-1] = np.bincount(shorter, minlength=len(counts[-1])) + np.bincount(
                places[-1][begins], minlength=len(counts[-1])
            )
            here = np.full(len(words), -1)
            here[inside] = place
            places.append(here)
            keys.append(found)
            counts.append(count.astype(np.float64))
        contexts = [1, size + 1, *map(len, keys[1:-1])]
        self._orders = [
            _order(n, *each, size + 1)
            for n, each in enumerate(zip(keys, counts, contexts), start=1)
        ]

    def log_probabilities(self, ids, lengths) -> np.ndarray:
        """Natural-log probability of every id after those before it in its sentence; arguments as
        of the class, float64 [N].
        """
        words, position = self._begun(ids, lengths)
        # place of the n - 1 words before; the empty context has place 0
        known = np.zeros(len(words), np.int64)
        place = words
        p = np.full(len(words), 1 / self._possible)
        for n, order in enumerate(self._orders, start=1):
            if n > 1:
                # At the first symbol of a sentence those of the one before, after which no
                # n-gram goes on.
                known = np.roll(place, 1)
                place = _find(order.keys, known * (self._size + 1) + words)
            sums = np.where(known >= 0, order.sums[known], 0)
            seen = (
                np.where(place >= 0, np.maximum(order.counts[place] - order.discount, 0), 0)
                if len(order.counts)
                else 0.0
            )
            with np.errstate(invalid="ignore", divide="ignore"):
                p = np.where(sums > 0, (seen + order.discount * order.words[known] * p) / sums, p)
        return np.log(p[position > 0])

    def _begun(self, ids, lengths):
        """The sentences with a beginning symbol, whose id is `size`, before each: its ids, and the
        position of each in its sentence.
        """
        ids = np.asarray(ids, np.int64)
        lengths = np.asarray(lengths, np.int64)
        starts = np.cumsum(lengths) - lengths
        words = np.insert(ids, starts, self._size)
        begin = starts + np.arange(len(starts))
        return words, np.arange(len(words)) - np.repeat(begin, lengths + 1)


def _order(n, keys, counts, contexts, base):
    of_context = keys // base if n > 1 else np.zeros(len(counts), np.int64)
    contexts = max(contexts, 1)  # where there is none, none is looked for
    sums = np.bincount(of_context, counts, minlength=contexts)
    words = np.bincount(of_context, counts > 0, minlength=contexts)
    once, twice = (np.count_nonzero(counts == number) for number in (1, 2))
    return _Order(
        keys, counts, sums, words, once / (once + 2 * twice) if once and twice else WITHOUT_COUNTS
    )


def _find(keys, wanted):
    """Places of keys among those that are sorted; -1 where there is none, and for those made of a
    place -1, which are negative.
    """
    if not len(keys):
        return np.full(len(wanted), -1)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, place, -1)
