"""Links as Pharaoh writes them, and the alignment error rate against manual links (Och and Ney
2003). It needs no NumPy, which no command loads for its help.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterable, Iterator

from rnnsearch_tf.alignment import Link
from rnnsearch_tf.errors import UserError

_LINK = re.compile(r"(\d{1,9})([-p])(\d{1,9})")


def as_pharaoh(links: Iterable[Link]) -> str:
    """Links as a Pharaoh line ``0-0 1-2``."""
    return " ".join(f"{source}-{target}" for source, target in links)


def gold_links(line: str) -> tuple[set[Link], set[Link]]:
    """Parse a gold line such as ``0-0 1p2`` into (sure links, possible links).

    Raises:
        UserError: a word is not a link.
    """
    links = list(_links(line, "links `1-2` (sure) or `1p2` (possible)", "-p"))
    sure, possible = (
        {(source, target) for source, kind, target in links if kind == wanted} for wanted in "-p"
    )
    return sure, possible


def hypothesis_links(line: str) -> set[Link]:
    """Parse the links of a Pharaoh line such as ``0-0 1-2``.

    Raises:
        UserError: a word is not a link.
    """
    return {(source, target) for source, _, target in _links(line, "links `1-2`", "-")}


def _links(line: str, expected: str, kinds: str) -> Iterator[tuple[int, str, int]]:
    for word in line.split():
        match = _LINK.fullmatch(word)
        if match is None or match[2] not in kinds:
            raise UserError(f"expected {expected}, separated by spaces, got {word[:60]!r}")
        yield int(match[1]), match[2], int(match[3])


@dataclasses.dataclass
class LinkCounts:
    """Link counts of a corpus: A of the hypothesis; S (sure) and P (possible, including the sure
    ones) of the gold alignment.

    Example:
        >>> counts = LinkCounts()
        >>> counts.add(*gold_links("0-0 1p2"), hypothesis_links("0-0 1-2 2-2"))
        >>> round(counts.error_rate, 3), round(counts.precision, 3), counts.recall
        (0.25, 0.667, 1.0)
    """

    sentences: int = 0
    hypothesis: int = 0  # |A|
    sure: int = 0  # |S|
    sure_found: int = 0  # |A ∩ S|
    possible_found: int = 0  # |A ∩ P|

    def add(self, sure: set[Link], possible: set[Link], hypothesis: set[Link]) -> None:
        """Add the links of one sentence pair; `possible` may or may not include the sure links."""
        self.sentences += 1
        self.hypothesis += len(hypothesis)
        self.sure += len(sure)
        self.sure_found += len(hypothesis & sure)
        self.possible_found += len(hypothesis & (possible | sure))

    @property
    def error_rate(self) -> float:
        """AER = 1 − (|A ∩ S| + |A ∩ P|) / (|A| + |S|); 0 if there are no links."""
        return 1 - _share(self.sure_found + self.possible_found, self.hypothesis + self.sure)

    @property
    def precision(self) -> float:
        """|A ∩ P| / |A|; 1 if the hypothesis has no links."""
        return _share(self.possible_found, self.hypothesis)

    @property
    def recall(self) -> float:
        """|A ∩ S| / |S|; 1 if the gold alignment has no sure links."""
        return _share(self.sure_found, self.sure)


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
