"""BLEU and chrF, computed by sacreBLEU and reported with its signatures.

The papers report multi-bleu.perl on tokenized text; that is
`bleu(..., tokenize="none")` on tokens joined by spaces. It differs from the script in three cases:

- An order without a right n-gram: the script says 0, sacreBLEU smooths (``smooth:exp``).
- ``lowercase``: the script's -lc changes the letters A to Z alone, sacreBLEU also É to é.
- No-break spaces in a token: the script keeps them, sacreBLEU cuts there. No tokenization of this
  package leaves one in a token.

Everything else here is on detokenized text as it is given, with sacreBLEU's own tokenization (13a;
see :func:`tokenizer_for`).
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import sacrebleu

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.text import languages

References = Iterable[str] | Iterable[Sequence[str]]
"""One reference for each sentence, or several lists of such references."""

GROUP_WIDTH = 10
"""Lengths in a group of :func:`by_length`: 1 to 10, 11 to 20, …"""


@dataclasses.dataclass(frozen=True)
class Score:
    """A corpus score in percent, with its name and its sacreBLEU signature."""

    name: str
    score: float
    signature: str

    def __str__(self) -> str:
        return f"{self.name} {self.score:.2f}"


def tokenizer_for(language: str) -> str:
    """sacreBLEU's tokenizer for text in a language, by its code.

    13a splits at spaces and punctuation, so it cannot be used for scripts without spaces.

    Returns:
        ``13a``; for languages without spaces between words ``zh`` (Chinese) or ``char``, which
        makes each character a token (others).

    Example:
        >>> tokenizer_for("ja")
        'char'
    """
    language = languages.base(language)
    if language not in languages.UNSEGMENTED:
        return "13a"
    return "zh" if language in languages.CHINESE else "char"


@functools.cache
def _bleu_metric(tokenize: str, lowercase: bool) -> sacrebleu.BLEU:
    """The metric shared by all evaluations of a training: each sacreBLEU metric caches the lines it
    has tokenized, so new metrics would cache them again.
    """
    # `force` suppresses sacreBLEU's warning about tokenized text, which refers to an option of its
    # command line.
    return sacrebleu.BLEU(tokenize=tokenize, lowercase=lowercase, force=True)


def streams(references: References) -> list[list[str]]:
    """References as sacreBLEU takes them: one list for each set of references."""
    lists = list(references)
    lines_of_one = [line for line in lists if isinstance(line, str)]
    if len(lines_of_one) == len(lists):
        return [lines_of_one]
    return [list(lines) for lines in lists]


def bleu(
    hypotheses: Sequence[str],
    references: References,
    tokenize: str = "13a",
    lowercase: bool = False,
) -> Score:
    """BLEU of a corpus, in percent.

    Args:
        hypotheses: one translation for each sentence.
        references: one reference for each sentence, or a list of several such lists.
        tokenize: sacreBLEU tokenizer: ``none`` for tokens joined by spaces; for detokenized text
            see :func:`tokenizer_for`.
        lowercase: compare without case; the signature records it.

    Raises:
        UserError: the lists differ in length or are empty.

    Example:
        >>> bleu(["the cat sat on the mat"], ["the cat sat on the mat"]).score > 99.9
        True
    """
    return _score(_bleu_metric(tokenize, lowercase), hypotheses, references)


def chrf(hypotheses: Sequence[str], references: References) -> Score:
    """chrF2 of a corpus, in percent; arguments and errors as for `bleu`."""
    return _score(sacrebleu.CHRF(), hypotheses, references)


def by_length(
    hypotheses: Sequence[str],
    references: References,
    source_lengths: Sequence[int],
    tokenize: str = "13a",
) -> list[dict[str, Any]]:
    """BLEU and chrF by source length, as in Figure 2 of the paper.

    Args:
        hypotheses, references, tokenize: as for `bleu`.
        source_lengths: tokens of each source sentence, without the end symbol.

    Returns:
        list of {"shortest", "longest": tokens, "sentences", "bleu", "chrf": in percent}, shortest
        first; a length of 0 belongs to the first group.
    """
    lists = streams(references)
    numbers = np.maximum(np.asarray(source_lengths) - 1, 0) // GROUP_WIDTH
    groups = []
    for number in np.unique(numbers):
        members = np.flatnonzero(numbers == number).tolist()
        chosen = [hypotheses[k] for k in members]
        theirs = [[lines[k] for k in members] for lines in lists]
        groups.append(
            {
                "shortest": int(number) * GROUP_WIDTH + 1,
                "longest": (int(number) + 1) * GROUP_WIDTH,
                "sentences": len(members),
                "bleu": bleu(chosen, theirs, tokenize).score,
                "chrf": chrf(chosen, theirs).score,
            }
        )
    return groups


def _score(metric: Any, hypotheses: Sequence[str], references: References) -> Score:
    lists = streams(references)
    for lines in lists:
        if len(hypotheses) != len(lines):
            raise UserError(
                f"expected as many references as translations, got {len(lines)} and"
                f" {len(hypotheses)}"
            )
    if not hypotheses:
        raise UserError("expected at least one sentence to evaluate, got none")
    result = metric.corpus_score(hypotheses, lists)
    return Score(result.name, result.score, str(metric.get_signature()))
