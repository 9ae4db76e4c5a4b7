"""Pairs as people type them: without final punctuation, in another case, with other numbers.

A model that has seen only well-written sentences fails on what a newcomer types first. Therefore a
share of the pairs is learned a second time in a changed form, as OpusTrainer's modifiers do.
"""

from __future__ import annotations

import collections
import re
from collections.abc import Sequence

import numpy as np

from rnnsearch_tf.data.pairs import Pair

FINAL_PUNCTUATION = ".!?…。！？।॥۔؟։።។"

_NUMBER = re.compile(r"(?<![\d.,A-Za-z])[0-9]+(?![A-Za-z\u00c0-\u024f]|[\d.,]*\d)")


def variants_of(pairs: Sequence[Pair], share: float, random: np.random.Generator) -> list[Pair]:
    """A share of the pairs in a changed form.

    Everyday text has few numbers, too few to learn that they are copied. A tenth as many variants
    are therefore of pairs that have a number on both sides, at most ten of each on average. `share`
    is the probability that a pair has a variant; if it is 0, no random number is drawn.
    """
    if not share:
        return []
    drawn = [pair for pair in pairs if random.random() < share]
    numbered = [pair for pair in pairs if _numbers(*pair)]
    more = min(int(share * len(pairs) / 10), 10 * len(numbered))
    drawn += [numbered[k] for k in random.integers(len(numbered), size=more)] if more else []
    changed = [(pair, variant(pair, random)) for pair in drawn]
    return [other for pair, other in changed if other != pair]


def variant(pair: Pair, random: np.random.Generator) -> Pair:
    """A random choice of changes: no final punctuation on both sides; the source in lower case, or
    with only the first letter in capitals; other digits in numbers that both sides have.

    Not all letters in capitals: most words of a vocabulary would be unknown then.

    Example:
        >>> variant(("Room 12.", "Chambre 12."), np.random.default_rng(2))
        ('room 48', 'Chambre 48')
    """
    source, target = pair
    bare = _without_final_punctuation(source), _without_final_punctuation(target)
    if random.random() < 0.7 and bare[0] != source and bare[1] != target:
        source, target = bare
    case = random.random()
    if case < 0.5:
        source = source.lower()
    elif case < 0.6:
        source = source[:1].upper() + source[1:].lower()
    others = {
        number: "".join(str(random.integers(k == 0, 10)) for k, _ in enumerate(number))
        for number in sorted(_numbers(source, target))
    }
    source, target = (
        _NUMBER.sub(lambda found: others.get(found[0], found[0]), side) for side in (source, target)
    )
    return (source, target) if source.strip() and target.strip() else pair


def _without_final_punctuation(text: str) -> str:
    """The text before it; a text that has none, as it is."""
    words = text.rstrip()
    before = words.rstrip(FINAL_PUNCTUATION)
    return text if before == words else before.rstrip()


def _numbers(source: str, target: str) -> set[str]:
    """The whole numbers that both sides have, equally often: beside the 20 of "20,000 and 20", the
    20 of "20 000 et 20" may be another one.
    """
    counts, others = (collections.Counter(_NUMBER.findall(side)) for side in (source, target))
    return {number for number in counts if counts[number] == others[number]}
