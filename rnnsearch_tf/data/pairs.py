"""Parallel text from files or from Python, streamed and checked line by line."""

from __future__ import annotations

import dataclasses
import functools
import itertools
import os
from collections.abc import Iterable, Iterator
from typing import Any

from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.reading import read_bytes
from rnnsearch_tf.text.characters import BLANK_CHARACTERS

SIDES = "source", "target"

PathOrLines = str | os.PathLike[str] | Iterable[str]
"""One side of a text: the path of a file, or its lines."""

_EXAMPLES = 5  # bad lines named in a report; the others are only counted
_COUNTS = ("kept", "invalid", "empty", "unpaired", "too_long")


@dataclasses.dataclass
class Report:
    """Counts of one pass over the pairs.

    Attributes:
        kept: usable pairs, those that are too long among them.
        invalid, empty: pairs left out because a side is not UTF-8, or has no text.
        unpaired: lines at the end of the longer side, which have no partner.
        too_long: pairs left out of training by the length limits (set in the first epoch).
        examples: the first few bad lines, as ``file:line: problem``.
    """

    kept: int = 0
    invalid: int = 0
    empty: int = 0
    unpaired: int = 0
    too_long: int = 0
    examples: list[str] = dataclasses.field(default_factory=list)

    def __add__(self, other: Report) -> Report:
        """The report of two passes together."""
        counts = {name: getattr(self, name) + getattr(other, name) for name in _COUNTS}
        return Report(**counts, examples=[*self.examples, *other.examples][:_EXAMPLES])

    @property
    def skipped(self) -> int:
        """Bad pairs and lines, which were left out."""
        return self.invalid + self.empty + self.unpaired

    def __str__(self) -> str:
        counts = [
            (self.invalid, "with invalid UTF-8"),
            (self.empty, "with an empty line"),
            (self.unpaired, "lines without a partner"),
            (self.too_long, "too long"),
        ]
        left_out = ", ".join(f"{count:,} {what}" for count, what in counts if count)
        first = f" (first: {self.examples[0]})" if self.examples else ""
        kept = f"{self.kept - self.too_long:,} pairs kept"
        return kept + (f"; left out: {left_out}{first}" if left_out else "")


@dataclasses.dataclass(frozen=True)
class LinePair:
    """One line of both sides, good or bad.

    Attributes:
        number: line number, from 1.
        source, target: the line of each side; empty if that side has ended.
        kind: None for a good pair, otherwise "invalid", "empty" or "unpaired".
        problem: error message of a bad line, with file and line.
        lines: number of lines; at the end of the shorter side, one LinePair represents all
            remaining lines.
        texts: both sides of a good pair, decoded.
        names: names of the two files; of a list, "source" and "target".
        places: FILE:LINE of both sides.
    """

    number: int
    source: bytes
    target: bytes
    kind: str | None = None
    problem: str = ""
    lines: int = 1
    texts: tuple[str, str] = ("", "")
    names: tuple[str, str] = SIDES

    @property
    def places(self) -> tuple[str, str]:
        return f"{self.names[0]}:{self.number}", f"{self.names[1]}:{self.number}"


