"""The escapes of Moses, whose files cannot hold ``|`` and its other special characters as they are."""

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
"""(regular expression, what it stands for)."""

_PATTERNS = [(re.compile(escaped.encode()), plain.encode()) for escaped, plain in ESCAPES]


def unescape_bytes(line) -> bytes:
    """A line with the escapes undone.

    Example:
        >>> unescape_bytes(b"l&apos; homme")
        b"l' homme"
    """
    for pattern, plain in _PATTERNS:
        line = pattern.sub(plain, line)
    return line
