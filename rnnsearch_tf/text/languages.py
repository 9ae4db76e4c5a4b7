"""Language codes, and the Moses rules that exist for them.

To add a language, add its abbreviations as ``prefixes/CODE.txt``. Its rules for apostrophes and for
joining tokens, where they differ from those of English, are in moses.py. UNSEGMENTED lists the
languages without spaces.
"""

from __future__ import annotations

import re

CHINESE = ("zh", "yue", "wuu", "cmn")

_TWO_LETTERS = dict(
    pair.split()
    for pair in (
        "asm as, ben bn, bod bo, cat ca, ces cs, deu de, dzo dz, ell el, eng en, est et, fin fi, "
        "fra fr, gle ga, guj gu, hin hi, hun hu, isl is, ita it, jpn ja, kan kn, khm km, lao lo, "
        "lav lv, lit lt, mal ml, mar mr, mya my, nld nl, ori or, pan pa, pol pl, por pt, ron ro, "
        "rus ru, slk sk, slv sl, spa es, swe sv, tam ta, tel te, tha th, zho zh"
    ).split(", ")
)
"""{code of ISO 639-3: that of ISO 639-1} of the languages that have rules."""

UNSEGMENTED = (*CHINESE, "ja", "th", "lo", "km", "my", "bo", "dz")
"""Languages that are written without spaces between words."""


def base(code: str) -> str:
    """The language of a code, without script and region; in two letters if it has rules.

    Example:
        >>> base("pt-BR"), base("zh_Hans"), base("jpn")
        ('pt', 'zh', 'ja')
    """
    language = re.split("[-_]", code)[0].lower()
    return _TWO_LETTERS.get(language, language)
