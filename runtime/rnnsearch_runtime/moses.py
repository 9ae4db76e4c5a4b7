"""Moses tokenization and detokenization of a line, with the rules of ``rnnsearch_tf.text.moses``.

sacremoses itself has other letters (it cuts ``𝐀𝐁``) and a placeholder of its own; only its lists
of abbreviations are taken.
"""

from __future__ import annotations

import collections
import functools
import itertools
import re
import unicodedata
from collections.abc import Iterable, Sequence

from rnnsearch_runtime.errors import ModelError

# Alphabetic characters outside the categories L and N: vowel signs, points and viramas of the
# Semitic and Indic scripts, circled letters.
_SIGNS = (
    "345 5b0-5bd 5bf 5c1-5c2 5c4-5c5 5c7 610-61a 64b-657 659-65f 670 6d6-6dc 6e1-6e8 6ed 711-73f"
    " 7a6-7b0 816-817 81b-82c 8e4-8e9 8f0-94f 955-963 981-9e3 a01-a75 a81-ae3 afd-b4d b56-b63"
    " b82-bd7 c00-c03 c3e-c63 c81-c83 cbc-ce3 d01-d4d d57 d62-d63 d82-df3 e31-e3a e4d eb1-ebc ecd"
    " f71-f81 f8d-fbc 102b-1036 1038-1039 103b-103e 1056-1062 1067-1068 1071-1086 109c-109d 135f"
    " 1712-1714 1732-1733 1752-1773 17b6-17c8 1885-1938 1a17-1a1b 1a55-1a5e 1a61-1a74 1b00-1b04"
    " 1b35-1b43 1b80-1ba9 1bab-1bad 1be7-1bf1 1c24-1c35 1c37 1de7-1df4 24b6-24e9 25cc 2de0-2dff"
    " a674-a67b a69f a823-a827 a880-a8c4 a926-a92a a947-a953 a980-a983 a9b4-a9bf aa29-aa4d"
    " aab0-aabe aaeb-aaef aaf5-aaf6 abe3-abea fb1e 10a3f 11046 110b9-110ba 11133 11173 111c0 111ca"
    " 11235-11236 112e9-112ea 1133c 1134d 11442 11446 114c2-114c3 115bf-115c0 1163f 116b6-116b7"
    " 11839-1183a 119e0 11a34 11c3f 11d42 11d45 11d97 1e94a"
)
_LOWER_SIGNS = "aa ba 2b0-2b8 2c0-2c1 2e0-2e4 2170-217f 24d0-24e9"
_HANGUL_SYLLABLES = "ac00-d7a3"
_HAN = (
    "2e80-2e99 2e9b-2ef3 2f00-2fd5 3005 3007 3021-3029 3038-303b 3400-4dbf 4e00-9fff f900-fa6d"
    " fa70-fad9 16fe2-16fe3 16ff0-16ff1 20000-2a6df 2a700-2b739 2b740-2b81d 2b820-2cea1 2ceb0-2ebe0"
    " 2f800-2fa1d 30000-3134a 31350-323af"
)
_EAST_ASIAN = (
    "1100-11ff 2e80-a4cf a840-a87f ac00-d7af f900-faff fe30-fe4f ff65-ffdc 17000-18aff 1b000-1b12f"
    " 1b170-1b2ff 20000-2ffff"
)
_HAN_LETTERS = (
    "2e80-2e99 2e9b-2ef3 2f00-2fd5 3001-3003 3005-3011 3013-301f 3021-302d 3030 3037-303f 30fb"
    " 3190-319f 31c0-31e3 3220-3247 3280-32b0 32c0-32cb 3358-3370 337b-337f 33e0-33fe fe45-fe46"
    " ff61-ff65 1d360-1d371 1f250-1f251"
)
_KANA_LETTERS = (
    " 3001-3003 3008-3011 3013-301f 3030-3035 3037 303c-303d 3041-3096 3099-30ff 31f0-31ff"
    " 32d0-32fe 3300-3357 fe45-fe46 ff61-ff9f 1b000-1b001 1f200"
)
_HANGUL_LETTERS = (
    "3001-3003 3008-3011 3013-301f 302e-3030 3037 30fb 3131-318e 3200-321e 3260-327e a960-a97c"
    " d7b0-d7fb fe45-fe46 ff61-ff65 ffa0-ffdc"
)
# further letters of a language, and the ideographs that are not its own
_LETTERS = {"zh": _HAN_LETTERS, "ja": _HAN_LETTERS + _KANA_LETTERS, "ko": _HANGUL_LETTERS}

