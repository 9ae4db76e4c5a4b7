"""Moses phrase tables, ``source ||| target ||| scores ||| alignment ||| counts``: read line by
line, and trained on.
"""

from __future__ import annotations

import dataclasses
import math

from rnnsearch_tf.data.pairs import Pairs, Scanned
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import read_raw
from rnnsearch_tf.text.escapes import unescape_bytes

SEPARATOR = b" ||| "
SOURCE = 0
TARGET = 1
SCORES = 2
_EXPECTED = "expected `source ||| target ||| scores …`"


@dataclasses.dataclass(frozen=True)
class PhrasePair:
    """One line of a table: its fields as they stood, bytes; Moses may put more behind the first
    three.
    """

    fields: tuple

    @property
    def phrases(self) -> tuple:
        """(source, target), as they stood."""
        return self.fields[:SCORES]


def read_table(path):
    """Yield a PhrasePair for each line of a table, plain or .gz, one in memory at a time.

    Raises:
        UserError: with file and line, where a field is missing, a phrase is empty, a score is no
            number, or a line has more or fewer scores than the first; and for files that cannot be
            read.
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
            raise UserError(f"{path}:{number}: {error}") from None
        yield pair


def parse_pair(line) -> PhrasePair:
    """The PhrasePair of a line, checked."""
    fields = tuple(line.split(SEPARATOR))
    if len(fields) <= SCORES:
        raise UserError(f"{_EXPECTED}, got {len(fields)} field(s)")
    for place, side in ((SOURCE, "source"), (TARGET, "target")):
        if not fields[place].strip():
            raise UserError(f"{_EXPECTED}, got an empty {side} phrase")
    for score in fields[SCORES].split():
        if not is_number(score):
            raise UserError(f"{_EXPECTED}, got the score {shown(score)}; expected a number")
    return PhrasePair(fields)


class PhrasePairs(Pairs):
    """The distinct phrase pairs of a table, as training text.

    Each pair comes once, wherever and however often it stands in the table, and its scores and
    counts are not looked at (Cho et al. 2014a, §3.1). Moses escapes are undone; the phrases are
    tokens with spaces between, for ``tokenization: space``.

    Args:
        table: path of a plain or .gz file.
        on_bad_line: "error" or "skip".
    """

    def __init__(self, table, on_bad_line="error"):
        super().__init__(table, table, on_bad_line)

    def scan(self):
        """Yield the first line of every pair, and every bad line, as Scanned."""
        seen = set()
        for number, line in enumerate(read_raw(self.source), start=1):
            try:
                phrases = parse_pair(line).phrases
            except UserError as error:
                yield Scanned(
                    number, None, None, "unpaired", f"{self.name('source')}:{number}: {error}"
                )
                continue
            if hash(phrases) in seen:  # 64 bits a pair
                continue
            seen.add(hash(phrases))
            source, target = map(unescape_bytes, phrases)
            yield self._checked(number, source, target)


def is_number(text) -> bool:
    """Whether bytes are a finite number."""
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def shown(text) -> str:
    """Bytes as an error message shows them."""
    return repr(text.decode("utf-8", "replace"))
