"""Moses tokenization and detokenization of a whole batch at once.

The rules are those of Moses' tokenizer.perl -no-escape as implemented by sacremoses. Rules of the
current script that sacremoses lacks are missing here too: the colon of Finnish and Swedish
(`USA:n`), `l·l` of Catalan, elision in Catalan and Irish, glottal stops of Somali and Tetum, the
period split off a final `U.S.`. Each rule is one regular expression over all lines; only the rule
about abbreviations uses a token and the next one.

detokenizer.perl goes through a sentence and decides before each token whether to write a space.
Here this decision is made for all tokens at once; the script's state, whether a quotation is open,
is computed by counting the quotes so far.
"""

from __future__ import annotations

import functools
import importlib.resources
import re

import tensorflow as tf

from rnnsearch_tf.text.characters import (
    ALNUM,
    ALPHA,
    CURRENCY,
    EAST_ASIAN,
    IDEOGRAPH,
    KOREAN_LETTERS,
    LOWER,
    NUMBER,
    SPACE,
)
from rnnsearch_tf.text.languages import base

_COMMAS = [
    (r"(\.\.+)", r" \1 "),  # a run of periods is one token
    (rf"([^{NUMBER}]),", r"\1 , "),  # a comma is kept only within a number: 5,300
    (rf",([^{NUMBER}])", r" , \1"),
    (rf"([{NUMBER}]),$", r"\1 , "),
]

_APOSTROPHE = {
    "en": [  # the apostrophe belongs to the next token: it 's, the 1980 's
        (rf"([^{ALPHA}])'([^{ALPHA}])", r"\1 ' \2"),
        (rf"([^{ALPHA}{NUMBER}])'([{ALPHA}])", r"\1 ' \2"),
        (rf"([{ALPHA}])'([^{ALPHA}])", r"\1 ' \2"),
        (rf"([{ALPHA}])'([{ALPHA}])", r"\1 '\2"),
        (rf"([{NUMBER}])'(s)", r"\1 '\2"),
    ],
    "fr": [  # the apostrophe belongs to the previous token: l' homme
        (rf"([^{ALPHA}])'([^{ALPHA}])", r"\1 ' \2"),
        (rf"([^{ALPHA}])'([{ALPHA}])", r"\1 ' \2"),
        (rf"([{ALPHA}])'([^{ALPHA}])", r"\1 ' \2"),
        (rf"([{ALPHA}])'([{ALPHA}])", r"\1' \2"),
    ],
}
_APOSTROPHE["it"] = _APOSTROPHE["fr"]
_APOSTROPHE_ALONE = [("'", " ' ")]  # in every other language

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
"""(regular expression, its replacement) of what Moses writes, whose files cannot contain ``|``."""


def tokenize(texts: tf.Tensor, language: str) -> tf.RaggedTensor:
    """Split text into Moses tokens.

    It differs from sacremoses only for letters that are newer than sacremoses' Unicode tables or in
    the supplementary planes: here they stay together.

    Args:
        texts: string [B], valid UTF-8, cleaned (:func:`~rnnsearch_tf.text.pipeline.clean`).
        language: a code such as ``"en"`` or ``"pt-BR"``; see :mod:`rnnsearch_tf.text.languages`.

    Returns:
        RaggedTensor string [B, None]; an empty line has no tokens.

    Example:
        >>> tokenize(tf.constant(["Mr. O'Neill's 5,300 dogs."]), "en").to_list()[0]
        [b'Mr.', b'O', b"'Neill", b"'s", b'5,300', b'dogs', b'.']
    """
    language = base(language)
    letters, ideographs = (KOREAN_LETTERS, r"\p{Han}") if language == "ko" else ("", IDEOGRAPH)
    for pattern, rewrite in [
        # a sign, or an ideograph outside the language's alphabet, is a token
        (rf"([^{ALNUM}{letters}\s.'`,-]|[{ideographs}])", r" \1 "),
        *_COMMAS,
        *_APOSTROPHE.get(language, _APOSTROPHE_ALONE),
        (r"\.' *$", " . '"),  # the period before a closing quote is split off the last word
    ]:
        texts = tf.strings.regex_replace(texts, pattern, rewrite)
    return _split_periods(tf.strings.split(texts), language)


