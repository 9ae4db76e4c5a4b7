"""Check training data for problems: the engine of `rnnsearch doctor`."""

from __future__ import annotations

import collections
import dataclasses
import math
import re
import shlex
import unicodedata
from collections.abc import Iterator, Sequence
from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import END_ID, UNKNOWN_ID, Config, DataConfig, TextConfig
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.inspection.fitting import LOSS, quantile
from rnnsearch_tf.data.inspection.swapped import swapped
from rnnsearch_tf.data.pairs import LinePair, Pairs
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import is_utf8
from rnnsearch_tf.runtime.progress import progress
from rnnsearch_tf.text.characters import INVISIBLE_CHARACTERS
from rnnsearch_tf.text.encodings import guess
from rnnsearch_tf.text.pipeline import Text, shortfall
from rnnsearch_tf.text.vocabulary import batches

REMEMBERED_PAIRS = 1_000_000
"""Pairs checked for duplicates and swapped sides; a limit on memory."""

_LINES = 512
_INVALID = 200  # lines used to guess an encoding
_LINE_ENDS = (  # characters at which str.splitlines and some editors break lines
    "\r\v\f\x1c\x1d\x1e\x85\u2028\u2029"
)

Messages = Iterator[tuple[str, str]]
"""(severity, message) of each finding."""

_invisible = re.compile(f"[{re.escape(INVISIBLE_CHARACTERS)}]").search


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


def check_data(
    config: Config, source_text: Text | None = None, target_text: Text | None = None
) -> list[Finding]:
    """Read the training and development pairs of a configuration and report what is unusual.

    Findings: line counts, invalid UTF-8, empty lines, lengths, pairs beyond the length limits,
    pairs of very unequal length, uncorrelated lengths (shifted lines), swapped sides, copies,
    duplicates, invisible characters, lines in another Unicode normal form, development sentences in
    the training text, and, if the Texts are given, the size and the coverage of the vocabularies.

    Args:
        config: the configuration.
        source_text, target_text: Text of each side; None: lengths are in words separated by spaces,
            and vocabularies are not checked.

    Returns:
        The findings in the order above, training first. Memory does not grow with the files.

    Example:
        >>> from rnnsearch_tf.config import load_config
        >>> config = load_config(overrides=["data.corpus=phrasebook", "data.phrasebook_size=100"])
        >>> check_data(config)[0].message
        '100 lines on both sides'
    """
    findings = []
    training = None
    for part in ("train", "development"):
        try:
            pairs = open_corpus(config, part)
            if pairs is None:
                findings.append(
                    Finding(
                        "warning",
                        part,
                        "no development files are named: no BLEU while training, no best"
                        " checkpoint",
                    )
                )
                continue
            counts = _Counts(config, source_text, target_text)
            counts.read(pairs)
        except UserError as error:
            findings.append(Finding("error", part, str(error)))
            continue
        findings += [
            Finding(severity, part, message)
            for severity, message in _findings(counts, pairs, config, part)
        ]
        if training is not None:
            findings += _leaks(training, counts)
        training = counts if part == "train" else training
    return findings


