"""A development text held out of the training text, for corpora that come without one."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterator

from rnnsearch_tf.data.pairs import LinePair, Pairs, Report
from rnnsearch_tf.errors import UserError


class HeldOut:
    """The pairs of a corpus that are held out for development.

    They are chosen by a hash of their source sentence, not by their position, so that adding or
    removing a line changes little.

    Args:
        pairs: Pairs of the whole corpus.
        size: approximate number of pairs to hold out; pairs with the same source go together.
    """

    def __init__(self, pairs: Pairs, size: int):
        self.pairs = pairs
        self.size = size

    @functools.cached_property
    def found(self) -> tuple[float, set[int], set[int]]:
        """(upper bound of the held-out pairs' hash numbers, hashes of their sources, hashes of
        their targets).
        """
        count = 0
        limit = 2.0**32
        candidates = []
        for pair in self.pairs.scan():
            if pair.kind is None:
                count += 1
                # the limit only falls, so pairs above it now are above it at the end
                limit = 2**32 * min(1.0, self.size / count)
                if (place := _place(pair)) < limit:
                    candidates.append((place, hash(pair.source.strip()), hash(pair.target.strip())))
        held_out = [(source, target) for place, source, target in candidates if place < limit]
        return limit, {source for source, _ in held_out}, {target for _, target in held_out}


class SplitPairs(Pairs):
    """One of two parts of a corpus: the pairs held out for development, or those left for training.

    No sentence of either side occurs in both parts: a training pair whose source or target occurs
    in the development part is left out of training. Bad lines belong to the training part.

    Args:
        pairs: Pairs of the whole corpus; for training, also of another corpus of the mixture.
        held_out: the pairs to hold out.
        part: "train" or "development".

    Example:
        >>> lines = [str(number) for number in range(1000)]
        >>> pairs = Pairs(lines, lines)
        >>> held_out = HeldOut(pairs, 100)
        >>> parts = [SplitPairs(pairs, held_out, part) for part in ("train", "development")]
        >>> [80 < 1000 - len(list(parts[0])) < 120, len(list(parts[0])) + len(list(parts[1]))]
        [True, 1000]
    """

    def __init__(self, pairs: Pairs, held_out: HeldOut, part: str):
        super().__init__(pairs.source, pairs.target, pairs.on_bad_line)
        self.pairs = pairs
        self.held_out = held_out
        self.part = part

    def name(self, side: str) -> str:
        return self.pairs.name(side)

    def _check_not_empty(self, report: Report) -> None:
        """Raise UserError for a part without pairs, or for a corpus without pairs."""
        if report.kept:
            return
        whole = self.pairs.check().kept
        training = self.part == "train"
        raise UserError(
            "held_out: expected a number that leaves pairs for both parts, got"
            f" {self.held_out.size:,}, which leaves none of {whole:,} for"
            f" {'training' if training else 'development'}; set it"
            f" {'lower' if training else 'higher'}"
        )

    def scan(self) -> Iterator[LinePair]:
        """Yield the lines of this part."""
        limit, sources, targets = self.held_out.found
        for pair in self.pairs.scan():
            good = pair.kind is None
            if self.part == "development":
                if good and _place(pair) < limit:
                    yield pair
            elif (
                not good
                or hash(pair.source.strip()) not in sources
                and hash(pair.target.strip()) not in targets
            ):
                yield pair


def _place(pair: LinePair) -> int:
    """The hash number of a source sentence, in [0, 2³²)."""
    return int.from_bytes(hashlib.blake2b(pair.source.strip(), digest_size=4).digest(), "big")
