"""Guess the encoding of a text that is not UTF-8."""

from __future__ import annotations

import re
from collections.abc import Sequence

from rnnsearch_tf.text.languages import base

_BY_LANGUAGE = {
    "ru uk be bg sr mk": ("cp1251", "koi8-r", "iso8859-5"),
    "pl cs sk hu sl hr bs ro sq": ("iso8859-2", "cp1250"),
    "el": ("iso8859-7", "cp1253"),
    "tr az": ("iso8859-9", "cp1254"),
    "he yi": ("iso8859-8", "cp1255"),
    "ar fa ur": ("cp1256", "iso8859-6"),
    "lt lv et": ("iso8859-13", "cp1257"),
    "th": ("cp874",),
    "vi": ("cp1258",),
    "ja": ("shift_jis", "euc-jp"),
    "zh yue": ("gb18030", "big5"),
    "ko": ("euc-kr", "cp949"),
}
_WESTERN = ("iso8859-1", "cp1252")


def guess(lines: Sequence[bytes], language: str) -> str | None:
    """The most likely encoding of lines in a language.

    Args:
        lines: lines that are not valid UTF-8.
        language: language code.

    Returns:
        A name that iconv knows too; None if no usual encoding of the language fits.

    Example:
        >>> guess(["Où est l'été ?".encode("latin-1")], "fr")
        'iso8859-1'
    """
    text = b"\n".join(lines)
    known = (
        names for languages, names in _BY_LANGUAGE.items() if base(language) in languages.split()
    )
    scores = {name: _likelihood(text, name) for name in next(known, _WESTERN)}
    best = max(scores, key=lambda name: scores[name])
    return best if scores[best] > 0.5 else None


def _likelihood(text: bytes, encoding: str) -> float:
    """The share of lower-case letters and typographic marks among the characters beyond ASCII."""
    try:
        beyond = re.sub("[\x00-\x7f]", "", text.decode(encoding))
    except UnicodeDecodeError:
        return 0.0
    usual = sum(
        char.isalpha() and char == char.lower() or char in "«»“”„‘’–—…°€¿¡。、「」！？ー\u00a0"
        for char in beyond
    )
    return usual / max(1, len(beyond))
