"""The escapes of Moses, whose files cannot contain ``|`` and other special characters."""

from __future__ import annotations

import re
from collections.abc import Iterable

ESCAPES = [  # in the order of detokenizer.perl
    (" @-@ ", "-"),
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
"""(regular expression, its replacement)."""

ESCAPED = re.compile("|".join(["^@-@$", *(escaped for escaped, _ in ESCAPES[1:])]))
"""Matches in a word with escapes."""

_PATTERNS = [(re.compile(escaped.encode()), plain.encode()) for escaped, plain in ESCAPES]


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
    for pattern, plain in _PATTERNS:
        line = pattern.sub(plain, line)
    return line