_ESCAPES = [  # in the order of detokenizer.perl
    (" @-@ ", "-"),
    ("&bar;", "|"),
    ("&#124;", "|"),
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


def _bracket(code_points: str) -> str:
    """``"5b0-5bd 5bf"`` as the inside of a bracket expression."""
    ranges = (word.partition("-") for word in code_points.split())
    return "".join(
        rf"\U{int(first, 16):08x}-\U{int(last or first, 16):08x}" for first, _, last in ranges
    )


def _categories(*wanted: str) -> str:
    """The characters of Unicode's general categories as the inside of a bracket expression."""
    return "".join(ranges for category, ranges in _ranges().items() if category.startswith(wanted))


@functools.cache
def _ranges() -> dict[str, str]:
    """The inside of a bracket expression for each general category."""
    found = collections.defaultdict(list)
    code = 0
    # no letters, digits or signs beyond
    characters = map(unicodedata.category, map(chr, range(0x40000)))
    for category, run in itertools.groupby(characters):
        first, code = code, code + sum(1 for _ in run)
        found[category].append(f"{first:x}-{code - 1:x}")
    return {category: _bracket(" ".join(ranges)) for category, ranges in found.items()}


class Moses:
    """Tokenizer and detokenizer of one language.

    Args:
        language: a code such as "en" or "pt-BR".

    Raises:
        ModelError: the package sacremoses is missing.
    """

    def __init__(self, language: str) -> None:
        self._language = language = re.split("[-_]", language)[0].lower()
        alpha = _categories("L", "Nl") + _bracket(_SIGNS)
        number = _categories("N")
        foreign = {"zh": _HANGUL_SYLLABLES, "ja": _HANGUL_SYLLABLES, "ko": _HAN}
        ideographs = _bracket(foreign.get(language, f"{_HAN} {_HANGUL_SYLLABLES}"))
        letters = _bracket(_LETTERS.get(language, ""))
        digits = _categories("Nd")
        self._rules = [
            (re.compile(pattern), rewrite)
            for pattern, rewrite in [
                (rf"([^{alpha}{digits}{letters} \t\n\f\r.'`,-]|[{ideographs}])", r" \1 "),
                (r"(\.\.+)", r" \1 "),  # a run of periods is one token
                (rf"([^{number}]),", r"\1 , "),  # a comma is kept only within a number: 5,300
                (rf",([^{number}])", r" , \1"),
                (rf"([{number}]),$", r"\1 , "),
                *_apostrophe(language, alpha, number),
                (r"\.' *$", " . '"),  # the period before a closing quote
            ]
        ]
        always, before_digit = _prefixes(language)
        letter = f"[{alpha}{letters}]"
        # an abbreviation, or a token with an inner period and a letter: U.S. p.m.
        self._abbreviation = re.compile(
            rf"(?:{always}|.*{letter}.*\..*|.*\..*{letter}.*)\." if always else letter
        )
        self._before_digit = re.compile(rf"(?:{before_digit})\.") if before_digit else None
        self._lower = re.compile(f"[{_categories('Ll')}{_bracket(_LOWER_SIGNS)}]")
        east_asian = _bracket(_EAST_ASIAN)
        ideograph = _bracket(f"{_HAN} {_HANGUL_SYLLABLES}")
        self._east_asian = re.compile(f"[{east_asian}]")
        self._opens = re.compile(rf"[{_categories('Sc')}(\[{{¿¡]+")
        self._ending = re.compile(rf"(?!'[{ideograph}])'[{alpha}]")
        self._elided = re.compile(f".*[{alpha}]'")
        self._letter = re.compile(f"(?![{ideograph}])[{alpha}]")

    def tokenize(self, text: str) -> list[str]:
        """Split a cleaned line into tokens."""
        for pattern, rewrite in self._rules:
            text = pattern.sub(rewrite, text)
        words = text.split()
        tokens = []
        for word, following in zip(words, [*words[1:], ""]):
            keeps = (
                not re.fullmatch(r".*[^.]\.", word)
                or self._abbreviation.fullmatch(word)
                or self._lower.match(following)
                or self._before_digit
                and self._before_digit.fullmatch(word)
                and re.match("[0-9]", following)
            )
            tokens += [word] if keeps else [word[:-1], "."]
        return tokens

    def detokenize(self, tokens: Sequence[str]) -> str:
        """Join tokens into text."""
        words = _unescaped(tokens)
        pieces = []
        counts: dict[str, int] = {}  # of the quotes of each kind so far; an odd one closes
        opened = False
        for place, word in enumerate(words):
            before, previous = (["", "", *words])[place : place + 2]
            following = words[place + 1] if place + 1 < len(words) else ""
            opens, closes = self._attached(word, before, previous, following)
            if re.fullmatch("['\"„“`]+", word):
                kind = re.sub("^[„“]+$", '"', word)
                count = counts.get(kind, 0)
                if self._language == "cs" and word in ("„", "“"):
                    count = int(word == "“")
                # the Jones ' house
                possessive = word == "'" and previous.endswith("s") and self._language == "en"
                closing = count % 2 == 1 or possessive
                counts[kind] = 0 if possessive else count + 1
                closes |= closing
                opens |= not closing
            # quel chien ?
            spaced = self._language == "fr" and re.fullmatch(r"[?!:;\\%]", word)
            pieces += [" " if spaced or not (closes or opened) else "", word]
            opened = opens
        return "".join(pieces).strip(" \t\n\v\f\r")

    def _attached(self, word: str, before: str, previous: str, following: str) -> tuple[bool, bool]:
        """(no space after the word, no space before it), apart from quotes."""
        language = self._language
        east_asian = bool(self._east_asian.match(word))
        opens = bool(self._opens.fullmatch(word))
        closes = bool(re.fullmatch(r"[,.?!:;\\%}\])]+", word))
        if east_asian and language != "ko":
            closes |= bool(self._east_asian.match(previous[-1:]))
        if language == "en":  # it 's
            closes |= bool(self._ending.match(word))
        if language == "cs" and previous in (".", ","):  # 3 , 14
            closes |= all(re.fullmatch("[0-9]+", each) for each in (word, before))
        if language in ("fr", "it", "ga") and not east_asian:  # l' homme
            opens |= bool(self._elided.fullmatch(word) and self._letter.match(following))
        return opens, closes


def _apostrophe(language: str, alpha: str, number: str) -> list[tuple[str, str]]:
    if language == "en":  # the apostrophe belongs to the next token: it 's, the 1980 's
        return [
            (rf"([^{alpha}])'([^{alpha}])", r"\1 ' \2"),
            (rf"([^{alpha}{number}])'([{alpha}])", r"\1 ' \2"),
            (rf"([{alpha}])'([^{alpha}])", r"\1 ' \2"),
            (rf"([{alpha}])'([{alpha}])", r"\1 '\2"),
            (rf"([{number}])'(s)", r"\1 '\2"),
        ]
    if language in ("fr", "it"):  # the apostrophe belongs to the previous token: l' homme
        return [
            (rf"([^{alpha}])'([^{alpha}])", r"\1 ' \2"),
            (rf"([^{alpha}])'([{alpha}])", r"\1 ' \2"),
            (rf"([{alpha}])'([^{alpha}])", r"\1 ' \2"),
            (rf"([{alpha}])'([{alpha}])", r"\1' \2"),
        ]
    return [("'", " ' ")]


def _prefixes(language: str) -> tuple[str, str]:
    """Patterns of abbreviations without the period: (anywhere, only before a digit); the English
    ones if there are none of the language.
    """
    try:
        from sacremoses.corpus import NonbreakingPrefixes
    except ImportError:
        raise ModelError(
            "tokenization: moses: expected the package sacremoses, which has the abbreviations,"
            " found none; pip install 'rnnsearch-runtime[moses]'"
        ) from None
    lines = [line.split() for line in NonbreakingPrefixes().words(language)]
    before_digit = {line[0] for line in lines if line[1:] == ["#NUMERIC_ONLY#"]}
    # a line of several words is never a token
    always = [line[0] for line in lines if len(line) == 1 and line[0] not in before_digit]
    return "|".join(map(re.escape, always)), "|".join(map(re.escape, sorted(before_digit)))


def _unescaped(tokens: Iterable[str]) -> list[str]:
    """Undo Moses' escapes and split the tokens at white space."""
    text = f" {' '.join(' '.join(tokens).split())} "
    for escaped, plain in _ESCAPES:
        text = text.replace(escaped, plain)
    return text.split()
