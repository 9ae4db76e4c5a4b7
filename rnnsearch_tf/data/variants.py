"""Pairs as people type them: without final punctuation, in another case, with other numbers.

A model that has seen only well-written sentences fails on what a newcomer types first. Therefore a
share of the pairs is learned a second time in a changed form, as OpusTrainer's modifiers do.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import numpy as np

from rnnsearch_tf.data.pairs import Pair

_FINAL = re.compile(r"[\s\u00a0\u202f]*[.!?…。！？]+\s*$")
_NUMBER = re.compile(r"(?<![\d.,])\d+(?![\d.,]*\d)")


def variants_of(pairs: Iterable[Pair], share: float, random: np.random.Generator) -> list[Pair]:
    """A share of the pairs in a changed form.

    Args:
        pairs: (source, target).
        share: probability that a pair has a variant; 0: no number is drawn.
        random: the only source of randomness.
    """
    drawn = [pair for pair in pairs if share and random.random() < share]
    changed = [(pair, variant(pair, random)) for pair in drawn]
    return [other for pair, other in changed if other != pair]


def variant(pair: Pair, random: np.random.Generator) -> Pair:
    """A random choice of changes: no final punctuation on both sides; the source in lower case,
    with a capital alone, or in capitals; other digits in numbers that both sides have.

    Example:
        >>> variant(("Room 12.", "Chambre 12."), np.random.default_rng(2))
        ('room 48', 'Chambre 48')
    """
    source, target = pair
    if random.random() < 0.7 and _FINAL.search(source) and _FINAL.search(target):
        source, target = _FINAL.sub("", source), _FINAL.sub("", target)
    case = random.random()
    if case < 0.5:
        source = source.lower()
    elif case < 0.6:
        source = source[:1].upper() + source[1:].lower()
    elif case < 0.7:
        source = source.upper()
    numbers = {*_NUMBER.findall(source)} & {*_NUMBER.findall(target)}
    others = {
        number: "".join(str(random.integers(k == 0, 10)) for k, _ in enumerate(number))
        for number in sorted(numbers)
    }
    source, target = (
        _NUMBER.sub(lambda found: others.get(found[0], found[0]), side) for side in (source, target)
    )
    return (source, target) if source.strip() and target.strip() else pair