def prefixes(language: str) -> tuple[list[str], list[str]]:
    """The language's abbreviations, from ``prefixes/LANGUAGE.txt``; as in Moses, the English ones
    if there is no such file.

    Returns:
        (abbreviations, abbreviations only before a digit), without the period.
    """
    folder = importlib.resources.files("rnnsearch_tf.text") / "prefixes"
    path = folder / f"{language}.txt"
    path = path if path.is_file() else folder / "en.txt"
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line and not line[0].startswith("#")]
    always, before_digit = ([line[0] for line in lines if len(line) == size] for size in (1, 2))
    return always, before_digit


@functools.cache
def _period_patterns(language: str) -> tuple[str, str | None]:
    """Patterns of the tokens that keep their period: anywhere, and before a digit."""
    always, before_digit = ("|".join(map(re.escape, words)) for words in prefixes(language))
    letter = f"[{ALPHA}{KOREAN_LETTERS if language == 'ko' else ''}]"
    dotted = rf".*{letter}.*\..*|.*\..*{letter}.*"  # an inner period and a letter: U.S. p.m.
    return rf"(?:{always}|{dotted})\.", rf"(?:{before_digit})\." if before_digit else None


def _split_periods(tokens: tf.RaggedTensor, language: str) -> tf.RaggedTensor:
    """Split the last period off each token, unless the token is an abbreviation or a lower-case
    word follows: string [B, None] in and out.
    """
    words = tokens.values  # [T]
    _, following = _neighbours(words, tokens.value_rowids())

    matches = tf.strings.regex_full_match
    always, before_digit = _period_patterns(language)
    keeps = matches(words, always) | matches(following, f"[{LOWER}].*")
    if before_digit:
        keeps |= matches(words, before_digit) & matches(following, "[0-9].*")
    splits = matches(words, r".*[^.]\.") & ~keeps
    words = tf.where(splits, tf.strings.regex_replace(words, r"\.$", " ."), words)
    return tokens.with_values(tf.strings.split(words)).merge_dims(1, 2)


def detokenize(tokens: tf.RaggedTensor, language: str) -> tf.Tensor:
    """Join Moses tokens into text.

    Args:
        tokens: RaggedTensor string [B, None].
        language: a code such as ``"en"`` or ``"pt-BR"``.

    Returns:
        string [B]; a row without tokens gives the empty string.

    Example:
        >>> tokens = tf.ragged.constant([["It", "'s", "(", "very", ")", "good", "."]])
        >>> detokenize(tokens, "en").numpy()[0]
        b"It's (very) good."
    """
    tokens = unescape(tokens)
    language = base(language)
    # both [T]
    words = tokens.values
    rows = tokens.value_rowids()
    closes, opens, spaced = _attachments(words, rows, language)
    after_opening = tf.concat([[False], opens], 0)[:-1]
    space = spaced | ~(closes | after_opening)
    pieces = tf.strings.join([tf.where(space, " ", ""), words])
    texts = tf.strings.reduce_join(tokens.with_values(pieces), axis=1)  # [B]
    return tf.strings.strip(texts)


def unescape(tokens: tf.RaggedTensor) -> tf.RaggedTensor:
    """Undo Moses' escapes and split the tokens at white space: RaggedTensor string [B, None]."""
    texts = tf.strings.reduce_join(tokens, axis=1, separator=" ")
    texts = tf.strings.regex_replace(texts, f"[{SPACE}]+", " ")
    texts = tf.strings.join([" ", texts, " "])
    for escaped, plain in ESCAPES:
        texts = tf.strings.regex_replace(texts, escaped, plain)
    return tf.strings.split(texts)


