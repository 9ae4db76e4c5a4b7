"""The model's score as new columns of a Moses phrase table (Cho et al. 2014a, §3.1)."""

from __future__ import annotations

import array
import itertools
import math
import os

import numpy as np

from rnnsearch_tf.data.phrase_table import SCORES, SEPARATOR, read_table
from rnnsearch_tf.errors import UserError

NEW_SCORES = 2
LINES_AT_ONCE = 8192
"""Lines read, sorted by length and scored together: what bounds the memory."""


class PhraseTable:
    """A table on disk, read and checked once when this is made.

    Args:
        path: plain or .gz file.

    Attributes:
        lines: how many.
        scores: how many a line has.

    Raises:
        UserError: see `read_table`; or the table is empty, or a pipe.
    """

    def __init__(self, path):
        if os.path.exists(path) and not os.path.isfile(path) and not os.path.isdir(path):
            raise UserError(
                f"{path}: expected a file, which is read twice, got a pipe; write it to a file"
                " first"
            )
        self.path = path
        hashes = array.array("q")  # 8 bytes a line
        pair = None
        for pair in read_table(path):
            hashes.append(hash(pair.phrases))
        if pair is None:
            raise UserError(f"{path}: expected a phrase table, got an empty file")
        self.lines, self.scores = len(hashes), len(pair.fields[SCORES].split())
        values, counts = np.unique(np.frombuffer(hashes, np.int64), return_counts=True)
        self._repeated = set(values[counts > 1].tolist())

    def scored(self, score):
        """Yield every line with two scores added behind the others, as bytes; the rest as it was.

        The first is p(target | source), end symbol included; the second e^n for n words, of both
        sides, that the model does not know: Moses takes the logarithm of every score, so its
        features are log p and n.

        Args:
            score: function of (list of source phrases, list of target phrases), str, that returns a
                ScoredPair for each. It is asked for each distinct pair once.
        """
        known = {}  # pairs that come again; others need not be remembered
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


def moses_ini_line(path, scores) -> str:
    """What the section [feature] of moses.ini says of a table with so many scores."""
    return (
        f"PhraseDictionaryMemory name=TranslationModel0 num-features={scores} path={path} "
        "input-factor=0 output-factor=0"
    )


def _columns(scored) -> bytes:
    return f" {math.exp(scored.log_probability):.6g} {math.exp(scored.unknown_words):.6g}".encode()