class _Counts:
    """Counts of one pass over the pairs of one part."""

    def __init__(self, config: Config, source_text: Text | None, target_text: Text | None):
        data = config.data
        self.sides = {"source": config.source, "target": config.target}
        self.limits = (data.maximum_source_length, data.maximum_target_length)
        self.texts = (source_text, target_text)
        lines = tf.TensorSpec([None], tf.string)
        self.encode = [
            None
            if text is None
            else tf.function(text.encode, autograph=False, input_signature=[lines])
            for text in self.texts
        ]
        self.lines = self.good = self.dropped = self.copies = self.duplicates = self.unequal = 0
        self.bad: collections.Counter[str] = collections.Counter()
        # the first lines of each side that are not UTF-8
        self.invalid: tuple[list[bytes], list[bytes]] = ([], [])
        # {kind of problem: the first three places}
        self.places: dict[str, list[str]] = collections.defaultdict(list)
        self.lengths: tuple[collections.Counter[int], collections.Counter[int]] = (
            collections.Counter(),
            collections.Counter(),
        )
        self.tokens = [0, 0]
        self.unknown = [0, 0]
        # sums of 1, x, y, xx, yy, xy over the lengths x, y of pairs within the limits
        self.moments = [0] * 6
        self.pair_hashes: set[int] = set()
        self.source_hashes: set[int] = set()

    def read(self, pairs: Pairs) -> None:
        """Count all pairs."""
        for group in batches(self._good(pairs), _LINES):
            numbers, sources, targets = zip(*group)
            lengths = [self._lengths(side, texts) for side, texts in enumerate((sources, targets))]
            for counted in zip(numbers, sources, targets, *lengths):
                self._count(pairs, *counted)

    def _good(self, pairs: Pairs) -> Iterator[tuple[int, str, str]]:
        """Yield (line number, source, target) of the good pairs, and count the bad ones."""
        pair: LinePair
        for pair in progress(pairs.scan(), doing="looking at the pairs", unit="lines"):
            if pair.kind is None:
                self.lines += 1
                yield pair.number, *pair.texts
            else:
                self.lines += pair.kind != "unpaired"
                self.bad[pair.kind] += pair.lines
                self._remember(pair.kind, pair.problem)
                for lines, line in zip(self.invalid, (pair.source, pair.target)):
                    if pair.kind == "invalid" and len(lines) < _INVALID and not is_utf8(line):
                        lines.append(line)

    def _lengths(self, side: int, texts: Sequence[str]) -> list[int]:
        """The number of tokens of each text; adds to the side's tokens and unknown tokens."""
        encode = self.encode[side]
        if encode is None:
            return [len(line.split()) for line in texts]
        ids = encode(tf.constant([line.encode("utf-8") for line in texts]))
        flat = ids.flat_values.numpy()
        self.tokens[side] += int((flat != END_ID).sum())
        self.unknown[side] += int((flat == UNKNOWN_ID).sum())
        return [int(length) - 1 for length in ids.row_lengths()]

    def _count(self, pairs: Pairs, number: int, source: str, target: str, x: int, y: int) -> None:
        """Count a good pair of x source and y target tokens."""
        self.good += 1
        self.lengths[0][x] += 1
        self.lengths[1][y] += 1
        if x > self.limits[0] or y > self.limits[1]:
            self.dropped += 1
        else:  # one line of thousands of words would dominate the sums
            self.moments = [
                total + term for total, term in zip(self.moments, (1, x, y, x * x, y * y, x * y))
            ]
        longer = max(x, y)
        shorter = min(x, y)
        if longer > 3 * shorter and longer - shorter >= 6:
            self.unequal += 1
            self._remember("unequal", f"{pairs.name('source')}:{number} ({x} and {y} tokens)")
        if source == target:
            self.copies += 1
            self._remember("copy", f"{pairs.name('source')}:{number}")
        if any(end in line for line in (source, target) for end in _LINE_ENDS):
            self.bad["line ends"] += 1
            self._remember("line ends", f"{pairs.name('source')}:{number}")
        for (side, settings), line in zip(self.sides.items(), (source, target)):
            place = f"{pairs.name(side)}:{number}"
            found = _invisible(line)
            if found:
                self.bad[f"invisible {side}"] += 1
                self._remember(f"invisible {side}", f"{place} (U+{ord(found[0]):04X})")
            if not unicodedata.is_normalized(_form(settings), line):
                self.bad[f"form {side}"] += 1
                self._remember(f"form {side}", place)
        if self.good <= REMEMBERED_PAIRS:
            pair = hash((source, target))  # 64 bits a pair
            self.duplicates += pair in self.pair_hashes
            self.pair_hashes.add(pair)
            self.source_hashes.add(hash(source))

    def _remember(self, kind: str, place: str) -> None:
        if len(self.places[kind]) < 3:
            self.places[kind].append(place)

    def correlation(self) -> float | None:
        """Pearson correlation of the lengths of pairs within the limits; None if the lengths of a
        side hardly vary.
        """
        number, *sums = self.moments
        x, y, xx, yy, xy = (total / max(number, 1) for total in sums)
        spread = (xx - x * x) * (yy - y * y)
        return (xy - x * y) / math.sqrt(spread) if spread > 0.01 else None


def _form(settings: TextConfig) -> Any:
    """The Unicode normal form that lines of a side should have."""
    return "NFC" if settings.unicode_form == "none" else settings.unicode_form


