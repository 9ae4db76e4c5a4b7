"""A lexicon of single words out of links: what each source word is linked to most often (Luong et
al. 2015b).
"""

from __future__ import annotations

import collections
from collections.abc import Iterable


def lexicon(sentences: Iterable, minimum_count: int = 2) -> dict[str, str]:
    """The translation of each source word.

    Args:
        sentences: of each pair its links, (source position, target position), and both lists of
            tokens.
        minimum_count: a source word and a target word that are linked less often are left out; so
            is a word with a space inside.

    Returns:
        {source word: the target word that it is linked to most often}, by source word; of several
        the first in the alphabet.

    Example:
        >>> pairs = [([(0, 0), (1, 1)], ["a", "house"], ["une", "maison"])] * 2
        >>> lexicon(pairs)
        {'a': 'une', 'house': 'maison'}
    """
    counts = collections.Counter()
    for links, source, target in sentences:
        counts.update((source[j], target[i]) for j, i in links)
    best = {}
    for (source, target), count in sorted(
        counts.items(), key=lambda entry: (entry[0][0], -entry[1], entry[0][1])
    ):
        if count >= minimum_count and len(source.split()) == len(target.split()) == 1:
            best.setdefault(source, target)
    return best
