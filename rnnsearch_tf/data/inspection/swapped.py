"""Pairs whose two sides have changed places, told by the letters of the whole corpus alone: no
language need be known.
"""

import itertools

import numpy as np

from rnnsearch_tf.text.vocabulary import batches

CERTAIN = 8.0
"""Nats by which each side must speak for the other's language."""

_BUCKETS = 1 << 18
_PRIMES = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], np.uint64)
_LINES = 4096


def swapped(pairs, most):
    """Find pairs whose source is in the target's language and whose target is in the source's.

    Every run of three characters u says by log p(u | source side) / p(u | target side), counted in
    all pairs but this one, which side's language it is of; a line says by the sum over its own.

    Args:
        pairs: function that gives an iterator of (line number, source, target); it is gone through
            twice.
        most: pairs looked at.

    Returns:
        list of the line numbers. None are found where more than half of the corpus is the wrong way
        round.

    Example:
        >>> right = [
        ...     ("where is the white cat", "où est le chat blanc"),
        ...     ("the dog is there", "le chien est là"),
        ... ] * 20
        >>> lines = [*right, ("le chat est là", "the cat is there"), *right]
        >>> swapped(lambda: ((n, *pair) for n, pair in enumerate(lines, start=1)), 1000)
        [41]
    """
    counts = np.zeros((2, _BUCKETS), np.int64)  # [side, u]
    for _, *sides in _chunks(pairs, most):
        for side, lines in enumerate(sides):
            counts[side] += np.bincount(_runs(lines)[1], minlength=_BUCKETS)
    offset = np.log(np.maximum(counts.sum(axis=1), 1))
    found = []
    for numbers, *sides in _chunks(pairs, most):
        source, target = (
            _says(lines, counts[side], counts[1 - side], offset[1 - side] - offset[side])
            for side, lines in enumerate(sides)
        )
        found += [
            number for number, s, t in zip(numbers, source, target) if s < -CERTAIN and t < -CERTAIN
        ]
    return found


def _says(lines, own_side, other_side, offset):
    """For each line the log-probability ratio of its own side to the other, without what it adds to
    the counts itself; float [lines].
    """
    line, run = _runs(lines)
    _, inverse, repeats = np.unique(line * _BUCKETS + run, return_inverse=True, return_counts=True)
    ratio = np.log(own_side[run] - repeats[inverse] + 1) - np.log(other_side[run] + 1) + offset
    return np.bincount(line, ratio, minlength=len(lines))


def _runs(lines):
    """(which line, which bucket) of every run of three characters; int64 arrays."""
    text = "\n" + "\n".join(line.lower().replace("\n", " ") for line in lines) + "\n"
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    mixed = codes[:-2] * _PRIMES[0] ^ codes[1:-1] * _PRIMES[1] ^ codes[2:] * _PRIMES[2]
    inside = codes[1:-1] != 10  # the middle one is no line end
    line = np.cumsum(codes == 10)[1:-1] - 1
    return line[inside], ((mixed >> np.uint64(7)) % np.uint64(_BUCKETS)).astype(np.int64)[inside]


def _chunks(pairs, most):
    """Yield (numbers, sources, targets)."""
    for group in batches(itertools.islice(pairs(), most), _LINES):
        yield tuple(zip(*group))
