"""Lines in another language than their side's, by the library py3langid.

A line is called foreign if its log-probability in some other language is higher by CERTAIN than in
the side's own. Measured with py3langid 0.4 on real text, the lines of each corpus drawn at random:

    right lines that are called foreign: none of 36,000 everyday sentences and captions (Tatoeba
    English and French, Multi30k German and French, Tanaka English and Japanese), 0.05 % of
    Python's English and 0.25 % of its French documentation, which are names and code
    foreign lines that are found: 96 to 97 % of Tatoeba's sentences of about six words, 99.9 % of
    the captions of Multi30k, 84 to 89 % of the paragraphs of the documentation, many of which are
    code

Very short lines ("Tom?") never reach that difference, and so count as right.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from rnnsearch_tf.runtime.optional import has
from rnnsearch_tf.text.languages import CHINESE, base

if TYPE_CHECKING:
    from py3langid.langid import LanguageIdentifier

LIBRARY = "py3langid"
"""The module that tells languages; the extra `languages` installs it."""

CERTAIN = 15.0
"""Nats by which another language must be more probable."""

_NO_LANGUAGE = "zxx"  # py3langid's class of numbers and code
_LONGEST = 1000  # characters looked at

_ALIKE = (  # codes that a line does not tell apart, or that py3langid names otherwise
    CHINESE,
    ("no", "nb", "nn", "da"),
    ("hr", "bs", "sr", "sh"),
    ("id", "ms"),
    ("tl", "fil"),
    ("en", "pcm"),
)

Scores = dict[str, float]
"""{language code: log-probability of a line}, best first."""


@dataclasses.dataclass(frozen=True)
class Languages:
    """The languages of a pair.

    Attributes:
        others: for each side, the code of the language that its line has; None: its own, or it is
            not certain.
        crossed: whether the sides are swapped: one line is certainly in the other side's language,
            and the other line is more probably in the first side's language than in its own.
    """

    others: tuple[str | None, ...]
    crossed: bool


class SideLanguages:
    """Finds lines in another language than their side's.

    Args:
        codes: language code of each side, such as "pt-BR".

    Attributes:
        unchecked: codes that the library does not know; lines of such a side are not looked at.

    Example:
        >>> languages = SideLanguages(("en", "fr"))
        >>> languages.of(("I see a white cat.", "Ich sehe eine weiße Katze.")).others
        (None, 'de')
    """

    def __init__(self, codes: Sequence[str]):
        known = set(_identifier().labels)
        self._own = [_alike(base(code)) & known for code in codes]
        self.unchecked = [code for code, own in zip(codes, self._own) if not own]

    def of(self, texts: Sequence[str]) -> Languages:
        """The languages of a pair of texts, (source, target)."""
        scores = [dict(_identifier().rank(text[:_LONGEST])) for text in texts]  # best first
        others = tuple(map(_other, scores, self._own))
        return Languages(others, self._crosses(others, scores) or self._crosses(others, scores, 1))

    def _crosses(self, others: Sequence[str | None], scores: Sequence[Scores], k: int = 0) -> bool:
        """Whether the line of side k tells that the sides are swapped."""
        own, other = self._own[k], self._own[1 - k]
        return (
            bool(own)
            and others[k] in other
            and _best(scores[1 - k], own - other) > _best(scores[1 - k], other)
        )


def _other(scores: Scores, own: set[str]) -> str | None:
    """The language of a line, if it is certainly none of its own."""
    if not own:
        return None
    code = next(code for code in scores if code not in own | {_NO_LANGUAGE})
    return code if scores[code] - _best(scores, own) > CERTAIN else None


def _best(scores: Scores, codes: set[str]) -> float:
    return max((scores[code] for code in codes), default=-math.inf)


def side_languages(codes: Sequence[str]) -> SideLanguages | None:
    """:class:`SideLanguages`; None without the library."""
    return SideLanguages(codes) if has(LIBRARY) else None


def _alike(code: str) -> set[str]:
    return next((set(group) for group in _ALIKE if code in group), {code})


@functools.cache
def _identifier() -> LanguageIdentifier:
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE)
