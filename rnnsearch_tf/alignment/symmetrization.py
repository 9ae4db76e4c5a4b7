"""One alignment out of two: of a model, and of one of the other direction (Och and Ney 2003; Koehn
et al. 2005).
"""

from __future__ import annotations

from rnnsearch_tf.errors import UsageError

NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
"""(target, source) steps, in the order of Moses's definition."""


def grow_diag_final_and(forward, reverse) -> set:
    """Moses's grow-diag-final-and.

    It begins with the intersection. While anything is added, links of the union that touch a link,
    diagonally too, are added where their source or their target word has none yet. At the end come
    links, of `forward` and then of `reverse`, both words of which have none. Links are visited by
    target word, then by source word.

    Args:
        forward, reverse: sets of (source position, target position), from 0.

    Returns:
        set of (source, target).

    Example:
        >>> sorted(grow_diag_final_and({(0, 0), (1, 1), (1, 2)}, {(0, 0), (1, 1), (3, 3)}))
        [(0, 0), (1, 1), (1, 2), (3, 3)]
    """
    found = forward & reverse
    either = forward | reverse
    sources = {j for j, _ in found}
    targets = {i for _, i in found}

    def add(j, i):
        found.add((j, i))
        sources.add(j)
        targets.add(i)

    grown = True
    while grown:
        grown = False
        for i, j in sorted((i, j) for j, i in either):  # only links of the union are ever there
            for di, dj in NEIGHBOURS if (j, i) in found else ():
                near = j + dj, i + di
                if (
                    near in either
                    and near not in found
                    and not (near[0] in sources and near[1] in targets)
                ):
                    add(*near)
                    grown = True
    for links in (forward, reverse):
        for i, j in sorted((i, j) for j, i in links):
            if j not in sources and i not in targets:
                add(j, i)
    return found


METHODS = {
    "grow-diag-final-and": grow_diag_final_and,
    "intersection": set.intersection,
    "union": set.union,
}
"""{name: function of two sets of (source, target)}"""


def check_same_words(translator, reverse) -> None:
    """Refuse two models that do not count the same words.

    Args:
        translator: Translator of one direction.
        reverse: of the other, whose target is the source of the first.

    Raises:
        UsageError: they cut a side in different ways.
    """
    for side, text, other in (
        ("source", translator.source_text, reverse.target_text),
        ("target", translator.target_text, reverse.source_text),
    ):
        ways = [_way(each.config) for each in (text, other)]
        if ways[0] != ways[1]:
            raise UsageError(
                f"--reverse-model: expected a model that cuts the {side} side by {ways[0]} as the"
                f" first does, got {ways[1]}; their words differ"
            )


def _way(config) -> str:
    """How a side is cut into the words that links count."""
    return f"Moses rules of {config.language!r}" if config.tokenization == "moses" else "spaces"
