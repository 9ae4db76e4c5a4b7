"""A development text taken out of the training text, for corpora that come without one."""

import hashlib

from rnnsearch_tf.data.pairs import Pairs


class SplitPairs(Pairs):
    """One of two parts of a corpus: what is held out for development, or what is left for training.

    Which pairs are held out depends on their source sentence alone, not on their place in the file,
    so that a line more or less changes little. No sentence of either side stands in both parts: a
    training pair whose source or whose target occurs in the development part is left out of training.
    Bad lines belong to the training part.

    Args:
        pairs: Pairs of the whole corpus.
        size: pairs to hold out, about; pairs with the same source go together.
        part: "train" or "development".

    Example:
        >>> lines = [str(number) for number in range(1000)]
        >>> parts = [SplitPairs(Pairs(lines, lines), 100, part) for part in ("train", "development")]
        >>> [80 < 1000 - len(list(parts[0])) < 120, len(list(parts[0])) + len(list(parts[1]))]
        [True, 1000]
    """

    def __init__(self, pairs, size, part):
        super().__init__(pairs.source, pairs.target, pairs.on_bad_line)
        self.pairs, self.size, self.part = pairs, size, part
        self.linked, self._held_out = pairs.linked, None

    def name(self, side):
        return self.pairs.name(side)

    def scan(self):
        """Yield the lines of this part as Scanned."""
        if self.part != "development":
            return self.rest_of(self.pairs)
        limit, _, _ = self._found()
        return (scanned for scanned in self.pairs.scan() if scanned.kind is None and _place(scanned) < limit)

    def rest_of(self, pairs):
        """Yield the lines of some Pairs as Scanned, without those that have a sentence of the development part."""
        _, sources, targets = self._found()
        for scanned in pairs.scan():
            good = scanned.kind is None
            if not good or hash(scanned.source.strip()) not in sources and hash(scanned.target.strip()) not in targets:
                yield scanned

    def _found(self):
        if self._held_out is None:
            self._held_out = self._find()
        return self._held_out

    def _find(self):
        """(places below this are held out, hashes of the sources held out, hashes of the targets)."""
        count, limit, candidates = 0, 2.0**32, []
        for scanned in self.pairs.scan():
            if scanned.kind is None:
                count += 1
                limit = 2**32 * min(1.0, self.size / count)  # it only falls: who is not below it now will not be at the end
                if (place := _place(scanned)) < limit:
                    candidates.append((place, hash(scanned.source.strip()), hash(scanned.target.strip())))
        held_out = [hashes for place, *hashes in candidates if place < limit]
        return limit, {source for source, _ in held_out}, {target for _, target in held_out}


class OtherPairs(Pairs):
    """Another corpus trained on beside a SplitPairs, without the pairs that have a sentence of its development part.

    Args:
        pairs: Pairs of the other corpus.
        split: SplitPairs.
    """

    def __init__(self, pairs, split):
        super().__init__(pairs.source, pairs.target, pairs.on_bad_line)
        self.pairs, self.split = pairs, split

    def name(self, side):
        return self.pairs.name(side)

    def scan(self):
        """Yield the lines as Scanned."""
        return self.split.rest_of(self.pairs)


def _place(scanned):
    """A number in [0, 2³²) that the source sentence decides."""
    return int.from_bytes(hashlib.blake2b(scanned.source.strip(), digest_size=4).digest(), "big")
