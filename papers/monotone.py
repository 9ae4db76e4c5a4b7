"""Bahdanau, Cho, Bengio 2015, §5.2.1: alignments are mostly monotone, and adjectives and nouns swap
places.
"""

from __future__ import annotations

import collections

from papers import bahdanau2015
from papers.page import Page, over_seeds

KINDS = {
    "same word": lambda step: step == 0,
    "next word": lambda step: step == 1,
    "further ahead": lambda step: step > 1,
    "one word back": lambda step: step == -1,
    "further back": lambda step: step < -1,
}
"""Kinds of steps of the attention, in source words, from one target word to the next."""

SHOWN_SWAPS = 15


def page(work, models) -> Page:
    """How the most attended source position moves from one target word to the next, and which words
    swap places.
    """
    found = {name: measured_steps(work, name) for name in models}
    rows = [
        {"model": name}
        | {kind: over_seeds([shares(each["steps"])[kind] for each in seeds]) for kind in KINDS}
        for name, seeds in found.items()
    ]
    swaps = found[models[0]][0]["swaps"]
    text = [
        (
            "How far does the source position with the highest attention move from one target word"
            " to the next? Shares of all steps, in the alignments of the model's translations (beam"
            f" {bahdanau2015.BEAM}, no unknown word) of {work.texts.test_name}. The end symbols are"
            " left out."
        ),
        (
            "A step back by one word: two target words attend to two neighbouring source words in"
            " the opposite order. With the first seed,"
            f" {models[0]} has {sum(count for _, count in swaps)}; as each caption is in the test"
            " text five times, alone and joined, a pair counts up to five times. The most frequent:"
        ),
        *(f"- {words}: {count}" for words, count in swaps[:SHOWN_SWAPS]),
    ]
    return Page("Bahdanau et al. 2015, §5.2.1: how monotone alignments are", rows, [], text)


def measured_steps(work, name) -> list:
    """[{"steps": [[step, count]], "swaps": [["source words → target words", count]]} of each seed],
    the most frequent swaps first.
    """
    return work.of_each_seed("alignment-steps", name, _measure)


def _measure(work, name, seed):
    sources, _ = bahdanau2015.test_text(work)
    steps = collections.Counter()
    swaps = collections.Counter()
    for found in work.translator(name, seed).translate(
        sources, beam_size=bahdanau2015.BEAM, allow_unknown=False
    ):
        places = attended(found.alignment)
        steps.update(later - place for place, later in zip(places, places[1:]))
        swaps.update(swapped(places, found.source_tokens, found.tokens))
    return {"steps": sorted(steps.items()), "swaps": swaps.most_common()}


def attended(alignment) -> list:
    """The source position that each target word attends to most, from 0, without end symbols.

    Args:
        alignment: float [I, J], with the end symbols last.

    Example:
        >>> attended([[0.1, 0.2, 0.7], [0.8, 0.1, 0.1], [0.0, 0.0, 1.0]])
        [1, 0]
    """
    from rnnsearch_tf.alignment.links import links

    return [source for source, _ in sorted(links(alignment), key=lambda link: link[1])]


def swapped(places, source, target) -> list:
    """Neighbouring target words that attend to neighbouring source words in the opposite order, as
    text.

    Example:
        >>> swapped([0, 2, 1], ["a", "black", "dog"], ["un", "chien", "noir"])
        ['black dog → chien noir']
    """
    return [
        f"{source[later]} {source[place]} → {target[i]} {target[i + 1]}"
        for i, (place, later) in enumerate(zip(places, places[1:]))
        if later == place - 1
    ]


def shares(steps) -> dict:
    """The share of each kind of step, from 0 to 1.

    Args:
        steps: (step in words, count) of each observed step.

    Example:
        >>> shares([(-3, 1), (-1, 2), (0, 1), (1, 4), (2, 2)])
        {'same word': 0.1, 'next word': 0.4, 'further ahead': 0.2, 'one word back': 0.2, 'further
        back': 0.1}
    """
    total = sum(count for _, count in steps)
    return {
        kind: sum(count for step, count in steps if belongs(step)) / max(total, 1)
        for kind, belongs in KINDS.items()
    }