class Pairs:
    """Sentence pairs in files or in Python, read as a stream, any number of times.

    Iterating yields (source, target) texts, str, of the good pairs in order; :meth:`lines` yields
    the same as bytes. A bad pair (invalid UTF-8, an empty line, a line without a partner) raises
    UserError naming file and line, or, with ``on_bad_line="skip"``, is left out and counted in
    :attr:`report`. A pass without any good pair ends with a UserError.

    Args:
        source: path of a file, plain or .gz, or the lines. Without a target: an iterable of pairs
            (source, target) of str.
        target: the other side; None: `source` has both.
        on_bad_line: "error" or "skip".

    Raises:
        UsageError: a pair does not consist of two texts.

    Attributes:
        corpora: the corpora of a mixture with their weights, see mixture.py; otherwise itself.
        report: Report of the last pass; None before the first.

    Example:
        >>> pairs = Pairs(["a house", " "], ["une maison", "un"], on_bad_line="skip")
        >>> list(pairs), pairs.report.empty
        ([('a house', 'une maison')], 1)
        >>> list(Pairs([("a house", "une maison"), ("a cat", "un chat")]))
        [('a house', 'une maison'), ('a cat', 'un chat')]
    """

    def __init__(
        self,
        source: PathOrLines | Iterable[Any] | None,
        target: PathOrLines | None = None,
        on_bad_line: str = "error",
    ):
        if source is not None and target is None:
            source, target = _two_sides(source)
        self.source = _readable_again(source)
        self.target = _readable_again(target)
        self.on_bad_line = on_bad_line
        self.corpora: list[tuple[Pairs, float]] = [(self, 1.0)]
        self.report: Report | None = None

    def __iter__(self) -> Iterator[tuple[str, str]]:
        return (pair.texts for pair in self.good())

    def lines(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield (source, target) of the good pairs as UTF-8 bytes, ready for TensorFlow."""
        return ((pair.source, pair.target) for pair in self.good())

    def good(self) -> Iterator[LinePair]:
        """Yield the good pairs, then store the report of this pass in :attr:`report`.

        Raises:
            UserError: a bad line with ``on_bad_line="error"``, a file that cannot be read, or no
                good pair at all.
        """
        report = Report()
        for pair in self.scan():
            if pair.kind is None:
                report.kept += 1
                yield pair
                continue
            if self.on_bad_line == "error":
                raise UserError(f"{pair.problem}; correct it, or set data.on_bad_line=skip")
            setattr(report, pair.kind, getattr(report, pair.kind) + pair.lines)
            if len(report.examples) < _EXAMPLES:
                report.examples.append(pair.problem)
        if self.report is not None:
            report.too_long = self.report.too_long
        self._check_not_empty(report)
        self.report = report

    def check(self) -> Report:
        """The report of the last pass; if there was none, read everything once. Raises the errors
        of :meth:`good`.
        """
        if self.report is None:
            for _ in self.good():
                pass
        assert self.report is not None  # good() has set it
        return self.report

    def name(self, side: str) -> str:
        """The name of a side in messages: its path, or "source" or "target" for a list."""
        value = getattr(self, side)
        return os.fspath(value) if isinstance(value, (str, os.PathLike)) else side

    @functools.cached_property
    def _names(self) -> tuple[str, str]:
        return self.name("source"), self.name("target")

    def scan(self) -> Iterator[LinePair]:
        """Yield every line of both sides, good or bad; raise only for files that cannot be read."""
        sides = itertools.zip_longest(self._bytes("source"), self._bytes("target"))
        for number, (source, target) in enumerate(sides, start=1):
            if source is None or target is None:
                lines = 1 + sum(1 for _ in sides)
                problem = self._unpaired(number, lines, source is None)
                texts = (source or b"", target or b"")
                yield LinePair(number, *texts, "unpaired", problem, lines, names=self._names)
                return
            yield self._checked(number, source, target)

    def _bytes(self, side: str) -> Iterable[bytes]:
        """The lines of a side."""
        value = getattr(self, side)
        if isinstance(value, (str, os.PathLike)):
            return read_bytes(value)
        return (
            _text(text, number, side).encode("utf-8", "surrogatepass")
            for number, text in enumerate(value, start=1)
        )

    def _check_not_empty(self, report: Report) -> None:
        """Raise UserError for a corpus without any good pair."""
        if report.kept:
            return
        where = f"{self.name('source')}, {self.name('target')}"
        found = (
            f"got {report.skipped:,} bad lines; the first: {report.examples[0]}"
            if report.skipped
            else "both files are empty"
        )
        raise UserError(
            f"{where}: expected at least one sentence pair, {found}; check the paths and the files"
        )

    def _unpaired(self, number: int, lines: int, source_ended: bool) -> str:
        shorter, longer = self._names if source_ended else self._names[::-1]
        return (
            f"{longer}:{number}: expected as many lines as in {shorter}, which has {number - 1:,}; "
            f"{longer} has {number - 1 + lines:,}, this is the first without a partner"
        )

    def _checked(self, number: int, source: bytes, target: bytes) -> LinePair:
        """A pair of lines: decoded, or with its problem."""
        texts = []
        for side, line in (("source", source), ("target", target)):
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = f"byte 0x{line[error.start]:02x} at position {error.start + 1}"
                problem = f"{self.name(side)}:{number}: expected UTF-8, got {byte}"
                return LinePair(number, source, target, "invalid", problem, names=self._names)
            if not text.strip(BLANK_CHARACTERS):
                problem = f"{self.name(side)}:{number}: expected a sentence, got an empty line"
                return LinePair(number, source, target, "empty", problem, names=self._names)
            texts.append(text)
        return LinePair(number, source, target, texts=(texts[0], texts[1]), names=self._names)


def as_pairs(pairs: Any, on_bad_line: str = "error") -> Pairs:
    """Pairs as they are, anything else by ``Pairs(pairs)``."""
    return pairs if isinstance(pairs, Pairs) else Pairs(pairs, on_bad_line=on_bad_line)


def _two_sides(pairs: Any) -> tuple[list[str], list[str]]:
    """(sources, targets) of an iterable of pairs."""
    if isinstance(pairs, (str, os.PathLike)) or not isinstance(pairs, Iterable):
        raise UsageError(
            f"pairs: expected pairs (source, target) of str, got {str(pairs)[:60]!r}; for two"
            " files: Pairs(source, target)"
        )
    sides: tuple[list[str], list[str]] = ([], [])
    for number, pair in enumerate(pairs, start=1):
        if not isinstance(pair, (list, tuple)) or len(pair) != 2:
            raise UsageError(
                f"pairs:{number}: expected a pair (source, target) of str, got {str(pair)[:60]!r};"
                " for two lists of sentences: Pairs(sources, targets)"
            )
        for lines, side, text in zip(sides, SIDES, pair):
            lines.append(_text(text, number, side))
    return sides


def _text(text: Any, number: int, side: str) -> str:
    """A text that is held in Python."""
    if not isinstance(text, str):
        raise UsageError(
            f"{side}:{number}: expected a sentence as str, got {type(text).__name__}"
            f" {str(text)[:60]!r}"
        )
    return text


def _readable_again(side: Any) -> Any:
    """A side that can be read more than once: a generator becomes a list."""
    return list(side) if isinstance(side, Iterator) else side
