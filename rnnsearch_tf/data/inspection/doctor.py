"""Check the text of a configuration in numbers: the engine of `rnnsearch doctor`."""

from __future__ import annotations

import collections
import dataclasses
import math
from collections.abc import Iterator, Sequence

import tensorflow as tf

from rnnsearch_tf.config import END_ID, UNKNOWN_ID, Config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.inspection.fitting import LOST_SHARE, Lengths, quantile
from rnnsearch_tf.data.pairs import SIDES, LinePair, Pairs
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.progress import progress
from rnnsearch_tf.text.pipeline import Text, build_texts
from rnnsearch_tf.text.vocabulary import batches

PLACES = 3
"""Places named of each kind of problem."""

REMEMBERED_PAIRS = 1_000_000
"""Pairs checked for duplicates; a limit on memory."""

PAIRS = {
    "invalid": "are not UTF-8",
    "empty": "are empty on one side or both",
    "copy": "have the same text on both sides",
    "unequal": "have one side more than three times as long as the other",
    "duplicate": "are duplicates",
}
"""{kind: what pairs of this kind are}."""

_LINES = 512

Messages = Iterator[tuple[str, str]]
"""(severity, message) of each finding."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes:
        severity: "error" (training would stop, or be useless), "warning" or "note".
        part: "train" or "development".
        message: a sentence.
    """

    severity: str
    part: str
    message: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.part}: {self.message}"


def check_data(config: Config) -> list[Finding]:
    """Build the vocabularies, then read the training and the development pairs of a configuration
    once, and report what is unusual.

    Findings: line counts, invalid UTF-8, empty lines, lengths, pairs beyond the length limits,
    pairs of very unequal length, uncorrelated lengths (shifted lines), copies, duplicates,
    development sentences in the training text, and the size and the coverage of the vocabularies.

    Returns:
        The findings, training first. Memory does not grow with the training text.

    Example:
        >>> from rnnsearch_tf.config import load_config
        >>> config = load_config(overrides=["data.corpus=phrasebook", "data.phrasebook_size=100"])
        >>> check_data(config)[0].message
        '100 lines on both sides'
    """
    lenient = config
    if config.data.corpus == "files":
        data = dataclasses.replace(config.data, on_bad_line="skip")
        lenient = dataclasses.replace(config, data=data)
    findings: dict[str, list[Finding]] = {"train": [], "development": []}
    try:
        texts = build_texts(lenient, open_corpus(lenient, "train").lines())
    except UserError as error:
        return [Finding("error", "train", str(error))]
    sources: set[int] = set()  # hashes of the development sentences, looked for in the other text
    for part in ("development", "train"):
        try:
            pairs = open_corpus(lenient, part)
            if pairs is None:
                message = (
                    "no development files are named: no BLEU while training, no best checkpoint"
                )
                findings[part].append(Finding("warning", part, message))
                continue
            counts = Counts(config, texts, sources if part == "train" else None)
            counts.read(pairs)
        except UserError as error:
            findings[part].append(Finding("error", part, str(error)))
            continue
        findings[part] += [
            Finding(severity, part, message)
            for severity, message in _findings(counts, pairs, config, part)
        ]
        if part == "development":
            sources = counts.source_hashes
        elif both := len(counts.source_hashes):
            severity = "warning" if both > 0.02 * len(sources) else "note"
            share = f"{_share(both, len(sources))} of the distinct source sentences"
            message = f"{share} also occur in the training text"
            findings["development"].append(Finding(severity, "development", message))
    return findings["train"] + findings["development"]


