"""Parallel text, line by line: plain or .gz files, or lists, checked while they stream."""

from __future__ import annotations

import dataclasses
import itertools
import os
from collections.abc import Iterator

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import read_bytes
from rnnsearch_tf.text.characters import BLANK_CHARACTERS

_REMEMBERED = 5  # bad lines named in a report; the rest are counted


@dataclasses.dataclass
class Report:
    """What one pass over the pairs met.

    Attributes:
        kept: pairs that can be used.
        invalid, empty: pairs left out because a side is not UTF-8, or has no text.
        unpaired: lines at the end of the longer side, which have no partner.
        too_long: pairs left out of training by the length limits (filled by the dataset's first
            epoch).
        examples: the first few bad lines, as ``file:line: problem``.
    """

    kept: int = 0
    invalid: int = 0
    empty: int = 0
    unpaired: int = 0
    too_long: int = 0
    examples: list[str] = dataclasses.field(default_factory=list)

    def __add__(self, other):
        """The report of both passes together."""
        counts = {
            name: getattr(self, name) + getattr(other, name)
            for name in ("kept", "invalid", "empty", "unpaired", "too_long")
        }
        return Report(**counts, examples=[*self.examples, *other.examples][:_REMEMBERED])

    @property
    def skipped(self):
        """Pairs and lines left out because they are bad."""
        return self.invalid + self.empty + self.unpaired

    def __str__(self):
        counts = [
            (self.invalid, "with invalid UTF-8"),
            (self.empty, "with an empty line"),
            (self.unpaired, "lines without a partner"),
            (self.too_long, "too long"),
        ]
        left_out = ", ".join(f"{count:,} {what}" for count, what in counts if count)
        first = f" (first: {self.examples[0]})" if self.examples else ""
        return f"{self.kept:,} pairs kept" + (f"; left out: {left_out}{first}" if left_out else "")


@dataclasses.dataclass(frozen=True)
class Scanned:
    """One line of both sides: its number from 1, the bytes of each side (None: that side has
    ended), and what is wrong.

    At the end of the shorter side, one of these stands for all remaining `lines`. `links` are (file
    and line, Pharaoh links) where the corpus has some, see links.py.

    `kind` is None for a good pair, else "invalid", "empty" or "unpaired";
    `problem` says where and what, for a person; `texts` are both sides of a good pair, decoded.
    """

    number: int
    source: bytes | None
    target: bytes | None
    kind: str | None = None
    problem: str | None = None
    lines: int = 1
    texts: tuple[str, str] | None = None
    links: tuple[str, str] | None = None


