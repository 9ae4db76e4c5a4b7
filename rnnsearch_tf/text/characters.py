"""Character classes of the Moses rules, written for RE2 (the regular expressions of TensorFlow).

Each constant is the inside of a bracket expression: ``[{ALPHA}]``, ``[^{ALPHA}]``.
RE2 has no name for the Unicode properties Alphabetic and White_Space, so what its
general categories leave out is listed here.
"""

import re

# Alphabetic signs that are not of category L or N: vowel signs, points and viramas of the
# Semitic and Indic scripts, circled letters. Accents (U+0300 and on) are not among them.
_ALPHABETIC_SIGNS = (
    "345 5b0-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-657 659-65f 670 6d6-6dc 6e1-6e8 6ed 711-73f 7a6-7b0 816-817 "
    "81b-82c 8e4-8e9 8f0-94f 955-963 981-9e3 a01-a75 a81-ae3 afd-b4d b56-b63 b82-bd7 c00-c03 c3e-c63 c81-c83 cbc- "
    "ce3 d01-d4d d57 d62-d63 d82-df3 e31-e3a e4d eb1-ebc ecd f71-f81 f8d-fbc 102b-1036 1038-1039 103b-103e "
    "1056-1062 1067-1068 1071-1086 109c-109d 135f 1712-1714 1732-1733 1752-1773 17b6-17c8 1885-1938 1a17-1a1b "
    "1a55-1a5e 1a61-1a74 1b00-1b04 1b35-1b43 1b80-1ba9 1bab-1bad 1be7-1bf1 1c24-1c35 1c37 1de7-1df4 24b6-24e9 "
    "25cc 2de0-2dff a674-a67b a69f a823-a827 a880-a8c4 a926-a92a a947-a953 a980-a983 a9b4-a9bf aa29-aa4d "
    "aab0-aabe aaeb-aaef aaf5-aaf6 abe3-abea fb1e 10a3f 11046 110b9-110ba 11133 11173 111c0 111ca 11235-11236 "
    "112e9-112ea 1133c 1134d 11442 11446 114c2-114c3 115bf-115c0 1163f 116b6-116b7 11839-1183a 119e0 11a34 11c3f "
    "11d42 11d45 11d97 1e94a "
)


def _bracket(code_points: str) -> str:
    """``"5b0-5bd 5bf"`` as RE2 writes it, ``\\x{5b0}-\\x{5bd}\\x{5bf}``."""
    return re.sub(r"[0-9a-f]+", lambda match: rf"\x{{{match[0]}}}", code_points).replace(" ", "")


SPACE = _bracket("9-d 1c-20 85 a0 1680 2000-200a 2028-2029 202f 205f 3000")
"""What Python's ``\\s`` and ``str.split`` take for white space."""

CONTROL = _bracket("1-1f") + r"\x00"
"""ASCII control characters, which Moses deletes."""

ALPHA = r"\p{L}\p{Nl}" + _bracket(_ALPHABETIC_SIGNS)
NUMBER = r"\p{N}"
ALNUM = ALPHA + r"\p{Nd}"
LOWER = r"\p{Ll}" + _bracket("aa ba 2b0-2b8 2c0-2c1 2e0-2e4 2170-217f 24d0-24e9")
CURRENCY = r"\p{Sc}"

IDEOGRAPH = r"\p{Han}" + _bracket("ac00-d7a3")
"""Han characters and Hangul syllables: outside the three languages' alphabets, each a token of its own."""

EAST_ASIAN = _bracket(
    "1100-11ff 2e80-a4cf a840-a87f ac00-d7af f900-faff fe30-fe4f ff65-ffdc 17000-18aff 1b000-1b12f 1b170-1b2ff 20000-2ffff"
)
"""Blocks whose characters are written without spaces between them; the detokenizer joins them."""
