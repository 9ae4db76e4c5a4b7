"""A development text taken out of the training text, for corpora that come without one."""

import functools
import hashlib

from rnnsearch_tf.data.pairs import Pairs
from rnnsearch_tf.errors import UserError


class HeldOut:
    """The pairs of a corpus that are held out for development.

    Which they are depends on their source sentence alone, not on their place in the file,
    so that a line more or less changes little.

    Args:
        pairs: Pairs of the whole corpus.
        size: pairs to hold out, about; pairs with the same source go together.
    """

    def __init__(self, pairs, size):
        self.pairs = pairs
        self.size = size

    @functools.cached_property
    def found(self):
        """(places below this are held out, hashes of the sources held out, and of the targets)."""
        count = 0
        limit = 2.0**32
        candidates = []
        for scanned in self.pairs.scan():
            if scanned.kind is None:
                count += 1
                # it only falls: who is not below it now will not be at the end
                limit = 2**32 * min(1.0, self.size / count)
                if (place := _place(scanned)) < limit:
                    candidates.append(
                        (place, hash(scanned.source.strip()), hash(scanned.target.strip()))
                    )
        held_out = [hashes for place, *hashes in candidates if place < limit]
        return limit, {source for source, _ in held_out}, {target for _, target in held_out}


class SplitPairs(Pairs):
    """One of two parts of a corpus: what is held out for development, or what is left for training.

    No sentence of either side stands in both parts: a training pair whose source or whose target
    occurs in the development part is left out of training. Bad lines belong to the training part.

    Args:
        pairs: Pairs of the whole corpus; or, for training, of another one trained on beside it.
        held_out: HeldOut.
        part: "train" or "development".

    Example:
        >>> lines = [str(number) for number in range(1000)]
        >>> pairs = Pairs(lines, lines)
        >>> held_out = HeldOut(pairs, 100)
        >>> parts = [SplitPairs(pairs, held_out, part) for part in ("train", "development")]
        >>> [80 < 1000 - len(list(parts[0])) < 120, len(list(parts[0])) + len(list(parts[1]))]
        [True, 1000]
    """

    def __init__(self, pairs, held_out, part):
        super().__init__(pairs.source, pairs.target, pairs.on_bad_line)
        self.pairs = pairs
        self.held_out = held_out
        self.part = part
        self.linked = pairs.linked

    def name(self, side):
        return self.pairs.name(side)

    def _require_one(self, report):
        """Raise UserError for a part without one pair; a corpus that has none is said by itself."""
        if report.kept:
            return
        whole = self.pairs.check().kept
        raise UserError(
            "held_out: expected a number that leaves pairs for both parts, got"
            f" {self.held_out.size:,}, which leaves none of {whole:,} for"
            f" {'training' if self.part == 'train' else 'development'}; set it"
            f" {'lower' if self.part == 'train' else 'higher'}"
        )

    def scan(self):
        """Yield the lines of this part as Scanned."""
        limit, sources, targets = self.held_out.found
        for scanned in self.pairs.scan():
            good = scanned.kind is None
            if self.part == "development":
                if good and _place(scanned) < limit:
                    yield scanned
            elif (
                not good
                or hash(scanned.source.strip()) not in sources
                and hash(scanned.target.strip()) not in targets
            ):
                yield scanned


def _place(scanned):
    """A number in [0, 2³²) that the source sentence decides."""
    return int.from_bytes(hashlib.blake2b(scanned.source.strip(), digest_size=4).digest(), "big")