class Pairs:
    """Sentence pairs in two files or two lists, read as a stream, as often as asked.

    Iterating yields (source, target) texts, str, of the good pairs in order; :meth:`lines` yields
    the same as bytes. A bad pair (invalid UTF-8, an empty line, a line without partner) raises
    UserError naming file and line, or, under ``on_bad_line="skip"``, is left out and
    counted in :attr:`report`. A pass without one good pair ends with a UserError.

    Args:
        source, target: path of a plain or .gz file, or a list of str.
        on_bad_line: "error" or "skip".

    Attributes:
        corpora: list of (Pairs, weight), the corpora that these are put together from, see
            mixture.py; of one corpus itself.
        shards: list of Pairs, those of each of its files where it is in several; else itself.

    Example:
        >>> pairs = Pairs(["a house", " "], ["une maison", "un"], on_bad_line="skip")
        >>> list(pairs), pairs.report.empty
        ([('a house', 'une maison')], 1)
    """

    linked = False  # whether its lines have links

    def __init__(
        self,
        source: str | os.PathLike | list,
        target: str | os.PathLike | list,
        on_bad_line: str = "error",
    ):
        self.source = source
        self.target = target
        self.on_bad_line = on_bad_line
        self.corpora = [(self, 1.0)]
        self.shards = [self]
        self.report = None

    def __iter__(self):
        return (scanned.texts for scanned in self.good())

    def lines(self) -> Iterator[tuple[bytes, bytes]]:
        """Yield (source, target) of the good pairs as bytes of UTF-8, which TensorFlow takes as
        they are.
        """
        return ((scanned.source, scanned.target) for scanned in self.good())

    def good(self) -> Iterator[Scanned]:
        """Yield the good pairs as :class:`Scanned`; at the end the pass is in :attr:`report`.

        Raises:
            UserError: a bad line under ``on_bad_line="error"``, a file that cannot be read, or no
                good pair at all.
        """
        report = Report()
        for scanned in self.scan():
            if scanned.kind is None:
                report.kept += 1
                yield scanned
                continue
            if self.on_bad_line == "error":
                raise UserError(f"{scanned.problem}; correct it, or set data.on_bad_line=skip")
            setattr(report, scanned.kind, getattr(report, scanned.kind) + scanned.lines)
            if len(report.examples) < _REMEMBERED:
                report.examples.append(scanned.problem)
        if self.report is not None:
            report.too_long = self.report.too_long
        self.take_report(report)

    def check(self) -> Report:
        """The report of the last pass; reads everything once where there was none. Errors as of
        :meth:`good`.
        """
        if self.report is None:
            for _ in self.good():
                pass
        return self.report

    def take_report(self, report: Report) -> None:
        """Take the report of a pass that others made, so that :meth:`check` needs none. Errors as
        of :meth:`good`.
        """
        self._require_one(report)
        self.report = report

    def name(self, side: str) -> str:
        """What messages call one side: its path, or for a list "source" or "target"."""
        value = getattr(self, side)
        return os.fspath(value) if isinstance(value, (str, os.PathLike)) else side

    def scan(self) -> Iterator[Scanned]:
        """Yield every line of both sides as :class:`Scanned`, good or bad; raise only for files
        that cannot be read.
        """
        sides = itertools.zip_longest(self._bytes("source"), self._bytes("target"))
        for number, (source, target) in enumerate(sides, start=1):
            if source is None or target is None:
                lines = 1 + sum(1 for _ in sides)
                yield Scanned(
                    number,
                    source,
                    target,
                    "unpaired",
                    self._unpaired(number, lines, source is None),
                    lines,
                )
                return
            yield self._checked(number, source, target)

    def _bytes(self, side):
        value = getattr(self, side)
        if isinstance(value, (str, os.PathLike)):
            return read_bytes(value)
        return (text.encode("utf-8", "surrogatepass") for text in value)

    def _require_one(self, bad):
        """Raise UserError for a corpus without one good pair."""
        if bad.kept:
            return
        where = f"{self.name('source')}, {self.name('target')}"
        found = (
            f"got {bad.skipped:,} bad lines; the first: {bad.examples[0]}"
            if bad.skipped
            else "both files are empty"
        )
        raise UserError(
            f"{where}: expected at least one sentence pair, {found}; check the paths and the files"
        )

    def _unpaired(self, number, lines, source_ended):
        shorter, longer = ("source", "target") if source_ended else ("target", "source")
        shorter = self.name(shorter)
        longer = self.name(longer)
        return (
            f"{longer}:{number}: expected as many lines as in {shorter}, which has {number - 1:,}; "
            f"{longer} has {number - 1 + lines:,}, this is the first without a partner"
        )

    def _checked(self, number, source, target) -> Scanned:
        """A pair of lines, decoded, or with what is wrong with it."""
        texts = []
        for side, line in (("source", source), ("target", target)):
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                byte = f"byte 0x{line[error.start]:02x} at position {error.start + 1}"
                return Scanned(
                    number,
                    source,
                    target,
                    "invalid",
                    f"{self.name(side)}:{number}: expected UTF-8, got {byte}",
                )
            if not text.strip(BLANK_CHARACTERS):
                return Scanned(
                    number,
                    source,
                    target,
                    "empty",
                    f"{self.name(side)}:{number}: expected a sentence, got an empty line",
                )
            texts.append(text)
        return Scanned(number, source, target, texts=tuple(texts))