def _characters(counts: _Counts) -> Messages:
    """Findings about invisible characters and Unicode normal forms."""
    for side, settings in counts.sides.items():
        count = counts.bad[f"invisible {side}"]
        places = "; ".join(counts.places[f"invisible {side}"])
        if count:
            lines = f"{_share(count, counts.good)} of the {side} lines have invisible characters"
            if settings.remove_invisible:
                yield "note", f"{lines}, which {side}.remove_invisible removes: {places}"
            else:
                yield (
                    "warning",
                    (
                        f"{lines}, which the model treats like letters: {places}; set"
                        f" {side}.remove_invisible=true, or remove them from the text"
                    ),
                )
        count = counts.bad[f"form {side}"]
        places = "; ".join(counts.places[f"form {side}"])
        if count:
            lines = (
                f"{_share(count, counts.good)} of the {side} lines are not in the Unicode normal"
                f" form {_form(settings)}: {places}"
            )
            if settings.unicode_form == "none":
                yield (
                    "warning",
                    (
                        f"{lines}; with {side}.unicode_form=NFC, é as one and as two code points is"
                        " the same letter"
                    ),
                )
            else:
                yield (
                    "note",
                    (
                        f"{lines}; {side}.unicode_form converts them, but other programs may score"
                        " them differently"
                    ),
                )


def _held_out(data: DataConfig, part: str) -> str:
    """An explanation why there are fewer lines than in the files."""
    if not data.held_out:
        return ""
    return (
        ", without the pairs that data.held_out takes out for development"
        if part == "train"
        else ", held out of the training text"
    )


def _findings(counts: _Counts, pairs: Pairs, config: Config, part: str) -> Messages:
    """All findings about one part."""
    data = config.data
    bad_line = "error" if data.on_bad_line == "error" else "warning"
    if counts.bad["unpaired"]:
        yield bad_line, counts.places["unpaired"][0]
    else:
        yield "note", f"{counts.lines:,} lines on both sides{_held_out(data, part)}"
    for kind, words in (("invalid", "not UTF-8"), ("empty", "empty on one side or both")):
        if counts.bad[kind]:
            yield (
                bad_line,
                (
                    f"{_share(counts.bad[kind], counts.lines)} of the pairs are {words}:"
                    f" {'; '.join(counts.places[kind])}"
                    f"{_encodings(counts, pairs, config) if kind == 'invalid' else ''}"
                ),
            )
    lost = counts.bad["invalid"] + counts.bad["empty"] + counts.bad["unpaired"]
    if data.on_bad_line == "skip" and lost > LOSS[part] * (counts.good + lost):
        yield (
            "error",
            (
                f"{_share(lost, counts.good + lost)} of the pairs are lost to bad lines: correct"
                " the files"
            ),
        )
    if not counts.good:
        yield (
            "error",
            (
                f"{pairs.name('source')}, {pairs.name('target')}: expected at least one sentence"
                " pair, got none"
            ),
        )
        return
    unit = "tokens" if counts.texts[0] is not None else "words"
    for side, lengths in zip(("source", "target"), counts.lengths):
        yield (
            "note",
            (
                f"{side} lengths in {unit}: median {quantile(lengths, 0.5)}, 95 % within"
                f" {quantile(lengths, 0.95)}, longest {max(lengths)}"
            ),
        )
    if part == "train" and counts.dropped:
        severity = (
            "error"
            if counts.dropped == counts.good
            else "warning"
            if counts.dropped > 0.05 * counts.good
            else "note"
        )
        limits = (
            f"data.maximum_source_length={counts.limits[0]} and"
            f" data.maximum_target_length={counts.limits[1]}"
        )
        yield (
            severity,
            (
                f"{_share(counts.dropped, counts.good)} of the pairs are longer than {limits} and"
                " left out of training"
            ),
        )
    yield from _oddities(counts)
    yield from _characters(counts)
    yield from _swapped_sides(pairs, counts)
    if part == "train":
        yield from _small_vocabularies(counts, config)
    for side, text in zip(("source", "target"), counts.texts):
        if text is not None:
            unknown = counts.unknown[side == "target"]
            tokens = counts.tokens[side == "target"]
            severity = "warning" if unknown > 0.1 * tokens else "note"
            yield (
                severity,
                (
                    f"{side} vocabulary of {text.vocabulary.size:,}: {_share(unknown, tokens)} of"
                    " the tokens are unknown"
                ),
            )


