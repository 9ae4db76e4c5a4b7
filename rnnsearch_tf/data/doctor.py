"""Check the text of a configuration in numbers: the engine of `rnnsearch doctor`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from rnnsearch_tf.config import UNKNOWN_ID, Config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.ids import encoder
from rnnsearch_tf.data.pairs import SIDES, Pairs, comparable
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import batches
from rnnsearch_tf.runtime.progress import progress
from rnnsearch_tf.text.pipeline import Text, build_texts

ENOUGH = 200
"""Pairs from which on correlation and shifts say something."""

GAIN_OF_A_LINE, GAIN_OF_A_RUN = 0.05, 1.5
"""A neighbour must fit a run of lines better than their partners by GAIN_OF_A_LINE each, and by
GAIN_OF_A_RUN in all. No run of 260,000 sound pairs reaches 1.3, in their order or sorted by length.
Of 30 shifted lines of Tatoeba, Multi30k or Python's documentation nearly all are found.
"""

SHORTEST = 20
"""Shifted lines in a row that are reported."""


class Finding(NamedTuple):
    """One finding: its severity, "error" (training would stop or be useless), "warning" or "note";
    the part of the text, "train" or "development"; and a sentence.
    """

    severity: str
    part: str
    message: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.part}: {self.message}"


def check_data(config: Config) -> list[Finding]:
    """Build the vocabularies, then read the training and the development pairs of a configuration
    once, and say what is unusual in numbers.

    Example:
        >>> from rnnsearch_tf.config import load_config
        >>> config = load_config(overrides=["data.corpus=phrasebook", "data.phrasebook_size=100"])
        >>> check_data(config)[0].message
        '100 pairs'
    """
    findings = []
    texts: Sequence[Text] = ()
    training: np.ndarray | None = None  # hashes of its sources
    for part in ("train", "development"):
        try:
            pairs = open_corpus(config, part)
            if pairs is None:
                message = "no development text is named: no BLEU while training, no best weights"
                findings.append(Finding("warning", part, message))
                continue
            texts = texts or build_texts(config, pairs)
            counts = Counts(pairs, texts)
        except UserError as error:
            findings.append(Finding("error", part, str(error)))
            break
        found = [*counts.findings(config.data.maximum_length)]
        if training is not None:
            sources = np.unique(counts.hashes[0])
            both = np.isin(sources, training).sum()
            share = f"{_share(both, len(sources))} of the distinct source sentences"
            severity = "warning" if both > 0.02 * len(sources) else "note"
            found.append((severity, f"{share} also occur in the training text"))
        training = counts.hashes[0]
        findings += [Finding(severity, part, message) for severity, message in found]
    return findings


class Counts:
    """What one pass over some pairs counts, as arrays of int64.

    Attributes:
        lengths: [2, pairs], tokens of each side.
        unknown: [2], unknown tokens of each side.
        numbers: [pairs], line number of each pair.
        hashes: [2, pairs], of the source sentence and of the pair.
        copies: [pairs], 1 if both sides are the same text.
        part_sizes: pairs of each file.
    """

    def __init__(self, pairs: Pairs, texts: Sequence[Text]) -> None:
        self.pairs = pairs
        self.texts = texts
        self.unknown = np.zeros(2, np.int64)
        self.part_sizes = []
        encode = encoder(texts)
        rows = []
        for part in pairs.parts():
            self.part_sizes.append(0)
            for group in batches(progress(part, doing="looking at the pairs", unit="pairs")):
                ids = encode(pair for _, pair in group)
                self.unknown += [np.sum(side.flat_values == UNKNOWN_ID) for side in ids]
                facts = []
                for number, pair in group:
                    source, target = map(comparable, pair)
                    facts.append((number, hash(source), hash((source, target)), source == target))
                lengths = [side.row_lengths().numpy() - 1 for side in ids]
                rows.append(np.concatenate([lengths, np.array(facts, np.int64).T]))
                self.part_sizes[-1] += len(group)
        columns = np.concatenate(rows, axis=1)
        self.lengths, self.hashes = columns[:2], columns[3:5]
        self.numbers, self.copies = columns[2], columns[5]

    def findings(self, limit: int) -> Iterator[tuple[str, str]]:
        """Yield (severity, message) of each finding; `limit` is data.maximum_length."""
        report = self.pairs.report
        yield "warning" if report.empty else "note", f"{report}"
        for side, text, lengths, unknown in zip(SIDES, self.texts, self.lengths, self.unknown):
            median, long = np.quantile(lengths, (0.5, 0.95), method="higher")
            numbers = f"median {median}, 95 % within {long}, longest {lengths.max()}"
            yield "note", f"{side} lengths in tokens: {numbers}"
            severity = "warning" if unknown > 0.1 * lengths.sum() else "note"
            share = f"{_share(unknown, lengths.sum())} of the tokens are unknown"
            yield severity, f"{side} vocabulary of {text.vocabulary.size:,}: {share}"
        shorter, longer = np.sort(self.lengths, axis=0)
        yield from self._pairs(longer > limit, 0.05, f"are longer than data.maximum_length={limit}")
        unequal = (longer > 3 * shorter) & (longer - shorter >= 6)
        yield from self._pairs(unequal, 0.0, "have one side more than three times as long")
        yield from self._pairs(self.copies > 0, 0.01, "have the same text on both sides")
        repeated = np.ones(len(longer), bool)
        repeated[np.unique(self.hashes[1], return_index=True)[1]] = False
        yield from self._pairs(repeated, 0.05, "are duplicates")
        fitting = np.flatnonzero(longer <= limit)  # one line of thousands of words would decide
        if len(fitting) >= ENOUGH:
            correlation = _correlation(*self.lengths[:, fitting])
            severity = "warning" if correlation < 0.3 else "note"
            hint = "below 0.3, lines are often shifted or shuffled"
            yield severity, f"correlation of the lengths of both sides: {correlation:.2f} ({hint})"
            count, first, step = _shift(*self.lengths[:, fitting])
            if count >= SHORTEST:
                place, side = self._place(fitting[first]), "before" if step > 0 else "after"
                pairs = f"{_share(count, len(fitting))} of the pairs"
                shifted = f"from {place} on, {pairs} fit the target line {side} theirs better"
                severity = "error" if count > 0.05 * len(fitting) else "warning"
                yield severity, f"lines are shifted: {shifted}"

    def _pairs(self, found: np.ndarray, many: float, what: str) -> Iterator[tuple[str, str]]:
        """How many pairs are found, and where the first three are."""
        if found.any():
            severity = "warning" if found.sum() > many * len(found) else "note"
            severity = "error" if found.all() else severity
            places = "; ".join(map(self._place, np.flatnonzero(found)[:3]))
            yield severity, f"{_share(found.sum(), len(found))} of the pairs {what}: {places}"

    def _place(self, pair: int) -> str:
        """FILE:LINE of a pair."""
        part = int(np.searchsorted(np.cumsum(self.part_sizes), pair, side="right"))
        name = self.pairs.files[part][0] if self.pairs.files else "pairs"
        return f"{name}:{self.numbers[pair]}"


def _shift(source: np.ndarray, target: np.ndarray) -> tuple[int, int, int]:
    """The longest run of lines whose source lengths fit the target of a neighbour better than their
    own: (pairs of the run, the first of them, 1 for the line before or −1 for the line after).

    The misfit of a pair is the squared logarithm of the ratio of its lengths, less the usual one.
    What a neighbour fits better is summed up, from zero again whenever the sum would be negative.
    """
    usual = np.median(np.log((source + 1) / (target + 1)))

    def misfit(other: np.ndarray) -> np.ndarray:
        return np.minimum((np.log((source + 1) / (other + 1)) - usual) ** 2, 1)

    longest = (0, 0, 0)
    for step in (-1, 1):
        gain = misfit(target) - misfit(np.roll(target, step)) - GAIN_OF_A_LINE
        total = np.concatenate([[0], np.cumsum(gain)])
        [zeros] = np.nonzero(total == np.minimum.accumulate(total))
        heights = np.maximum.reduceat(total, zeros) - total[zeros]
        for run in np.flatnonzero(heights > GAIN_OF_A_RUN):
            part = total[zeros[run] : zeros[run + 1] if run + 1 < len(zeros) else None]
            longest = max(longest, (int(part.argmax()), int(zeros[run]), step))
    return longest


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Pearson's correlation; 0 if a side does not vary."""
    return float(np.corrcoef(x, y)[0, 1]) if x.std() and y.std() else 0.0


def _share(count: Any, total: Any) -> str:
    percent = 100 * count / max(total, 1)
    return f"{count:,} of {total:,} ({percent:{'.0f' if percent >= 10 else '.2g'}} %)"
