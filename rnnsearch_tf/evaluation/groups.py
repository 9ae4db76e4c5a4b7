"""Scores of sentences that have something in common: how long they are, how frequent their words
are, how many the model does not know.
"""

from __future__ import annotations

import numpy as np

from rnnsearch_tf.config import SPECIAL_TOKENS, UNKNOWN_ID
from rnnsearch_tf.evaluation.bleu import bleu, chosen_references, chrf
from rnnsearch_tf.text.pipeline import Text

RANK_GROUPS = 5
MANY_UNKNOWN = 3
"""Sentences with so many unknown words, and with more, are one group."""


def average_ranks(text: Text, lines) -> list:
    """The average frequency rank of the words of each line, as Figure 3 of Sutskever et al. 2014
    sorts by.

    The rank is the word's place in the vocabulary, whose words stand by falling frequency, from 1;
    an unknown word's is the one after the last. The end symbol does not count; a line without words
    has 0.

    Args:
        text: a side of the model.
        lines: list[str].

    Returns:
        list of float.
    """
    first = len(SPECIAL_TOKENS)
    unknown = text.vocabulary.size - first + 1
    rows = [
        [unknown if word == UNKNOWN_ID else word - first + 1 for word in ids[:-1]]
        for ids in text.encode(lines).to_list()
    ]
    return [sum(row) / len(row) if row else 0.0 for row in rows]


def by_length(
    hypotheses, references, source_lengths, width=10, lowercase=False, tokenize="13a"
) -> list:
    """BLEU and chrF by source length, as in Figure 2 of the paper.

    Args:
        hypotheses: list[str].
        references: as for `bleu`.
        source_lengths: list[int], tokens of each source sentence, the end symbol not counted.
        width: lengths that share a bucket: 1 to `width`, `width` + 1 to 2 `width`, …

    Returns:
        list of {"shortest", "longest": tokens, "sentences", "bleu", "chrf"}, shortest first; a
        length of 0 counts in the first.
    """
    groups = np.maximum(np.asarray(source_lengths) - 1, 0) // width
    return [
        {"shortest": int(n) * width + 1, "longest": (int(n) + 1) * width}
        | _scores(hypotheses, references, np.flatnonzero(groups == n), lowercase, tokenize)
        for n in np.unique(groups)
    ]


def by_frequency_rank(hypotheses, references, ranks, lowercase=False, tokenize="13a") -> list:
    """BLEU and chrF of fifths of the sentences, those of the most frequent words first.

    Returns:
        list of {"lowest", "highest": average rank in the group, "sentences", "bleu", "chrf"}; fewer
        groups where there are fewer sentences.
    """
    order = np.argsort(ranks, kind="stable")
    groups = [members for members in np.array_split(order, RANK_GROUPS) if len(members)]
    return [
        {"lowest": float(ranks[members[0]]), "highest": float(ranks[members[-1]])}
        | _scores(hypotheses, references, members, lowercase, tokenize)
        for members in groups
    ]


def by_unknown_words(hypotheses, references, numbers, lowercase=False, tokenize="13a") -> list:
    """BLEU and chrF by the number of unknown words.

    Returns:
        list of {"fewest", "most": unknown words, None for any number, "sentences", "bleu", "chrf"}.
    """
    groups = np.minimum(numbers, MANY_UNKNOWN)
    return [
        {"fewest": int(n), "most": int(n) if n < MANY_UNKNOWN else None}
        | _scores(hypotheses, references, np.flatnonzero(groups == n), lowercase, tokenize)
        for n in np.unique(groups)
    ]


def _scores(hypotheses, references, members, lowercase, tokenize):
    chosen = [hypotheses[i] for i in members], chosen_references(references, members)
    return {
        "sentences": len(members),
        "bleu": bleu(*chosen, tokenize, lowercase).score,
        "chrf": chrf(*chosen, lowercase).score,
    }
