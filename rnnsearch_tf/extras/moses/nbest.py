"""Moses n-best lists, ``id ||| text ||| features ||| score``: read them sentence by sentence, add
features, rescore.

Lines are kept as bytes, so that unchanged fields stay identical.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterator, Sequence

from rnnsearch_tf.data.phrase_table import SEPARATOR, is_number, shown
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.reading import raw_batches

TEXT = 1
FEATURES = 2
SCORE = 3
LINES_AT_ONCE = 2000
"""Hypotheses read for one block, after the list that is not complete; this limits the memory."""

_EXPECTED = "expected `id ||| text ||| features ||| score`"
_NUMBER = re.compile(rb"\d{1,9}")
_NAME = re.compile(r"[^\s=:|]+")


@dataclasses.dataclass(frozen=True)
class Entry:
    """One hypothesis: the number of its sentence, from 0, and the unchanged fields of its line."""

    sentence: int
    fields: tuple[bytes, ...]  # Moses may add further fields after the first four

    @property
    def text(self) -> str:
        """The translation."""
        return self.fields[TEXT].decode("utf-8", "replace")

    @property
    def score(self) -> float:
        """The total score."""
        return float(self.fields[SCORE])

    @property
    def line(self) -> bytes:
        """The line of the file, with its newline."""
        return SEPARATOR.join(self.fields) + b"\n"


def read_nbest(path: str | None, sentences: int | None = None) -> Iterator[list[Entry]]:
    """Read the n-best list of each sentence, in order.

    Args:
        path: a plain or .gz file; None or ``-`` for standard input.
        sentences: number of source sentences; None: any.

    Yields:
        the hypotheses of one sentence; a sentence without hypotheses is skipped.

    Raises:
        UserError: a field is missing, a number is malformed, or the sentences are not in order
            (with file and line); or the file cannot be read.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp(), "list")
        >>> _ = path.write_bytes(b"0 ||| le chat ||| lm= -2.5 ||| -2.5" + bytes([10]))
        >>> entries = [entry for of_sentence in read_nbest(path) for entry in of_sentence]
        >>> [(entry.sentence, entry.text, entry.score) for entry in entries]
        [(0, 'le chat', -2.5)]
    """
    for block in blocks(path, sentences):
        yield from block


def blocks(
    path: str | None, sentences: int | None = None, size: int = LINES_AT_ONCE
) -> Iterator[list[list[Entry]]]:
    """Like :func:`read_nbest`, in blocks: the lists that are complete after at most `size` more
    lines, or when no input is waiting.
    """
    where = "standard input" if path in (None, "-") else str(path)
    number = last = 0
    entries: list[Entry] = []
    for lines in raw_batches(path, size):
        for number, line in enumerate(lines, start=number + 1):
            try:
                entries.append(parse(line, last, sentences))
            except UserError as error:
                raise UserError(f"{where}:{number}: {error}") from None
            last = entries[-1].sentence
        if complete := [entry for entry in entries if entry.sentence < last]:
            yield _lists(complete)
            entries = entries[len(complete) :]
    if entries:
        yield _lists(entries)


def _lists(entries) -> list[list[Entry]]:
    """The entries of each sentence."""
    of_sentences = itertools.groupby(entries, lambda entry: entry.sentence)
    return [list(of_sentence) for _, of_sentence in of_sentences]


def parse(line: bytes, last: int = 0, sentences: int | None = None) -> Entry:
    """Parse and check a line.

    Args:
        line: without its newline.
        last: sentence number of the previous line.
        sentences: number of source sentences; None: any.

    Raises:
        UserError: see :func:`read_nbest`; without file and line.
    """
    fields = tuple(line.split(SEPARATOR))
    if len(fields) <= SCORE:
        raise UserError(f"{_EXPECTED}, got {len(fields)} field(s)")
    if not _NUMBER.fullmatch(fields[0].strip()):
        raise UserError(
            f"{_EXPECTED}, got the sentence number {shown(fields[0])}; expected a whole number"
            " from 0"
        )
    sentence = int(fields[0])
    if sentence < last:
        raise UserError(
            f"expected the sentences in order, got number {sentence} after {last}; sort the list by"
            " its first field"
        )
    if sentences is not None and sentence >= sentences:
        raise UserError(
            f"expected a sentence number below {sentences}, as many as the other file has lines,"
            f" got {sentence}"
        )
    if not is_number(fields[SCORE]):
        raise UserError(f"{_EXPECTED}, got the score {shown(fields[SCORE])}; expected a number")
    for word in fields[FEATURES].split():
        if not word.endswith((b"=", b":")) and not is_number(word.rpartition(b"=")[2]):
            raise UserError(f"expected features `Name= number …`, got {shown(word)}")
    return Entry(sentence, fields)


def check_feature_name(name: str) -> str:
    """Return a feature name that is valid in a list as ``Name=``.

    Raises:
        UsageError: it contains a space, `=`, `:` or `|`.
    """
    if not _NAME.fullmatch(name):
        raise UsageError(f"--feature: expected a name without spaces, =, : or |, got {name!r}")
    return name


def add_feature(entry: Entry, name: str, value: float) -> Entry:
    """Append ``name= value`` to the features of an entry.

    Raises:
        UsageError: the entry has a feature of that name.
    """
    features = entry.fields[FEATURES].rstrip()
    if name.encode() in re.findall(rb"(\S+?)[=:]", features):
        raise UsageError(
            f"--feature: expected a name that is not in the list yet, got {name}; choose another"
        )
    space = b" " if features else b""
    return _with_field(entry, FEATURES, features + space + f"{name}= {value:.6f}".encode())


def rescore(
    entries: Sequence[Entry], values: Sequence[float], name: str, weight: float | None = None
) -> list[Entry]:
    """Add a feature to a sentence's list; with a weight, interpolate the scores with it and sort
    the list, best first.

    The new score is (1 − weight) · score + weight · value; with 0.5, it is the average of Sutskever
    et al. 2014, §3.2.

    Args:
        entries: hypotheses of one sentence.
        values: the feature of each hypothesis.
        weight: 0 to 1; None leaves scores and order unchanged.
    """
    result = [add_feature(entry, name, value) for entry, value in zip(entries, values, strict=True)]
    if weight is None:
        return result
    scores = [(1 - weight) * entry.score + weight * value for entry, value in zip(entries, values)]
    # equal scores keep their order
    order = sorted(range(len(entries)), key=lambda place: -scores[place])
    return [_with_score(result[place], scores[place]) for place in order]


def _with_score(entry, score) -> Entry:
    field = entry.fields[SCORE]
    return _with_field(entry, SCORE, field.replace(field.strip(), f"{score:.6f}".encode()))


def _with_field(entry, place, field) -> Entry:
    return Entry(entry.sentence, (*entry.fields[:place], field, *entry.fields[place + 1 :]))