def _attachments(
    words: tf.Tensor, rows: tf.Tensor, language: str
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Decide how each token is attached to its neighbours.

    Args:
        words: string [T], the tokens of all rows.
        rows: int64 [T], the row of each token.

    Returns:
        (closes, opens, spaced), bool [T]: the token has no space before it; no space after it;
        always a space before it.
    """
    matches = tf.strings.regex_full_match
    previous, following = _neighbours(words, rows)  # string [T]; "" at the ends of a row

    east_asian = matches(words, f"[{EAST_ASIAN}].*")
    opens = matches(words, rf"[{CURRENCY}(\[{{¿¡]+")
    closes = matches(words, r"[,.?!:;\\%}\])]+")
    spaced = matches(words, r"[?!:;\\%]") & (language == "fr")  # quel chien ?
    # Korean has spaces between words
    closes |= east_asian & matches(previous, f".*[{EAST_ASIAN}]") & (language != "ko")
    if language == "en":
        closes |= matches(words, f"'[{ALPHA}].*") & ~matches(words, f"'[{IDEOGRAPH}].*")  # it 's
    if language == "cs":  # 3 , 14
        before, _ = _neighbours(previous, rows)
        closes |= matches(words, "[0-9]+") & matches(previous, "[.,]") & matches(before, "[0-9]+")
    if language in ("fr", "it", "ga"):  # l' homme; the only rule that may apply with another one
        letter = matches(following, f"[{ALPHA}].*") & ~matches(following, f"[{IDEOGRAPH}].*")
        opens |= ~east_asian & matches(words, f".*[{ALPHA}]'") & letter
    quotes = matches(words, "['\"„“`]+")
    # the Jones ' house
    possessive = quotes & (words == "'") & matches(previous, ".*s") & (language == "en")
    closing = _closing_quotes(words, rows, quotes, possessive, language)
    return closes | closing, opens | (quotes & ~closing), spaced


def _neighbours(words: tf.Tensor, rows: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """The previous and the next token of each in its row, string [T] each; "" if there is none."""
    before = tf.concat([[-1], rows], 0)[:-1] == rows
    after = tf.concat([rows, [-1]], 0)[1:] == rows
    previous = tf.where(before, tf.concat([[""], words], 0)[:-1], "")
    following = tf.where(after, tf.concat([words, [""]], 0)[1:], "")
    return previous, following


def _closing_quotes(
    words: tf.Tensor, rows: tf.Tensor, quotes: tf.Tensor, possessive: tf.Tensor, language: str
) -> tf.Tensor:
    """Find the closing quotes: every second one of its kind in the row, and possessive apostrophes.

    Moses counts the quotes of each kind: a quote opens at an even count and closes at an odd one. A
    possessive apostrophe at an even count closes and is not counted. The count after a possessive
    is therefore always even, as at the start of a row. In Czech, „ always opens and “ always
    closes, and counting continues from there. All arguments are [T], and the result is bool [T].
    """
    places = tf.where(quotes)[:, 0]  # [Q] of T
    kinds = tf.unique(tf.strings.regex_replace(tf.gather(words, places), "^[„“]+$", '"'), tf.int64)
    czech = tf.gather(words, places) if language == "cs" else tf.fill(tf.shape(places), "")  # [Q]
    # [Q], one number a row and kind
    group = tf.gather(rows, places) * tf.size(kinds.y, tf.int64) + kinds.idx
    order = tf.argsort(group, stable=True)
    places = tf.gather(places, order)
    group = tf.gather(group, order)
    possessive = tf.gather(possessive, places)
    czech = tf.gather(czech, order)

    starts = tf.concat([[-1], group], 0)[:-1] != group  # counts from 0 here: a new group ...
    starts |= tf.concat([[False], possessive], 0)[:-1]  # ... or just after a possessive
    starts |= (czech == "„") | (czech == "“")
    stretch = tf.cumsum(tf.cast(starts, tf.int32)) - 1  # [Q], 0 0 0 1 1 2 ...
    count = tf.cumsum(tf.cast(~possessive, tf.int32), exclusive=True)
    count -= tf.gather(tf.math.segment_min(count, stretch), stretch)
    # a stretch that starts at “ has one more
    count += tf.cast(tf.gather(tf.boolean_mask(czech, starts), stretch) == "“", tf.int32)
    closing = (count % 2 == 1) | possessive
    return tf.scatter_nd(places[:, None], tf.cast(closing, tf.int32), tf.shape(words, tf.int64)) > 0
