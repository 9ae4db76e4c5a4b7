"""Count what one pass over the pairs of a text finds."""

from __future__ import annotations

import collections
import math
from collections.abc import Iterator, Sequence

import tensorflow as tf

from rnnsearch_tf.config import END_ID, UNKNOWN_ID, Config
from rnnsearch_tf.data.inspection.fitting import Lengths
from rnnsearch_tf.data.inspection.foreign import side_languages
from rnnsearch_tf.data.inspection.rules import (
    REMEMBERED_PAIRS,
    changes,
    invisible_character,
    looks_tokenized,
    unequal,
    words,
)
from rnnsearch_tf.data.pairs import LinePair, Pairs
from rnnsearch_tf.runtime.progress import progress
from rnnsearch_tf.text.pipeline import Text
from rnnsearch_tf.text.vocabulary import batches

PLACES = 3
"""Places remembered of each kind of problem."""

LANGUAGE_PAIRS = 200_000
"""Pairs of which the languages are looked at; a limit on time: about a minute."""

_LINES = 512
# characters at which str.splitlines and some editors break lines
_LINE_ENDS = "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"

Places = tuple[str, str]
"""FILE:LINE of both sides of a pair."""


class Counts:
    """Counts of one pass over the pairs of one part.

    Args:
        config: the configuration.
        source_text, target_text: Text of each side, which define tokens; None: words.
        languages: whether to look for lines in another language.
        listed: whether `doctor --fix` can list all places.
        sources: hashes of the source sentences to look for; None: all are remembered.

    Attributes:
        lines, good, dropped: pairs; those with text on both sides; those longer than the limits.
        found: {kind of problem: pairs or lines}; kinds of lines end in " source" or " target".
        places: {kind of problem: its first places}.
        languages: what finds lines in another language; None: they are not looked for.
        crossed: numbers, from 0, of the good pairs of which each side is in the other side's
            language.
        lengths: {tokens or words: lines} of each side.
        unit: of lengths, "tokens" or "words".
        tokens, unknown: of each side.
        pair_hashes: of the first REMEMBERED_PAIRS good pairs.
        source_hashes: of those that were looked for, or of all.
    """

    def __init__(
        self,
        config: Config,
        source_text: Text | None,
        target_text: Text | None,
        languages: bool,
        listed: bool,
        sources: set[int] | None = None,
    ):
        self.listed = listed
        self.sources = sources
        data = config.data
        self.sides = {"source": config.source, "target": config.target}
        self.limits = (data.maximum_source_length, data.maximum_target_length)
        self.texts = (source_text, target_text)
        self.unit = "words" if source_text is None else "tokens"
        lines = tf.TensorSpec([None], tf.string)
        self._encode = [
            None
            if text is None
            else tf.function(text.encode, autograph=False, input_signature=[lines])
            for text in self.texts
        ]
        self.changes = {side: changes() for side in self.sides}
        codes = [settings.language for settings in self.sides.values()]
        self.languages = side_languages(codes) if languages else None
        self.lines = self.good = self.dropped = 0
        self.found: collections.Counter[str] = collections.Counter()
        self.places: dict[str, list[str]] = collections.defaultdict(list)
        self.crossed: list[int] = []
        self.lengths: tuple[Lengths, Lengths] = (Lengths(), Lengths())
        self.tokens = [0, 0]
        self.unknown = [0, 0]
        # sums of 1, x, y, xx, yy, xy over the lengths x, y of pairs within the limits
        self._moments = [0] * 6
        self.pair_hashes: set[int] = set()
        self.source_hashes: set[int] = set()

    def read(self, pairs: Pairs) -> None:
        """Count all pairs."""
        for group in batches(self._good(pairs), _LINES):
            places, texts = zip(*group)
            sides = list(zip(*texts))
            lengths = [self._lengths(side, lines) for side, lines in enumerate(sides)]
            for counted in zip(places, texts, *lengths):
                self._count_pair(*counted)
            for number, (side, lines) in enumerate(zip(self.sides, sides)):
                self._count_lines(side, [place[number] for place in places], lines)

    def _good(self, pairs: Pairs) -> Iterator[tuple[Places, Sequence[str]]]:
        """Yield (places, texts) of the good pairs, and count the bad ones."""
        pair: LinePair
        for pair in progress(pairs.scan(), doing="looking at the pairs", unit="lines"):
            if pair.kind is None:
                self.lines += 1
                yield pair.places, pair.texts
            else:
                self.lines += pair.kind != "unpaired"
                self._add(pair.kind, pair.problem, pair.lines)

    def _lengths(self, side: int, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text; adds to the side's tokens and unknown tokens."""
        encode = self._encode[side]
        if encode is None:
            language = list(self.sides.values())[side].language
            return [words(line, language) for line in texts]
        ids = encode(tf.constant([line.encode("utf-8") for line in texts]))
        flat = ids.flat_values.numpy()
        self.tokens[side] += int((flat != END_ID).sum())
        self.unknown[side] += int((flat == UNKNOWN_ID).sum())
        return [int(length) - 1 for length in ids.row_lengths()]

    def _count_pair(self, places: Places, texts: Sequence[str], x: int, y: int) -> None:
        """Count a good pair of x source and y target tokens."""
        source, target = texts
        self.good += 1
        self.lengths[0][x] += 1
        self.lengths[1][y] += 1
        if x > self.limits[0] or y > self.limits[1]:
            self.dropped += 1
        else:  # one line of thousands of words would dominate the sums
            self._moments = [
                total + term for total, term in zip(self._moments, (1, x, y, x * x, y * y, x * y))
            ]
        place = places[0]
        if unequal(x, y):
            self._add("unequal", f"{place} ({x} and {y} {self.unit})")
        if any(end in line for line in (source, target) for end in _LINE_ENDS):
            self._add("line ends", place)
        if source == target:
            self._add("copy", place)
        elif self.languages and self.good <= LANGUAGE_PAIRS:
            self._count_languages(places, texts)
        if self.good <= REMEMBERED_PAIRS:
            pair = hash((source, target))  # 64 bits a pair
            if pair in self.pair_hashes:
                self._add("duplicate", place)
            self.pair_hashes.add(pair)
        source_hash = hash(source)
        if self.sources is None or source_hash in self.sources:
            self.source_hashes.add(source_hash)

    def _count_languages(self, places: Places, texts: Sequence[str]) -> None:
        assert self.languages is not None
        found = self.languages.of(texts)
        if found.crossed:
            self.crossed.append(self.good - 1)
            return
        for side, place, code in zip(self.sides, places, found.others):
            if code:
                self._add(f"language {side}", f"{place} ({code})")

    def _count_lines(self, side: str, places: Sequence[str], lines: Sequence[str]) -> None:
        """Count the lines of a side that each change would change."""
        for change in self.changes[side]:
            for place, line, changed in zip(places, lines, change.apply(lines)):
                if changed != line:
                    if change.kind == "invisible":
                        place += f" (U+{ord(invisible_character(line) or ''):04X})"
                    self._add(f"{change.kind} {side}", place)
        for place, line in zip(places, lines):
            if looks_tokenized(line):
                self._add(f"tokenized {side}", place)

    def _add(self, kind: str, place: str, lines: int = 1) -> None:
        self.found[kind] += lines
        if len(self.places[kind]) < PLACES:
            self.places[kind].append(place)

    def correlation(self) -> float | None:
        """Pearson correlation of the lengths of pairs within the limits; None if the lengths of a
        side hardly vary.
        """
        number, *sums = self._moments
        x, y, xx, yy, xy = (total / max(number, 1) for total in sums)
        spread = (xx - x * x) * (yy - y * y)
        return (xy - x * y) / math.sqrt(spread) if spread > 0.01 else None
