"""The escapes of Moses, whose files cannot contain ``|`` and other special characters."""

from __future__ import annotations

import re

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

_PATTERNS = [(re.compile(escaped.encode()), plain.encode()) for escaped, plain in ESCAPES]


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
