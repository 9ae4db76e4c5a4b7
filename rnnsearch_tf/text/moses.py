"""Moses tokenization and detokenization, a whole batch at a time.

The rules of Moses' tokenizer.perl as sacremoses has them, without escaping and without the
aggressive hyphen splitting. What sacremoses lacks of today's script is not here either: the colon
of Finnish and Swedish (`USA:n`), `l·l` of Catalan, elision in Catalan and Irish, glottal stops of
Somali and Tetum, the period split off a last `U.S.`. Each rule is one regular expression over all
lines; only the rule about abbreviations looks at a token and the one after it.

detokenizer.perl walks through a sentence and decides before each token whether a
space comes. Here the same decision is taken for all tokens at once; what the walk
remembers, whether a quotation is open, is a count of the quotes so far.
"""

import functools
import re

import tensorflow as tf

from rnnsearch_tf.text.characters import (
    ALNUM,
    ALPHA,
    CURRENCY,
    EAST_ASIAN,
    IDEOGRAPH,
    LOWER,
    NUMBER,
    OTHERS_IDEOGRAPHS,
    OWN_LETTERS,
    SPACE,
)
from rnnsearch_tf.text.escapes import ESCAPES
from rnnsearch_tf.text.languages import abbreviations, base

_COMMAS = [
    (r"(\.\.+)", r" \1 "),  # a run of periods is one token
    (rf"([^{NUMBER}]),", r"\1 , "),  # a comma stays only within a number: 5,300
    (rf",([^{NUMBER}])", r" , \1"),
    (rf"([{NUMBER}]),$", r"\1 , "),
]

_APOSTROPHE = {
    "en": [  # the apostrophe goes with what follows: it 's, the 1980 's
        (rf"([^{ALPHA}])'([^{ALPHA}])", r"\1 ' \2"),
        (rf"([^{ALPHA}{NUMBER}])'([{ALPHA}])", r"\1 ' \2"),
        (rf"([{ALPHA}])'([^{ALPHA}])", r"\1 ' \2"),
        (rf"([{ALPHA}])'([{ALPHA}])", r"\1 '\2"),
        (rf"([{NUMBER}])'(s)", r"\1 '\2"),
    ],
    "fr": [  # the apostrophe goes with what precedes: l' homme
        (rf"([^{ALPHA}])'([^{ALPHA}])", r"\1 ' \2"),
        (rf"([^{ALPHA}])'([{ALPHA}])", r"\1 ' \2"),
        (rf"([{ALPHA}])'([^{ALPHA}])", r"\1 ' \2"),
        (rf"([{ALPHA}])'([{ALPHA}])", r"\1' \2"),
    ],
}
_APOSTROPHE["it"] = _APOSTROPHE["fr"]
_APOSTROPHE_ALONE = [("'", " ' ")]  # in every other language

_CLOSING = [(r"\.' *$", " . '")]  # a closing quote takes the full stop off the last word


def tokenize(texts, language):
    """Split text into Moses tokens.

    Departs from sacremoses, its yardstick, only where its Unicode tables end:
    letters newer than those tables and of the supplementary planes stay together.

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
    for pattern, rewrite in [
        _special(language),
        *_COMMAS,
        *_APOSTROPHE.get(language, _APOSTROPHE_ALONE),
        *_CLOSING,
    ]:
        texts = tf.strings.regex_replace(texts, pattern, rewrite)
    return _split_periods(tf.strings.split(texts), language)


def _special(language):
    """The rule that a sign, and an ideograph outside the language's alphabet, stands alone."""
    letters = OWN_LETTERS.get(language, "")
    ideographs = OTHERS_IDEOGRAPHS.get(language, IDEOGRAPH)
    return rf"([^{ALNUM}{letters}\s.'`,-]|[{ideographs}])", r" \1 "


def prefixes(language):
    """The language's abbreviations, from ``prefixes/LANGUAGE.txt``; English ones, as in Moses,
    where there is no such file.

    Returns:
        (words, words that count only before a digit): two tuples of str, without the period.
    """
    path = abbreviations(language) or abbreviations("en")
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line and not line[0].startswith("#")]
    return tuple(line[0] for line in lines if len(line) == 1), tuple(
        line[0] for line in lines if len(line) == 2
    )


@functools.cache
def _period_patterns(language):
    """Tokens that keep their period: anywhere, and before a digit."""
    always, before_digit = ("|".join(map(re.escape, words)) for words in prefixes(language))
    letter = rf"[{ALPHA}{OWN_LETTERS.get(language, '')}]"
    dotted = rf".*{letter}.*\..*|.*\..*{letter}.*"  # an inner period and a letter: U.S. p.m.
    return rf"(?:{always}|{dotted})\.", rf"(?:{before_digit})\." if before_digit else None


