"""Add the model's scores to a Moses phrase table, ``source ||| target ||| scores ||| …``, as new
columns (Cho et al. 2014a, §3.1).
"""

from __future__ import annotations

import itertools
import math
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.moses.nbest import SEPARATOR
from rnnsearch_tf.files.reading import read_lines

if TYPE_CHECKING:
    from rnnsearch_tf.translation import Translator
    from rnnsearch_tf.translation.results import ScoredPair

SCORES = 2
"""Place of the scores among the fields."""
LINES_AT_ONCE = 8192
"""Lines that are read, sorted by length and scored in one block; this limits the memory."""


def scored(translator: Translator, path: str | os.PathLike[str]) -> Iterator[list[str]]:
    """Yield the lines of a table, many at a time, with two scores appended; the rest of a line is
    unchanged.

    The first score is p(target | source), including the end symbol; the second is e^n for n unknown
    words on both sides. Moses takes the logarithm of every score, so that its features are log p
    and n.

    Args:
        path: a plain or gzip file of tokens.

    Raises:
        UserError: the file cannot be read, or a line has fewer than three fields.
    """
    lines = enumerate(read_lines(path), start=1)
    while block := list(itertools.islice(lines, LINES_AT_ONCE)):
        rows = [_fields(path, *line) for line in block]
        phrases = list(dict.fromkeys((row[0], row[1]) for row in rows))  # each pair once
        sources, targets = zip(*phrases)
        pairs = translator.score_targets(sources, targets, tokenized=True)
        columns = dict(zip(phrases, map(_columns, pairs)))
        for row in rows:
            row[SCORES] = row[SCORES].rstrip() + columns[row[0], row[1]]
        yield [SEPARATOR.join(row) for row in rows]


def _fields(path: str | os.PathLike[str], number: int, line: str) -> list[str]:
    fields = line.split(SEPARATOR)
    if len(fields) <= SCORES:
        raise UserError(
            f"{path}:{number}: expected `source ||| target ||| scores …`, got {len(fields)}"
            " field(s); correct or remove the line"
        )
    return fields


def _columns(pair: ScoredPair) -> str:
    return f" {math.exp(pair.log_probability):.6g} {math.exp(pair.unknown_words):.6g}"
