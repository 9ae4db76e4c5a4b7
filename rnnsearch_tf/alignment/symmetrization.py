"""Symmetrization: combine the alignments of both translation directions (Och and Ney 2003; Koehn et
al. 2005).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rnnsearch_tf.alignment import Link
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.text.languages import base

if TYPE_CHECKING:
    from rnnsearch_tf.text.pipeline import Text

NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))
"""(target, source) steps, in the order of Moses's definition."""


def grow_diag_final_and(forward: set[Link], reverse: set[Link]) -> set[Link]:
    """Moses's grow-diag-final-and.

    Start with the intersection. Repeatedly add links of the union that are neighbours of an
    accepted link, diagonals included, and whose source or target word is still unlinked, until
    nothing changes. Finally add links of `forward`, then of `reverse`, both words of which are
    unlinked. Links are visited by target word, then by source word.

    Example:
        >>> sorted(grow_diag_final_and({(0, 0), (1, 1), (1, 2)}, {(0, 0), (1, 1), (3, 3)}))
        [(0, 0), (1, 1), (1, 2), (3, 3)]
    """
    found = forward & reverse
    either = forward | reverse
    sources = {j for j, _ in found}
    targets = {i for _, i in found}

    def add(j: int, i: int) -> None:
        found.add((j, i))
        sources.add(j)
        targets.add(i)

    grown = True
    while grown:
        grown = False
        for i, j in sorted((i, j) for j, i in either):  # accepted links are all in the union
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
"""{name: function of two sets of links}"""


def check_same_words(translator: Any, reverse: Any) -> None:
    """Raise UsageError unless the Translators of the two directions split each language into the
    same words.
    """
    for side, text, other in (
        ("source", translator.source_text, reverse.target_text),
        ("target", translator.target_text, reverse.source_text),
    ):
        expected, got = (_word_splitter(each) for each in (text, other))
        if expected != got:
            raise UsageError(
                f"--reverse-model: expected a model that splits the {side} side by {expected} like"
                f" the first model, got {got}; use two models with the same tokenization"
            )


def _word_splitter(text: Text) -> str:
    """What splits a side into the words that links number."""
    config = text.config
    moses = config.tokenization == "moses"
    rules = [f"Moses rules of {base(config.language)!r}" if moses else "spaces"]
    rules += ["split at hyphens"] if config.split_hyphens else []
    rules += [f"unicode_form={config.unicode_form}"] if config.unicode_form != "NFC" else []
    rules += ["remove_invisible=true"] if config.remove_invisible else []
    return ", ".join(rules)
