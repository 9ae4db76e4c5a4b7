"""An n-gram language model of ids: interpolated Kneser-Ney (Kneser and Ney 1995; Chen and Goodman
1999, section 4.1.6).

    p_n(w | h) = (max(c(hw) − D_n, 0) + D_n N(h) p_{n-1}(w | h')) / Σ_v c(hv)
    p_0(w)     = 1 / (number of words)

N(h) is the number of different words seen after h; h' is h without its first word. At the highest
order, c counts n-grams. At lower orders it counts the different words seen before the n-gram; an
n-gram that begins a sentence has no word before it, and its occurrences are counted. D_n = n_1 /
(n_1 + 2 n_2), where n_1 and n_2 are the numbers of n-grams counted once and twice. If h was never
seen, p_n is p_{n-1}.

The package has its own model since no maintained package estimates one: kenlm's Python module only
reads models that its C++ programs estimated, and nltk.lm takes a second for a few sentences. This
one learns 10 MB of text in seconds, and takes a few megabytes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np

WITHOUT_COUNTS = 0.5
"""D_n if n_1 or n_2 is 0, in a text of a few lines."""

_Ids = Sequence[int] | np.ndarray


@dataclasses.dataclass(frozen=True)
class _Order:
    """The counts of the n-grams of one length.

    An n-gram is identified by its index among those of its length, a word by its id. The key of an
    n-gram is (index of its first n - 1 words) · (number of ids) + (its last id).
    """

    keys: np.ndarray  # int64, rising; empty for words, whose indices are their ids
    counts: np.ndarray  # float64 [n-grams], c(hw)
    sums: np.ndarray  # float64 [contexts], Σ_v c(hv)
    words: np.ndarray  # float64 [contexts], N(h)
    discount: float  # D_n


class NgramModel:
    """An n-gram model of sentences of ids.

    Args:
        ids: int [N], the concatenated sentences.
        lengths: int [B], the length of each sentence, including the end symbol; their sum is N.
        size: number of ids; every id is below it.
        possible: number of ids that can occur: p_0 is 1 / possible.
        order: n of the longest n-grams.

    Example:
        >>> model = NgramModel([3, 4, 1, 3, 1], lengths=[3, 2], size=5, possible=3, order=2)
        >>> [round(float(p), 3) for p in np.exp(model.log_probabilities([3, 1], [2]))]
        [0.775, 0.5]
    """

    def __init__(self, ids: _Ids, lengths: _Ids, size: int, possible: int, order: int = 4) -> None:
        self._size = size
        self._possible = possible
        self.order = order
        words, position = self._with_starts(ids, lengths)
        places = [words]
        keys = [np.arange(0)]
        # start symbols are not counted
        counts: list[np.ndarray] = [
            np.bincount(words[position > 0], minlength=size + 1).astype(np.float64)
        ]
        for n in range(2, order + 1):
            inside = np.flatnonzero(position >= n - 1)  # ends of n-grams
            found, first, place, count = np.unique(
                places[-1][inside - 1] * (size + 1) + words[inside],
                return_index=True,
                return_inverse=True,
                return_counts=True,
            )
            shorter = places[-1][inside[first]]  # each n-gram without its first word
            # ends of the shorter n-grams that begin a sentence: they have no word before them
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

    def log_probabilities(self, ids: _Ids, lengths: _Ids) -> np.ndarray:
        """Natural logarithm of the probability of every id, given those before it in its sentence;
        float64 [N]. Arguments as for the class.
        """
        words, position = self._with_starts(ids, lengths)
        # index of the n - 1 words before; the empty context has index 0
        known = np.zeros(len(words), np.int64)
        place = words
        p = np.full(len(words), 1 / self._possible)
        for n, order in enumerate(self._orders, start=1):
            if n > 1:
                # at a start symbol this is the end of the previous sentence, which no n-gram
                # crosses
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

    def _with_starts(self, ids: _Ids, lengths: _Ids) -> tuple[np.ndarray, np.ndarray]:
        """Insert a start symbol, the id `size`, before each sentence; (ids, position of each in its
        sentence).
        """
        ids = np.asarray(ids, np.int64)
        lengths = np.asarray(lengths, np.int64)
        starts = np.cumsum(lengths) - lengths
        words = np.insert(ids, starts, self._size)
        begin = starts + np.arange(len(starts))
        return words, np.arange(len(words)) - np.repeat(begin, lengths + 1)


def _order(n: int, keys: np.ndarray, counts: np.ndarray, contexts: int, base: int) -> _Order:
    of_context = keys // base if n > 1 else np.zeros(len(counts), np.int64)
    contexts = max(contexts, 1)  # if there is no context, the one entry is never used
    sums = np.bincount(of_context, counts, minlength=contexts)
    words = np.bincount(of_context, counts > 0, minlength=contexts)
    once, twice = (np.count_nonzero(counts == number) for number in (1, 2))
    return _Order(
        keys, counts, sums, words, once / (once + 2 * twice) if once and twice else WITHOUT_COUNTS
    )


def _find(keys: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """Indices of keys in a sorted array; -1 for a missing key, and for one made from an index of
    -1, which is negative.
    """
    if not len(keys):
        return np.full(len(wanted), -1)
    place = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
    return np.where(keys[place] == wanted, place, -1)
