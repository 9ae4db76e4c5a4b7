"""Moses tokenization, a whole batch at a time.

The rules of Moses' tokenizer.perl without escaping and without the aggressive
hyphen splitting. Each rule is one regular expression over all lines; only the
rule about abbreviations looks at a token and the one after it.
"""

import functools
import re

import tensorflow as tf

from rnnsearch_tf.text.characters import ALNUM, ALPHA, IDEOGRAPH, LOWER, NUMBER, OTHERS_IDEOGRAPHS, OWN_LETTERS
from rnnsearch_tf.text.languages import abbreviations, base
from rnnsearch_tf.text.normalize import clean

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
        texts: string [B], valid UTF-8.
        language: a code such as ``"en"`` or ``"pt-BR"``; see :mod:`rnnsearch_tf.text.languages`.

    Returns:
        RaggedTensor string [B, None]; an empty line has no tokens.

    Example:
        >>> tokenize(tf.constant(["Mr. O'Neill's 5,300 dogs."]), "en").to_list()[0]
        [b'Mr.', b'O', b"'Neill", b"'s", b'5,300', b'dogs', b'.']
    """
    texts = clean(texts)
    language = base(language)
    for pattern, rewrite in [_special(language), *_COMMAS, *_APOSTROPHE.get(language, _APOSTROPHE_ALONE), *_CLOSING]:
        texts = tf.strings.regex_replace(texts, pattern, rewrite)
    return _split_periods(tf.strings.split(texts), language)


def _special(language):
    """The rule that every sign, and every ideograph outside the language's alphabet, stands alone."""
    letters, ideographs = OWN_LETTERS.get(language, ""), OTHERS_IDEOGRAPHS.get(language, IDEOGRAPH)
    return rf"([^{ALNUM}{letters}\s.'`,-]|[{ideographs}])", r" \1 "


def prefixes(language):
    """The language's abbreviations, from ``prefixes/LANGUAGE.txt``; English ones, as in Moses, where there is no such file.

    Returns:
        (words, words that count only before a digit): two tuples of str, without the period.
    """
    lines = [line.split() for line in abbreviations(language).read_text(encoding="utf-8").splitlines()]
    lines = [line for line in lines if line and not line[0].startswith("#")]
    return tuple(line[0] for line in lines if len(line) == 1), tuple(line[0] for line in lines if len(line) == 2)


@functools.cache
def _period_patterns(language):
    """Tokens that keep their period: anywhere, and before a digit."""
    always, before_digit = ("|".join(map(re.escape, words)) for words in prefixes(language))
    letter = rf"[{ALPHA}{OWN_LETTERS.get(language, '')}]"
    dotted = rf".*{letter}.*\..*|.*\..*{letter}.*"  # an inner period and a letter: U.S. p.m.
    return rf"(?:{always}|{dotted})\.", rf"(?:{before_digit})\." if before_digit else None


def _split_periods(tokens, language):
    """Split the last period off each token, unless it is an abbreviation's or a lower-case word follows.

    Args:
        tokens: RaggedTensor string [B, None].

    Returns:
        RaggedTensor string [B, None].
    """
    words, rows = tokens.values, tokens.value_rowids()  # both [T]
    same_row = tf.equal(tf.concat([rows[1:], [-1]], 0)[: tf.size(rows)], rows)
    following = tf.where(same_row, tf.concat([words, [""]], 0)[1:], "")  # [T]; "" after the last

    matches = tf.strings.regex_full_match
    always, before_digit = _period_patterns(language)
    keeps = matches(words, always) | matches(following, f"[{LOWER}].*")
    if before_digit:
        keeps |= matches(words, before_digit) & matches(following, "[0-9].*")
    splits = matches(words, r".*[^.]\.") & ~keeps
    words = tf.where(splits, tf.strings.regex_replace(words, r"\.$", " ."), words)
    return tokens.with_values(tf.strings.split(words)).merge_dims(1, 2)
