"""Sentence pairs from line files or from Python, checked as they are read."""

from __future__ import annotations

import copy
import dataclasses
import hashlib
import os
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.reading import read_rows
from rnnsearch_tf.text.characters import BLANK_CHARACTERS

SIDES = "source", "target"

Pair = tuple[str, str]
"""(source sentence, target sentence)."""


@dataclasses.dataclass
class Report:
    """What one pass over the pairs left out, and why.

    Attributes:
        kept: pairs with text on both sides.
        empty: pairs left out because a side is blank.
        too_long: pairs left out of training by data.maximum_length; counted when they become ids.
        first_empty: FILE:LINE of the first blank side.
    """

    kept: int = 0
    empty: int = 0
    too_long: int = 0
    first_empty: str = ""

    def __str__(self) -> str:
        left_out = []
        if self.empty:
            left_out.append(f"{self.empty:,} with an empty line (first: {self.first_empty})")
        if self.too_long:
            left_out.append(f"{self.too_long:,} too long")
        reasons = f"; left out: {', '.join(left_out)}" if left_out else ""
        return f"{self.kept - self.too_long:,} pairs{reasons}"


class Pairs:
    """Sentence pairs, read as a stream, any number of times.

    Iterating yields (source, target), two strings, of the pairs with text on both sides. `report`
    says what the last pass left out.

    Args:
        source: with a target, the path of a line file, plain or gzip, or several paths; without
            one, an iterable of pairs of two strings.
        target: path or paths of the translations, line by line.
        weights: how often an epoch of training reads each of several files, see
            :class:`~rnnsearch_tf.data.batches.Batches`; None: once.

    Raises:
        UsageError: there are not as many targets or weights as sources, or a pair is no pair of
            strings.
        UserError: while reading: a file is missing or not UTF-8, the files of both sides have
            unequal numbers of lines, or no pair has text on both sides. Names file and line.

    Example:
        >>> pairs = Pairs([("a house", "une maison"), (" ", "un"), ("a cat", "un chat")])
        >>> list(pairs), pairs.report.empty
        ([('a house', 'une maison'), ('a cat', 'un chat')], 1)
    """

    def __init__(
        self,
        source: AnyPath | Sequence[AnyPath] | Iterable[Pair],
        target: AnyPath | Sequence[AnyPath] | None = None,
        weights: Sequence[float] | None = None,
    ) -> None:
        self.files: list[tuple[AnyPath, AnyPath]] = []
        self._pairs: Any = None
        if target is None:
            if isinstance(source, (str, os.PathLike)) or not isinstance(source, Iterable):
                raise UsageError(
                    f"pairs: expected pairs (source, target) of strings, got {str(source)[:60]!r};"
                    " name two files: Pairs(source, target)"
                )
            # a generator can be read only once
            self._pairs = [*source] if isinstance(source, Iterator) else source
        else:
            sources, targets = _paths(source), _paths(target)
            if len(sources) != len(targets):
                raise UsageError(
                    "data.train_source, data.train_target: expected as many files on both sides,"
                    f" got {len(sources)} and {len(targets)}; name the same parts of both"
                )
            self.files = [*zip(sources, targets)]
        parts = len(self.files) or 1
        self.weights = [1.0] * parts if weights is None else [*weights]
        if len(self.weights) != parts:
            raise UsageError(
                f"data.train_weights: expected a number for each file of a side, {parts} in all,"
                f" got {len(self.weights)}"
            )
        self.report = Report()
        self._accepts: Callable[[Pair], bool] = lambda pair: True

    @property
    def name(self) -> str:
        """Its files, for messages."""
        if not self.files:
            return "pairs"
        return ", ".join(map(str, self.files[0])) + (", …" if self.files[1:] else "")

    def __iter__(self) -> Iterator[Pair]:
        return (pair for part in self.parts() for _, pair in part)

    def parts(self) -> Iterator[Iterator[tuple[int, Pair]]]:
        """Yield the (line number, pair) of each file, one file after the other; each must be read
        to its end before the next one. `report` is of all.
        """
        self.report = Report()
        if self.files:
            for files in self.files:
                yield self._read(read_rows(*files), files)
        else:
            yield self._read(_checked(self._pairs), SIDES)
        if not self.report.kept:
            raise UserError(
                f"{self.name}: expected at least one pair of sentences, got {self.report}; check"
                " the text"
            )

    def where(self, accepts: Callable[[Pair], bool]) -> Pairs:
        """The pairs that a function accepts, as other Pairs of the same text."""
        pairs, before = copy.copy(self), self._accepts
        pairs._accepts = lambda pair: before(pair) and accepts(pair)
        return pairs

    def of_files(self, files: Sequence[tuple[AnyPath, AnyPath]]) -> Pairs:
        """The pairs of some of the files."""
        return Pairs(*zip(*files)).where(self._accepts)

    def _read(
        self, pairs: Iterable[Any], names: tuple[AnyPath, AnyPath]
    ) -> Iterator[tuple[int, Pair]]:
        report = self.report
        for number, pair in enumerate(pairs, start=1):
            if not self._accepts(pair):
                continue
            blank = [not sentence.strip(BLANK_CHARACTERS) for sentence in pair]
            if any(blank):
                report.empty += 1
                report.first_empty = report.first_empty or f"{names[blank.index(True)]}:{number}"
            else:
                report.kept += 1
                yield number, pair


