"""What the Moses rules know of a language, by its code."""

import functools
import importlib.resources
import logging
import re

log = logging.getLogger("rnnsearch_tf")

CHINESE = ("zh", "yue", "wuu", "cmn")

UNSEGMENTED = (*CHINESE, "ja", "th", "lo", "km", "my", "bo", "dz")
"""Written without spaces between words."""


@functools.cache
def base(code) -> str:
    """The language of a code, without script and region.

    Example:
        >>> base("pt-BR"), base("zh_Hans")
        ('pt', 'zh')
    """
    return re.split("[-_]", code)[0].lower()


def abbreviations(code):
    """The path of the file of the language's abbreviations; None where Moses has none of it."""
    path = importlib.resources.files("rnnsearch_tf.text") / "prefixes" / f"{base(code)}.txt"
    return path if path.is_file() else None


@functools.cache
def warn_once(code) -> None:
    """Say, once a process, what the Moses rules do not know of the language."""
    if base(code) in UNSEGMENTED:
        log.warning(
            "warning: language %r: Moses does not segment it into words, which it writes without"
            " spaces between them; set tokenization=sentencepiece, or tokenization=space for text"
            " that is segmented already",
            code,
        )
    elif not abbreviations(code):
        log.warning(
            "warning: language %r has no Moses rules: English abbreviations and the rules common to"
            " all languages are taken; tokenization=sentencepiece needs none",
            code,
        )
