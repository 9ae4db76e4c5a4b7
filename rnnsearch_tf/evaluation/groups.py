"""Scores of groups of sentences: by length, by word frequency, by number of unknown words."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from rnnsearch_tf.config import SPECIAL_TOKENS, UNKNOWN_ID
from rnnsearch_tf.evaluation.bleu import References, bleu, chosen_references, chrf, streams
from rnnsearch_tf.text.pipeline import Text

RANK_GROUPS = 5
MANY_UNKNOWN = 3
"""Sentences with this many unknown words or more form one group."""

Group = dict[str, Any]
"""Limits of a group, its number of "sentences", and their "bleu" and "chrf" in percent."""


def average_ranks(text: Text, lines: Sequence[str]) -> list[float]:
    """The average frequency rank of the words of each line, as in Figure 3 of Sutskever et al.
    2014.

    The rank of a word is its position in the vocabulary, from 1, most frequent first; unknown words
    have the rank after the last. The end symbol does not count; a line without words has 0.

    Args:
        text: a side of the model.
        lines: the sentences of that side.
    """
    first = len(SPECIAL_TOKENS)
    unknown = text.vocabulary.size - first + 1
    rows = [
        [unknown if word == UNKNOWN_ID else word - first + 1 for word in ids[:-1]]
        for ids in text.encode(lines).to_list()
    ]
    return [sum(row) / len(row) if row else 0.0 for row in rows]


def by_length(
    hypotheses: Sequence[str],
    references: References,
    source_lengths: Sequence[int],
    width: int = 10,
    lowercase: bool = False,
    tokenize: str = "13a",
) -> list[Group]:
    """BLEU and chrF by source length, as in Figure 2 of the paper.

    Args:
        hypotheses, references, lowercase, tokenize: as for `bleu`.
        source_lengths: tokens of each source sentence, without the end symbol.
        width: lengths in a group: 1 to `width`, `width` + 1 to 2 `width`, …

    Returns:
        list of {"shortest", "longest": tokens, "sentences", "bleu", "chrf"}, shortest first; a
        length of 0 belongs to the first group.
    """
    references = streams(references)
    groups = np.maximum(np.asarray(source_lengths) - 1, 0) // width
    return [
        {"shortest": int(n) * width + 1, "longest": (int(n) + 1) * width}
        | _scores(hypotheses, references, np.flatnonzero(groups == n), lowercase, tokenize)
        for n in np.unique(groups)
    ]


def by_frequency_rank(
    hypotheses: Sequence[str],
    references: References,
    ranks: Sequence[float],
    lowercase: bool = False,
    tokenize: str = "13a",
) -> list[Group]:
    """BLEU and chrF of five groups of sentences of equal size, those with the most frequent words
    first.

    Args:
        hypotheses, references, lowercase, tokenize: as for `bleu`.
        ranks: :func:`average_ranks` of the sentences.

    Returns:
        list of {"lowest", "highest": average rank in the group, "sentences", "bleu", "chrf"}; fewer
        groups if there are fewer than five sentences.
    """
    references = streams(references)
    order = np.argsort(ranks, kind="stable")
    groups = [members for members in np.array_split(order, RANK_GROUPS) if len(members)]
    return [
        {"lowest": float(ranks[members[0]]), "highest": float(ranks[members[-1]])}
        | _scores(hypotheses, references, members, lowercase, tokenize)
        for members in groups
    ]


def by_unknown_words(
    hypotheses: Sequence[str],
    references: References,
    numbers: Sequence[int],
    lowercase: bool = False,
    tokenize: str = "13a",
) -> list[Group]:
    """BLEU and chrF by the number of unknown words.

    Args:
        hypotheses, references, lowercase, tokenize: as for `bleu`.
        numbers: unknown words of each sentence.

    Returns:
        list of {"fewest", "most": unknown words, None for no limit, "sentences", "bleu", "chrf"}.
    """
    references = streams(references)
    groups = np.minimum(numbers, MANY_UNKNOWN)
    return [
        {"fewest": int(n), "most": int(n) if n < MANY_UNKNOWN else None}
        | _scores(hypotheses, references, np.flatnonzero(groups == n), lowercase, tokenize)
        for n in np.unique(groups)
    ]


def _scores(
    hypotheses: Sequence[str],
    references: References,
    members: np.ndarray,
    lowercase: bool,
    tokenize: str,
) -> Group:
    chosen = [hypotheses[i] for i in members]
    lists = chosen_references(references, members)
    return {
        "sentences": len(members),
        "bleu": bleu(chosen, lists, tokenize, lowercase).score,
        "chrf": chrf(chosen, lists, lowercase).score,
    }
