"""A word lexicon from links: the most frequent translation of each source word (Luong et al.
2015b).
"""

from __future__ import annotations

import collections
from collections.abc import Iterable, Sequence

from rnnsearch_tf.alignment import Link


def lexicon(
    sentences: Iterable[tuple[Iterable[Link], Sequence[str], Sequence[str]]],
    minimum_count: int = 2,
) -> dict[str, str]:
    """The most frequent translation of each source word.

    Args:
        sentences: (links, source tokens, target tokens) of each pair.
        minimum_count: word pairs linked less often than this are ignored; so are words that contain
            a space.

    Returns:
        {source word: the target word it is linked to most often}, sorted by source word; ties go to
        the alphabetically first target word.

    Example:
        >>> pairs = [([(0, 0), (1, 1)], ["a", "house"], ["une", "maison"])] * 2
        >>> lexicon(pairs)
        {'a': 'une', 'house': 'maison'}
    """
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    for links, source, target in sentences:
        counts.update((source[j], target[i]) for j, i in links)
    best: dict[str, str] = {}
    for (source, target), count in sorted(
        counts.items(), key=lambda entry: (entry[0][0], -entry[1], entry[0][1])
    ):
        if count >= minimum_count and len(source.split()) == len(target.split()) == 1:
            best.setdefault(source, target)
    return best
