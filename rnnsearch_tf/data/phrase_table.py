"""Moses phrase tables, ``source ||| target ||| scores ||| alignment ||| counts``, read line by line
or as training text.
"""

from __future__ import annotations

import dataclasses
import math
import os
from collections.abc import Iterator

from rnnsearch_tf.data.pairs import SIDES, LinePair, Pairs
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import read_raw
from rnnsearch_tf.text.escapes import unescape_bytes

SEPARATOR = b" ||| "
SCORES = 2
"""Place of the scores among the fields; source and target come before."""

_EXPECTED = "expected `source ||| target ||| scores …`"


@dataclasses.dataclass(frozen=True)
class PhrasePair:
    """One line of a table: its raw fields, bytes; Moses may write more after the first three."""

    fields: tuple[bytes, ...]

    @property
    def phrases(self) -> tuple[bytes, bytes]:
        """(source, target), raw."""
        return self.fields[0], self.fields[1]


def read_table(path: str | os.PathLike[str]) -> Iterator[PhrasePair]:
    """Yield a PhrasePair for each line of a table, plain or .gz, one in memory at a time.

    Raises:
        UserError: the file cannot be read; or, with file and line, a field is missing, a phrase is
            empty, a score is not a number, or the number of scores differs from the first line.
    """
    expected = None
    for number, line in enumerate(read_raw(path), start=1):
        try:
            pair = parse_pair(line)
            count = len(pair.fields[SCORES].split())
            expected = count if expected is None else expected
            if count != expected:
                raise UserError(f"expected {expected} scores, as in line 1, got {count}")
        except UserError as error:
            raise UserError(f"{path}:{number}: {error}; correct or remove the line") from None
        yield pair


def parse_pair(line: bytes) -> PhrasePair:
    """Parse and check a line; UserError if it is malformed."""
    fields = tuple(line.split(SEPARATOR))
    if len(fields) <= SCORES:
        raise UserError(f"{_EXPECTED}, got {len(fields)} field(s)")
    for phrase, side in zip(fields, SIDES):
        if not phrase.strip():
            raise UserError(f"{_EXPECTED}, got an empty {side} phrase")
    for score in fields[SCORES].split():
        if not is_number(score):
            raise UserError(f"{_EXPECTED}, got the score {shown(score)}, not a number")
    return PhrasePair(fields)


class PhrasePairs(Pairs):
    """The distinct phrase pairs of a table, as training text.

    Each pair is used once, however often it occurs; scores and counts are ignored (Cho et al.
    2014a, §3.1). Moses escapes are undone; phrases are tokens joined by spaces, for
    ``tokenization: space``.

    Args:
        table: path of a plain or .gz file.
        on_bad_line: "error" or "skip".
    """

    def __init__(self, table: str | os.PathLike[str], on_bad_line: str = "error"):
        super().__init__(table, table, on_bad_line)
        self.table = table

    def scan(self) -> Iterator[LinePair]:
        """Yield the first line of every distinct pair, and every bad line."""
        seen = set()
        for number, line in enumerate(read_raw(self.table), start=1):
            try:
                phrases = parse_pair(line).phrases
            except UserError as error:
                problem = f"{self.name('source')}:{number}: {error}"
                yield LinePair(number, b"", b"", "malformed", problem, names=self._names)
                continue
            if hash(phrases) in seen:  # 64 bits a pair
                continue
            seen.add(hash(phrases))
            source, target = map(unescape_bytes, phrases)
            yield self._checked(number, source, target)


def is_number(text: bytes) -> bool:
    """Whether the text is a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def shown(text: bytes) -> str:
    """Bytes as shown in error messages."""
    return repr(text.decode("utf-8", "replace")[:60])
