"""Language codes, and the Moses rules that exist for them.

To add a language, add its abbreviations as ``prefixes/CODE.txt``. Its rules for apostrophes and for
joining tokens, where they differ from those of English, are in moses.py. UNSEGMENTED lists the
languages without spaces.
"""

from __future__ import annotations

import functools
import importlib.resources
import logging
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from importlib.abc import Traversable

log = logging.getLogger("rnnsearch_tf")

CHINESE = ("zh", "yue", "wuu", "cmn")

UNSEGMENTED = (*CHINESE, "ja", "th", "lo", "km", "my", "bo", "dz")
"""Languages that are written without spaces between words."""


@functools.cache
def base(code: str) -> str:
    """The language of a code, without script and region.

    Example:
        >>> base("pt-BR"), base("zh_Hans")
        ('pt', 'zh')
    """
    return re.split("[-_]", code)[0].lower()


def abbreviations(code: str) -> Traversable | None:
    """The file of a language's abbreviations; None if Moses has none."""
    path = abbreviations_file(code)
    return path if path.is_file() else None


def abbreviations_file(code: str) -> Traversable:
    """The path of the file of a language's abbreviations, which may not exist."""
    return importlib.resources.files("rnnsearch_tf.text") / "prefixes" / f"{base(code)}.txt"


@functools.cache
def warn_once(code: str) -> None:
    """Warn, once per process, if the Moses rules do not cover a language."""
    if base(code) in UNSEGMENTED:
        log.warning(
            "warning: language %r: it is written without spaces between words, and Moses does not"
            " segment it; set tokenization=sentencepiece, or tokenization=space for text"
            " that is segmented already",
            code,
        )
    elif not abbreviations(code):
        log.warning(
            "warning: language %r has no Moses rules: English abbreviations and the rules common to"
            " all languages are taken; tokenization=sentencepiece needs none",
            code,
        )
