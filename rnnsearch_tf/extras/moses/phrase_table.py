"""Add the model's scores to a Moses phrase table as new columns (Cho et al. 2014a, §3.1)."""

from __future__ import annotations

import array
import itertools
import math
import os
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rnnsearch_tf.data.phrase_table import SCORES, SEPARATOR, read_table
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.streams import check_readable_again

if TYPE_CHECKING:
    from rnnsearch_tf.translation.results import ScoredPair

NEW_SCORES = 2
MOST_UNKNOWN = 700
"""e to a larger number of unknown words is no longer finite."""

LINES_AT_ONCE = 8192
"""Lines that are read, sorted by length and scored in one block; this limits the memory."""


class PhraseTable:
    """A phrase table on disk, read and checked by the constructor.

    Args:
        path: plain or .gz file.

    Attributes:
        lines: number of lines.
        scores: number of scores in a line.

    Raises:
        UserError: see `read_table`; or the table is empty, or a pipe.
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        check_readable_again(path)
        self.path = path
        hashes = array.array("q")  # 8 bytes a line
        pair = None
        for pair in read_table(path):
            hashes.append(hash(pair.phrases))
        if pair is None:
            raise UserError(f"{path}: expected a phrase table, got an empty file")
        self.lines = len(hashes)
        self.scores = len(pair.fields[SCORES].split())
        values, counts = np.unique(np.frombuffer(hashes, np.int64), return_counts=True)
        self._repeated = set(values[counts > 1].tolist())

    def scored(
        self, score: Callable[[list[str], list[str]], Sequence[ScoredPair]]
    ) -> Iterator[bytes]:
        """Yield every line with two scores appended; the rest of the line is unchanged.

        The first score is p(target | source), including the end symbol; the second is e^n for n
        unknown words on both sides. Moses takes the logarithm of every score, so that its features
        are log p and n.

        Args:
            score: computes a ScoredPair for each pair of (source phrases, target phrases). It is
                called once for each distinct pair.
        """
        known: dict[tuple[bytes, ...], bytes] = {}  # columns of pairs that occur again
        pairs = read_table(self.path)
        while block := list(itertools.islice(pairs, LINES_AT_ONCE)):
            new = [
                phrases
                for phrases in dict.fromkeys(pair.phrases for pair in block)
                if phrases not in known
            ]
            texts = [
                [phrases[side].decode("utf-8", "replace") for phrases in new] for side in (0, 1)
            ]
            results = dict(zip(new, map(_columns, score(*texts)), strict=True)) if new else {}
            for pair in block:
                columns = known.get(pair.phrases) or results[pair.phrases]
                fields = list(pair.fields)
                fields[SCORES] = fields[SCORES].rstrip() + columns
                yield SEPARATOR.join(fields) + b"\n"
            known |= {
                phrases: columns
                for phrases, columns in results.items()
                if hash(phrases) in self._repeated
            }


def moses_ini_line(path: str | os.PathLike[str], scores: int) -> str:
    """The line of moses.ini's section [feature] for a table with this number of scores."""
    return (
        f"PhraseDictionaryMemory name=TranslationModel0 num-features={scores} path={path} "
        "input-factor=0 output-factor=0"
    )


def _columns(scored) -> bytes:
    unknown_words = min(scored.unknown_words, MOST_UNKNOWN)
    return f" {math.exp(scored.log_probability):.6g} {math.exp(unknown_words):.6g}".encode()
