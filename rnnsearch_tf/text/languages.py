"""Language codes, and the Moses rules that exist for them.

To add a language, add its abbreviations as ``prefixes/CODE.txt``. Its rules for apostrophes and for
joining tokens, where they differ from those of English, are in moses.py. UNSEGMENTED lists the
languages without spaces.
"""

from __future__ import annotations

import re

CHINESE = ("zh", "yue", "wuu", "cmn")

UNSEGMENTED = (*CHINESE, "ja", "th", "lo", "km", "my", "bo", "dz")
"""Languages that are written without spaces between words."""


def base(code: str) -> str:
    """The language of a code, without script and region.

    Example:
        >>> base("pt-BR"), base("zh_Hans")
        ('pt', 'zh')
    """
    return re.split("[-_]", code)[0].lower()
