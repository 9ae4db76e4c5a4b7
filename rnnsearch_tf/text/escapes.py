"""The escapes of Moses, whose files cannot contain ``|`` and other special characters."""

from __future__ import annotations

import re
from collections.abc import Iterable

HYPHENS = [(" @-@ ", "-")]
CHARACTERS = [  # in the order of detokenizer.perl
    ("&bar;|&#124;", "|"),
    ("&lt;", "<"),
    ("&gt;", ">"),
    ("&bra;", "["),
    ("&ket;", "]"),
    ("&quot;", '"'),
    ("&apos;", "'"),
    ("&#91;", "["),
    ("&#93;", "]"),
    ("&amp;", "&"),
]
ESCAPES = HYPHENS + CHARACTERS
"""(regular expression, its replacement)."""

_ESCAPED = re.compile("|".join(escaped for escaped, _ in CHARACTERS))
_PLAIN = re.compile(r"""[|<>[\]"']""")
_PATTERNS = [(re.compile(escaped.encode()), plain.encode()) for escaped, plain in ESCAPES]


def escapes_of(tokens: Iterable[str]) -> tuple[bool, bool]:
    """Whether the tokens of a text have split hyphens, and whether its special characters are
    escaped, as most of its tokens with such characters are.

    Example:
        >>> escapes_of(["l&apos;", "d&apos;", "<2fr>", "R&amp;D"])
        (False, True)
    """
    tokens = list(tokens)
    escaped, plain = (sum(map(bool, map(each.search, tokens))) for each in (_ESCAPED, _PLAIN))
    return "@-@" in tokens, escaped > plain


def joined_words(tokens: Iterable[str]) -> list[int]:
    """The number of each token's word, from 0, where ``@-@`` joins its neighbours to one word.

    Example:
        >>> joined_words("a well @-@ known man".split())
        [0, 1, 1, 1, 2]
    """
    words: list[int] = []
    glued = False
    for token in tokens:
        hyphen = token == "@-@" and not glued
        last = words[-1] if words else 0
        words.append(last if glued or hyphen or not words else last + 1)
        glued = hyphen
    return words


def unescape_bytes(line: bytes) -> bytes:
    """Undo the escapes in a line.

    Example:
        >>> unescape_bytes(b"l&apos; homme")
        b"l' homme"
    """
    line = b" " + line + b" "  # @-@ may be the first or last token
    for pattern, plain in _PATTERNS:
        line = pattern.sub(plain, line)
    return line.strip(b" ")
