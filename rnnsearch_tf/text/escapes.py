"""The escapes of Moses, whose files cannot hold ``|`` and other special characters."""

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

ESCAPED = re.compile("|".join(["^@-@$", *(escaped for escaped, _ in ESCAPES[1:])]))
"""Found in a word that is written with escapes."""

_PATTERNS = [(re.compile(escaped.encode()), plain.encode()) for escaped, plain in ESCAPES]


def joined_words(tokens) -> list:
    """To which word each token belongs once ``@-@`` has become a hyphen between its neighbours,
    from 0.

    Example:
        >>> joined_words("a well @-@ known man".split())
        [0, 1, 1, 1, 2]
    """
    words = []
    glued = False
    for token in tokens:
        hyphen = token == "@-@" and not glued
        last = words[-1] if words else 0
        words.append(last if glued or hyphen or not words else last + 1)
        glued = hyphen
    return words


def unescape_bytes(line) -> bytes:
    """A line with the escapes undone.

    Example:
        >>> unescape_bytes(b"l&apos; homme")
        b"l' homme"
    """
    for pattern, plain in _PATTERNS:
        line = pattern.sub(plain, line)
    return line
