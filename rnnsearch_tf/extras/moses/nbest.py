"""Moses n-best lists, ``id ||| text ||| features ||| score``: read them sentence by sentence, add
the model's score as a feature.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import read_lines

if TYPE_CHECKING:
    from rnnsearch_tf.translation import Translator

SEPARATOR = " ||| "
TEXT, FEATURES, SCORE = 1, 2, 3
FEATURE = "RNN="


@dataclasses.dataclass(frozen=True)
class Entry:
    """One hypothesis: the number of its sentence, from 0, and the unchanged fields of its line."""

    sentence: int
    fields: tuple[str, ...]  # Moses may add further fields after the first four

    @property
    def text(self) -> str:
        """The translation."""
        return self.fields[TEXT]

    @property
    def score(self) -> float:
        """The total score."""
        return float(self.fields[SCORE])

    def with_feature(self, value: float) -> str:
        """The line with the model's score appended to its features."""
        features = f"{self.fields[FEATURES].rstrip()} {FEATURE} {value:.6f}"
        return SEPARATOR.join((*self.fields[:FEATURES], features, *self.fields[FEATURES + 1 :]))


def read_nbest(path: str | os.PathLike[str], sentences: int | None = None) -> Iterator[list[Entry]]:
    """Read the n-best list of each sentence, in order.

    Args:
        path: a plain or gzip file.
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
    entries = _entries(path, math.inf if sentences is None else sentences)
    for _, of_sentence in itertools.groupby(entries, lambda entry: entry.sentence):
        yield list(of_sentence)


def _entries(path: str | os.PathLike[str], sentences: float) -> Iterator[Entry]:
    last = 0
    for number, line in enumerate(read_lines(path), start=1):
        fields = tuple(line.split(SEPARATOR))
        try:
            sentence, _ = int(fields[0]), float(fields[SCORE])
        except (ValueError, IndexError):
            raise UserError(
                f"{path}:{number}: expected `id ||| text ||| features ||| score`, got {line[:60]!r}"
            ) from None
        if not last <= sentence < sentences:
            raise UserError(
                f"{path}:{number}: expected the number of a source sentence, in order, got"
                f" {sentence} after {last}; sort the list, and check --source"
            )
        last = sentence
        yield Entry(sentence, fields)


def rescored(
    translator: Translator,
    sources: Sequence[str],
    lists: Iterator[list[Entry]],
) -> Iterator[list[str]]:
    """Yield the lines of each sentence with the natural logarithm of p(text | source) as a feature,
    the end symbol included.

    Args:
        sources: the source sentences, Moses tokens as the lists.
        lists: of :func:`read_nbest`.
    """
    for entries in lists:
        texts = list(dict.fromkeys(entry.text for entry in entries))  # each is scored once
        source = [sources[entries[0].sentence]] * len(texts)
        scores = dict(zip(texts, translator.score(source, texts, tokenized=True)))
        yield [entry.with_feature(scores[entry.text]) for entry in entries]