def _split_periods(tokens, language):
    """Split the last period off each token, unless it is an abbreviation's or a lower-case word
    follows.

    Args:
        tokens: RaggedTensor string [B, None].

    Returns:
        RaggedTensor string [B, None].
    """
    # both [T]
    words = tokens.values
    rows = tokens.value_rowids()
    _, following = _neighbours(words, rows)

    matches = tf.strings.regex_full_match
    always, before_digit = _period_patterns(language)
    keeps = matches(words, always) | matches(following, f"[{LOWER}].*")
    if before_digit:
        keeps |= matches(words, before_digit) & matches(following, "[0-9].*")
    splits = matches(words, r".*[^.]\.") & ~keeps
    words = tf.where(splits, tf.strings.regex_replace(words, r"\.$", " ."), words)
    return tokens.with_values(tf.strings.split(words)).merge_dims(1, 2)


def detokenize(tokens, language):
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
    after_opening = tf.concat([[False], opens], 0)[: tf.size(rows)]
    space = spaced | ~(closes | after_opening)
    pieces = tf.strings.join([tf.where(space, " ", ""), words])
    texts = tf.strings.reduce_join(tokens.with_values(pieces), axis=1)  # [B]
    return tf.strings.strip(texts)


def unescape(tokens):
    """Tokens without Moses' escapes, split at white space again: RaggedTensor string [B, None]."""
    texts = tf.strings.reduce_join(tokens, axis=1, separator=" ")
    texts = tf.strings.regex_replace(texts, f"[{SPACE}]+", " ")
    texts = tf.strings.join([" ", texts, " "])
    for escaped, plain in ESCAPES:
        texts = tf.strings.regex_replace(texts, escaped, plain)
    return tf.strings.split(texts)


def _attachments(words, rows, language):
    """How each token hangs together with its neighbours.

    Args:
        words: string [T], the tokens of all rows.
        rows: int64 [T], the row of each token.

    Returns:
        (closes, opens, spaced), bool [T]: it takes no space before it; it takes none
        after it; it takes one before it whatever precedes.
    """
    matches = tf.strings.regex_full_match
    previous, following = _neighbours(words, rows)  # string [T]; "" at the ends of a row

    east_asian = matches(words, f"[{EAST_ASIAN}].*")
    opens = matches(words, rf"[{CURRENCY}(\[{{¿¡]+")
    closes = matches(words, r"[,.?!:;\\%}\])]+")
    spaced = matches(words, r"[?!:;\\%]") & (language == "fr")  # quel chien ?
    # which has spaces between words
    closes |= east_asian & matches(previous, f".*[{EAST_ASIAN}]") & (language != "ko")
    if language == "en":
        closes |= matches(words, f"'[{ALPHA}].*") & ~matches(words, f"'[{IDEOGRAPH}].*")  # it 's
    if language == "cs":  # 3 , 14
        before, _ = _neighbours(previous, rows)
        closes |= matches(words, "[0-9]+") & matches(previous, "[.,]") & matches(before, "[0-9]+")
    if language in ("fr", "it", "ga"):  # l' homme; the one rule that could fit beside another
        letter = matches(following, f"[{ALPHA}].*") & ~matches(following, f"[{IDEOGRAPH}].*")
        opens |= ~east_asian & matches(words, f".*[{ALPHA}]'") & letter
    quotes = matches(words, "['\"„“`]+")
    # the Jones ' house
    possessive = quotes & (words == "'") & matches(previous, ".*s") & (language == "en")
    closing = _closing_quotes(words, rows, quotes, possessive, language)
    return closes | closing, opens | (quotes & ~closing), spaced


def _neighbours(words, rows):
    """The token before and the token after each, within its row; string [T] each, "" where there is
    none.
    """
    size = tf.size(rows)
    before = tf.equal(tf.concat([[-1], rows], 0)[:size], rows)
    after = tf.equal(tf.concat([rows, [-1]], 0)[1:], rows)
    previous = tf.where(before, tf.concat([[""], words], 0)[:size], "")
    following = tf.where(after, tf.concat([words, [""]], 0)[1:], "")
    return previous, following


def _closing_quotes(words, rows, quotes, possessive, language):
    """Which quotes close: every second one of its kind in the row, and possessive apostrophes.

    Moses counts the quotes of each kind: an even count so far opens, an odd one
    closes. A possessive apostrophe at an even count closes and is not counted, so
    that after it the count is even in either case, as at the start of a row. In Czech „ always
    opens and “ always closes, and the count goes on from there.

    Args:
        words, rows: string [T] and int64 [T].
        quotes, possessive: bool [T].

    Returns:
        bool [T].
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
    # a stretch from there on is one further
    count += tf.cast(tf.gather(tf.boolean_mask(czech, starts), stretch) == "“", tf.int32)
    closing = (count % 2 == 1) | possessive
    return tf.scatter_nd(places[:, None], tf.cast(closing, tf.int32), tf.shape(words, tf.int64)) > 0