class Counts:
    """Counts of one pass over the pairs of one part.

    Args:
        config: the configuration.
        texts: (source Text, target Text), which define tokens.
        sources: hashes of the source sentences to look for; None: all are remembered.

    Attributes:
        lines, good, dropped: pairs; those with text on both sides; those longer than the limits.
        found: {kind of problem: pairs or lines}.
        places: {kind of problem: its first places}.
        lengths: {tokens: lines} of each side.
        tokens, unknown: of each side.
        source_hashes: of those that were looked for, or of all.
    """

    def __init__(self, config: Config, texts: Sequence[Text], sources: set[int] | None = None):
        self.texts = texts
        self.sources = sources
        self.limits = (config.data.maximum_source_length, config.data.maximum_target_length)
        lines = tf.TensorSpec([None], tf.string)
        self._encode = [
            tf.function(text.encode, autograph=False, input_signature=[lines]) for text in texts
        ]
        self.lines = self.good = self.dropped = 0
        self.found: collections.Counter[str] = collections.Counter()
        self.places: dict[str, list[str]] = collections.defaultdict(list)
        self.lengths: tuple[Lengths, Lengths] = (Lengths(), Lengths())
        self.tokens = [0, 0]
        self.unknown = [0, 0]
        # sums of 1, x, y, xx, yy, xy over the lengths x, y of pairs within the limits
        self._moments = [0] * 6
        self._pair_hashes: set[int] = set()
        self.source_hashes: set[int] = set()

    def read(self, pairs: Pairs) -> None:
        """Count all pairs."""
        for group in batches(self._good(pairs), _LINES):
            sides = zip(*(pair.texts for pair in group))
            lengths = [self._lengths(side, lines) for side, lines in enumerate(sides)]
            for counted in zip(group, *lengths):
                self._count_pair(*counted)

    def _good(self, pairs: Pairs) -> Iterator[LinePair]:
        """Yield the good pairs, and count the bad ones."""
        for pair in progress(pairs.scan(), doing="looking at the pairs", unit="lines"):
            self.lines += pair.kind != "unpaired"
            if pair.kind is None:
                yield pair
            else:
                self._add(pair.kind, pair.problem, pair.lines)

    def _lengths(self, side: int, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text; adds to the side's tokens and unknown tokens."""
        ids = self._encode[side](tf.constant([line.encode("utf-8") for line in texts]))
        flat = ids.flat_values.numpy()
        self.tokens[side] += int((flat != END_ID).sum())
        self.unknown[side] += int((flat == UNKNOWN_ID).sum())
        return [int(length) - 1 for length in ids.row_lengths()]

    def _count_pair(self, pair: LinePair, x: int, y: int) -> None:
        """Count a good pair of x source and y target tokens."""
        source, target = pair.texts
        self.good += 1
        self.lengths[0][x] += 1
        self.lengths[1][y] += 1
        if x > self.limits[0] or y > self.limits[1]:
            self.dropped += 1
        else:  # one line of thousands of words would dominate the sums
            self._moments = [
                total + term for total, term in zip(self._moments, (1, x, y, x * x, y * y, x * y))
            ]
        place = pair.places[0]
        shorter, longer = sorted((x, y))
        if longer > 3 * shorter and longer - shorter >= 6:
            self._add("unequal", f"{place} ({x} and {y} tokens)")
        if source == target:
            self._add("copy", place)
        if self.good <= REMEMBERED_PAIRS:
            both = hash((source, target))  # 64 bits a pair
            if both in self._pair_hashes:
                self._add("duplicate", place)
            self._pair_hashes.add(both)
        source_hash = hash(source)
        if self.sources is None or source_hash in self.sources:
            self.source_hashes.add(source_hash)

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

    def words(self, kind: str) -> str:
        """How many pairs are of a kind, and where."""
        total = self.good
        if kind in ("invalid", "empty"):
            total = self.lines
        elif kind == "duplicate":
            total = min(self.good, REMEMBERED_PAIRS)
        among = f" among the first {total:,}" if total < self.good else ""
        share = f"{_share(self.found[kind], total)} of the pairs{among}"
        return f"{share} {PAIRS[kind]}: {'; '.join(self.places[kind])}"


def _findings(counts: Counts, pairs: Pairs, config: Config, part: str) -> Messages:
    """All findings about one part."""
    data = config.data
    bad_line = "error" if data.on_bad_line == "error" else "warning"
    for place in counts.places["unpaired"]:
        yield bad_line, place
    if not counts.found["unpaired"]:
        held_out = {
            "train": ", without the pairs that data.held_out takes out for development",
            "development": ", held out of the training text",
        }[part]
        yield "note", f"{counts.lines:,} lines on both sides{held_out if data.held_out else ''}"
    for kind in ("invalid", "empty"):
        if counts.found[kind]:
            yield bad_line, counts.words(kind)
    lost = sum(counts.found[kind] for kind in ("invalid", "empty", "unpaired"))
    if data.on_bad_line == "skip" and lost > LOST_SHARE[part] * (counts.good + lost):
        share = _share(lost, counts.good + lost)
        yield "error", f"{share} of the pairs are lost to bad lines: correct the files"
    if not counts.good:
        names = f"{pairs.name('source')}, {pairs.name('target')}"
        yield "error", f"{names}: expected at least one sentence pair, got none"
        return
    for side, lengths in zip(SIDES, counts.lengths):
        median, long = (quantile(lengths, share) for share in (0.5, 0.95))
        numbers = f"median {median}, 95 % within {long}, longest {max(lengths)}"
        yield "note", f"{side} lengths in tokens: {numbers}"
    if part == "train" and counts.dropped:
        severity = "warning" if counts.dropped > 0.05 * counts.good else "note"
        if counts.dropped == counts.good:
            severity = "error"
        source, target = counts.limits
        limits = f"data.maximum_source_length={source} and data.maximum_target_length={target}"
        share = _share(counts.dropped, counts.good)
        yield severity, f"{share} of the pairs are longer than {limits}, and left out of training"
    yield from _oddities(counts)
    for side, text, unknown, tokens in zip(SIDES, counts.texts, counts.unknown, counts.tokens):
        severity = "warning" if unknown > 0.1 * tokens else "note"
        share = f"{_share(unknown, tokens)} of the tokens are unknown"
        yield severity, f"{side} vocabulary of {text.vocabulary.size:,}: {share}"


def _oddities(counts: Counts) -> Messages:
    """Findings about pairs that are well-formed but look wrong."""
    if counts.found["unequal"]:
        yield "warning", counts.words("unequal")
    correlation = counts.correlation()
    if counts.good >= 100 and correlation is not None and correlation < 0.3:
        message = (
            f"lengths of the two sides hardly correlate (correlation {correlation:.2f}): the lines"
            " may be shifted or shuffled"
        )
        yield "warning", message
    for kind, many in (("copy", 0.01), ("duplicate", 0.05)):
        if counts.found[kind]:
            total = min(counts.good, REMEMBERED_PAIRS) if kind == "duplicate" else counts.good
            severity = "warning" if counts.found[kind] > many * total else "note"
            yield severity, counts.words(kind)


def _share(count: int, total: int) -> str:
    percent = 100 * count / max(total, 1)
    return f"{count:,} of {total:,} ({percent:{'.0f' if percent >= 10 else '.2g'}} %)"
