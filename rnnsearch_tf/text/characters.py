"""Character classes of the Moses rules, written for RE2 (TensorFlow's regular expressions).

Each constant is the inside of a bracket expression: ``[{ALPHA}]``, ``[^{ALPHA}]``. RE2 has no names
for the Unicode properties Alphabetic and White_Space, so the characters that its general categories
miss are listed here.
"""

from __future__ import annotations

import re

# Alphabetic characters outside the categories L and N: vowel signs, points and viramas of the
# Semitic and Indic scripts, circled letters. Accents (from U+0300) are not included.
_ALPHABETIC_SIGNS = (
    "345 5b0-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-657 659-65f 670 6d6-6dc 6e1-6e8 6ed 711-73f"
    " 7a6-7b0 816-817 81b-82c 8e4-8e9 8f0-94f 955-963 981-9e3 a01-a75 a81-ae3 afd-b4d b56-b63"
    " b82-bd7 c00-c03 c3e-c63 c81-c83 cbc- ce3 d01-d4d d57 d62-d63 d82-df3 e31-e3a e4d eb1-ebc ecd"
    " f71-f81 f8d-fbc 102b-1036 1038-1039 103b-103e 1056-1062 1067-1068 1071-1086 109c-109d 135f"
    " 1712-1714 1732-1733 1752-1773 17b6-17c8 1885-1938 1a17-1a1b 1a55-1a5e 1a61-1a74 1b00-1b04"
    " 1b35-1b43 1b80-1ba9 1bab-1bad 1be7-1bf1 1c24-1c35 1c37 1de7-1df4 24b6-24e9 25cc 2de0-2dff"
    " a674-a67b a69f a823-a827 a880-a8c4 a926-a92a a947-a953 a980-a983 a9b4-a9bf aa29-aa4d"
    " aab0-aabe aaeb-aaef aaf5-aaf6 abe3-abea fb1e 10a3f 11046 110b9-110ba 11133 11173 111c0 111ca"
    " 11235-11236 112e9-112ea 1133c 1134d 11442 11446 114c2-114c3 115bf-115c0 1163f 116b6-116b7"
    " 11839-1183a 119e0 11a34 11c3f 11d42 11d45 11d97 1e94a "
)


def _bracket(code_points: str) -> str:
    """``"5b0-5bd 5bf"`` in RE2's syntax, ``\\x{5b0}-\\x{5bd}\\x{5bf}``."""
    return re.sub(r"[0-9a-f]+", lambda match: rf"\x{{{match[0]}}}", code_points).replace(" ", "")


def _characters(code_points: str) -> str:
    """``"5b0-5bd 5bf"`` as the characters themselves."""
    ranges = (word.partition("-") for word in code_points.split())
    return "".join(
        chr(code)
        for first, _, last in ranges
        for code in range(int(first, 16), int(last or first, 16) + 1)
    )


_SPACE = "9-d 1c-20 85 a0 1680 2000-200a 2028-2029 202f 205f 3000"
SPACE = _bracket(_SPACE)
"""White space, as Python's ``\\s`` and ``str.split`` define it."""

CONTROL = _bracket("1-1f") + r"\x00"
"""ASCII control characters, which Moses deletes."""

_INVISIBLE = "80-84 86-9f ad 200b 200e-200f 202a-202e 2060-2064 2066-2069 feff"
INVISIBLE = _bracket(_INVISIBLE)
"""Invisible characters: C1 control characters, the soft hyphen, zero-width space and no-break space
(a byte-order mark within a text), direction marks, invisible operators. The joiners U+200C and
U+200D are not included: Persian, Indic scripts and emoji use them.
"""

BLANK_CHARACTERS = _characters(_SPACE) + _characters(_INVISIBLE)
"""White space and invisible characters: a line of them looks empty."""

ALPHA = r"\p{L}\p{Nl}" + _bracket(_ALPHABETIC_SIGNS)
NUMBER = r"\p{N}"
ALNUM = ALPHA + r"\p{Nd}"
LOWER = r"\p{Ll}" + _bracket("aa ba 2b0-2b8 2c0-2c1 2e0-2e4 2170-217f 24d0-24e9")
CURRENCY = r"\p{Sc}"

IDEOGRAPH = r"\p{Han}" + _bracket("ac00-d7a3")
"""Han characters and Hangul syllables: in most languages each is a separate token."""

KOREAN_LETTERS = _bracket(
    "3001-3003 3008-3011 3013-301f 302e-3030 3037 30fb 3131-318e 3200-321e 3260-327e a960-a97c"
    " d7b0-d7fb fe45-fe46 ff61-ff65 ffa0-ffdc "
)
"""Additional letters of Korean in Moses, including marks such as U+3002."""

EAST_ASIAN = _bracket(
    "1100-11ff 2e80-a4cf a840-a87f ac00-d7af f900-faff fe30-fe4f ff65-ffdc 17000-18aff 1b000-1b12f"
    " 1b170-1b2ff 20000-2ffff"
)
"""Blocks of characters that are written without spaces; the detokenizer joins them."""

WORD_START = "▁"
"""SentencePiece's symbol for the space before a word: U+2581."""