def _encodings(counts: _Counts, pairs: Pairs, config: Config) -> str:
    """The likely encoding of lines that are not UTF-8, with a command that converts the file."""
    words = ""
    for side, lines in zip(("source", "target"), counts.invalid):
        encoding = lines and guess(lines, getattr(config, side).language)
        if encoding:
            path = shlex.quote(pairs.name(side))
            words += (
                f"; it looks like {encoding}: iconv -f {encoding} -t utf-8 {path} > {path}.utf-8"
            )
    return words


def _swapped_sides(pairs: Pairs, counts: _Counts) -> Messages:
    """A finding about pairs whose sides are swapped."""

    def good() -> Iterator[tuple[int, str, str]]:
        return ((pair.number, *pair.texts) for pair in pairs.scan() if pair.kind is None)

    numbers = swapped(good, REMEMBERED_PAIRS)
    if numbers:
        places = "; ".join(f"{pairs.name('source')}:{number}" for number in numbers[:3])
        yield (
            "warning",
            (
                f"{_share(len(numbers), min(counts.good, REMEMBERED_PAIRS))} of the pairs have"
                f" swapped languages, judging by all other lines: {places}"
            ),
        )


def _small_vocabularies(counts: _Counts, config: Config) -> Messages:
    """Findings about vocabularies smaller than configured."""
    for side, text in zip(("source", "target"), counts.texts):
        settings = getattr(config, side)
        message = None if text is None else shortfall(text, side, settings)
        if text is not None and message is not None:
            far = (
                settings.tokenization == "sentencepiece"
                and text.vocabulary.size < 0.75 * settings.vocabulary_size
            )
            yield "warning" if far else "note", message


def _oddities(counts: _Counts) -> Messages:
    """Findings about pairs that are well-formed but look wrong."""
    if counts.unequal:
        yield (
            "warning",
            (
                f"{_share(counts.unequal, counts.good)} of the pairs have one side more than three"
                f" times as long as the other: {'; '.join(counts.places['unequal'])}"
            ),
        )
    correlation = counts.correlation()
    if counts.good >= 100 and correlation is not None and correlation < 0.3:
        yield (
            "warning",
            (
                f"lengths of the two sides hardly correlate (correlation {correlation:.2f}): the"
                " lines may be shifted or shuffled"
            ),
        )
    if counts.copies:
        severity = "warning" if counts.copies > 0.01 * counts.good else "note"
        yield (
            severity,
            (
                f"{_share(counts.copies, counts.good)} of the pairs have the same text on both"
                f" sides: {'; '.join(counts.places['copy'])}"
            ),
        )
    if counts.duplicates:
        severity = "warning" if counts.duplicates > 0.05 * counts.good else "note"
        among = f" among the first {REMEMBERED_PAIRS:,}" if counts.good > REMEMBERED_PAIRS else ""
        yield (
            severity,
            (
                f"{_share(counts.duplicates, min(counts.good, REMEMBERED_PAIRS))} of the pairs"
                f"{among} are duplicates"
            ),
        )
    if counts.bad["line ends"]:
        places = "; ".join(counts.places["line ends"])
        yield (
            "note",
            (
                f"{counts.bad['line ends']:,} pairs contain a character that some programs treat as"
                f" a line end: {places}"
            ),
        )


def _leaks(training: _Counts, development: _Counts) -> Iterator[Finding]:
    """A finding about development sentences that also occur in the training text."""
    both = len(training.source_hashes & development.source_hashes)
    different = len(development.source_hashes)
    if both:
        severity = "warning" if both > 0.02 * different else "note"
        message = (
            f"{_share(both, different)} of the distinct source sentences also occur in the training"
            " text"
        )
        yield Finding(severity, "development", message)


def _share(count: int, total: int) -> str:
    percent = 100 * count / max(total, 1)
    return f"{count:,} of {total:,} ({percent:{'.0f' if percent >= 10 else '.2g'}} %)"
