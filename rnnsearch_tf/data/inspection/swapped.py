"""Find pairs with swapped sides by the character trigrams of the corpus, whatever its languages."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence

import numpy as np

from rnnsearch_tf.text.vocabulary import batches

CERTAIN = 8.0
"""Nats by which each side must be more probable in the other side's language."""

_BUCKETS = 1 << 18
_PRIMES = np.array([0x9E3779B1, 0x85EBCA77, 0xC2B2AE3D], np.uint64)
_LINES = 4096

NumberedPairs = Callable[[], Iterator[tuple[int, str, str]]]
"""Function that returns an iterator of (number of the pair, source, target)."""


def swapped(pairs: NumberedPairs, most: int) -> list[int]:
    """Find pairs whose source is in the target's language and whose target is in the source's.

    The score of a line is the sum of log p(u | source side) / p(u | target side) over its character
    trigrams u, with probabilities from the counts of all other pairs.

    Args:
        pairs: the pairs to check; called twice.
        most: maximum number of pairs to check.

    Returns:
        The numbers. Nothing is found if more than half of the corpus is swapped.

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
            counts[side] += np.bincount(_trigrams(lines)[1], minlength=_BUCKETS)
    offset = np.log(np.maximum(counts.sum(axis=1), 1))
    found: list[int] = []
    for numbers, *sides in _chunks(pairs, most):
        ratios = (
            _log_ratios(lines, counts[side], counts[1 - side], offset[1 - side] - offset[side])
            for side, lines in enumerate(sides)
        )
        found += [number for number, *both in zip(numbers, *ratios) if max(both) < -CERTAIN]
    return found


def _log_ratios(
    lines: Sequence[str], own_counts: np.ndarray, other_counts: np.ndarray, offset: float
) -> np.ndarray:
    """The log-probability ratio of each line between its own side and the other, excluding the
    line's own counts; float [lines].
    """
    line, bucket = _trigrams(lines)
    _, inverse, repeats = np.unique(
        line * _BUCKETS + bucket, return_inverse=True, return_counts=True
    )
    own = own_counts[bucket] - repeats[inverse]
    ratio = np.log(own + 1) - np.log(other_counts[bucket] + 1) + offset
    return np.bincount(line, ratio, minlength=len(lines))


def _trigrams(lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """(number of the line, hash bucket) of each character trigram; int64 arrays."""
    text = "\n" + "\n".join(line.lower().replace("\n", " ") for line in lines) + "\n"
    codes = np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32).astype(np.uint64)
    mixed = codes[:-2] * _PRIMES[0] ^ codes[1:-1] * _PRIMES[1] ^ codes[2:] * _PRIMES[2]
    inside = codes[1:-1] != 10  # the middle character is not a line end
    line = np.cumsum(codes == 10)[1:-1] - 1
    return line[inside], ((mixed >> np.uint64(7)) % np.uint64(_BUCKETS)).astype(np.int64)[inside]


def _chunks(
    pairs: NumberedPairs, most: int
) -> Iterator[tuple[Sequence[int], Sequence[str], Sequence[str]]]:
    """Yield (numbers, sources, targets) of chunks of lines."""
    for group in batches(itertools.islice(pairs(), most), _LINES):
        numbers, sources, targets = zip(*group)
        yield numbers, sources, targets
