"""Compare an imported model with what the other program made of the same sentences."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.reading import read_lines
from rnnsearch_tf.translation.translator import Translator

NEAR = 1e-3
"""Largest difference of the log-probabilities of a sentence: float32 keeps seven digits of each of
30 words or so.
"""


class Sentences(NamedTuple):
    """What the other program made of each source; log_probabilities is empty if not known."""

    sources: list[str]
    targets: list[str]
    log_probabilities: list[float]


def compare(translator: Translator, sentences: Sentences) -> tuple[list[str], bool]:
    """Compare log-probabilities and translations.

    Args:
        translator: the imported model.
        sentences: what the other program made of them.

    Returns:
        (lines that say how many translations are equal and by how much log-probabilities differ;
        whether the log-probabilities are equal, or were not given).
    """
    sources, targets, expected = sentences
    found = [translation.text for translation in translator.translate(sources)]
    equal = sum(ours == theirs for ours, theirs in zip(found, targets))
    lines = [f"check: {equal} of {len(sources)} translations are equal"]
    if not expected:
        return lines, True
    scores = translator.score(sources, targets)
    differences = np.abs(np.array(scores) - expected)
    worst = int(differences.argmax())
    lines.append(
        f"check: log-probabilities differ by at most {differences[worst]:.2g}, in line {worst + 1}:"
        f" {scores[worst]:.6f} here, {expected[worst]:.6f} there"
    )
    return lines, bool(differences[worst] <= NEAR)


def read_sentences(path: AnyPath) -> Sentences:
    """Read the sentences to compare.

    Args:
        path: a file of lines ``source TAB translation``, or ``source TAB translation TAB
            log-probability``: natural logarithms, with the end symbol, not divided by the length.
            All lines have the same form.

    Raises:
        UserError: the file is missing, empty or has lines of another form.
    """
    sources: list[str] = []
    targets: list[str] = []
    scores: list[float] = []
    for number, line in enumerate(read_lines(path), start=1):
        source, *rest = line.split("\t")
        try:
            target, *rest = rest
            values = [float(value) for value in rest]
            if len(values) > 1 or not all(map(math.isfinite, values)):
                raise ValueError
            if sources and len(values) != bool(scores):
                raise ValueError
        except ValueError:
            raise UserError(
                f"{path}:{number}: expected `source TAB translation` or `source TAB translation TAB"
                f" log-probability`, like the lines before, got {line[:60]!r}"
            ) from None
        sources.append(source)
        targets.append(target)
        scores += values
    if not sources:
        raise UserError(f"{path}: expected sentences with their translations, got an empty file")
    return Sentences(sources, targets, scores)