def as_pairs(pairs: Any) -> Pairs:
    """Pairs as they are; anything else by ``Pairs(pairs)``."""
    return pairs if isinstance(pairs, Pairs) else Pairs(pairs)


def held_out(pairs: Pairs, size: int) -> tuple[Pairs, Pairs]:
    """(training, development) pairs, for a text that comes without development text.

    The development pairs are chosen by a hash of their source sentence, not by their position, so
    that adding or removing a line changes little. If files have weights, they come from the first
    one. No sentence of either side occurs in both parts: a training pair whose source or target is
    among the development sentences is left out.

    Args:
        pairs: all pairs, read once by this function.
        size: approximate number of development pairs; those with the same source go together.

    Raises:
        UserError: a part would have no pair; and as :class:`Pairs`.

    Example:
        >>> training, development = held_out(Pairs([(str(k), str(k)) for k in range(1000)]), 100)
        >>> 80 < len([*development]) < 120, len([*training]) + len([*development])
        (True, 1000)
    """
    first = pairs
    if len({*pairs.weights}) > 1:
        first = pairs.of_files(pairs.files[:1])
    limit = 2.0**32
    candidates: list[tuple[int, str, str]] = []
    count = 0
    for count, pair in enumerate(first, start=1):
        # the limit only falls, so that pairs above it now are above it at the end
        limit = 2**32 * min(1.0, size / count)
        if (place := _place(pair)) < limit:
            candidates.append((place, comparable(pair[0]), comparable(pair[1])))
    sources = {source for place, source, _ in candidates if place < limit}
    targets = {target for place, _, target in candidates if place < limit}
    if not sources or limit == 2**32:
        raise UserError(
            "data.held_out: expected a number that leaves pairs for training and for development,"
            f" got {size:,} of {count:,} pairs; set it {'lower' if sources else 'higher'}"
        )

    def is_training(pair: Pair) -> bool:
        return comparable(pair[0]) not in sources and comparable(pair[1]) not in targets

    return pairs.where(is_training), first.where(lambda pair: _place(pair) < limit)


def _place(pair: Pair) -> int:
    """The hash number of a source sentence, in [0, 2³²)."""
    sentence = comparable(pair[0]).encode("utf-8")
    return int.from_bytes(hashlib.blake2b(sentence, digest_size=4).digest(), "big")


def comparable(sentence: str) -> str:
    """The form of a sentence in which two are the same for training: with other white space, or
    accents as marks of their own.
    """
    return " ".join(unicodedata.normalize("NFC", sentence).split())


def _paths(side: Any) -> list[AnyPath]:
    """One path, or several, as a list."""
    return [side] if isinstance(side, (str, os.PathLike)) else [*side]


def _checked(pairs: Iterable[Any]) -> Iterator[Pair]:
    """The pairs of an iterable; UsageError if one is not a pair of valid strings."""
    for number, pair in enumerate(pairs, start=1):
        sides = tuple(pair) if isinstance(pair, (tuple, list)) else ()
        if len(sides) != 2 or not all(isinstance(side, str) for side in sides):
            raise UsageError(
                f"pairs:{number}: expected (source, target), two strings, got {str(pair)[:60]!r};"
                " if you have two lists, give zip(sources, targets)"
            )
        try:
            "".join(sides).encode("utf-8")
        except UnicodeEncodeError as error:
            raise UsageError(
                f"pairs:{number}: expected text that UTF-8 can write, got"
                f" {error.object[error.start]!r}; correct it"
            ) from None
        yield sides
