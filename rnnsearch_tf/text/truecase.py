"""Moses' truecasing and detruecasing of a whole batch at once.

    truecase    first word of a sentence  →  its most frequent casing, if the model has it
                any other word            →  itself if the model has this casing, otherwise its most
                                             frequent casing; itself if the model lacks the word
    detruecase  first word of a sentence  →  its first letter as a capital

A sentence starts with the line and after each of . : ? !  Brackets and quotes before its first word
do not count. The rules are those of truecase.perl and detruecase.perl; sacremoses has the same with
``use_known=True``. Words with factors (``word|factor``) are words as they are.
"""

from __future__ import annotations

import re
from typing import Any

import tensorflow as tf

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.text.casing import capitals, lower

MOST_BYTES = 1 << 28
"""Most bytes of a truecasing model; one million words take about 20 million."""

_SENTENCE_ENDS = r"[.:?!]"
_BEFORE_SENTENCE = r"""[(["']|&apos;|&quot;|&#91;|&#93;"""
_MARKUP = r"<[^\s>][^>]*>|\|.*"
"""Tags, which are never changed, and what follows a factor's separator."""

_COUNT = re.compile(r"\([0-9.]+(/[0-9.]+)?\)")


class Truecaser(tf.Module):
    """A truecasing model in the graph.

    Args:
        data: content of the file that Moses' train-truecaser.perl or sacremoses wrote.
        where: its name in errors.

    Raises:
        UserError: the content is not such a file.

    Example:
        >>> model = Truecaser(b"the (9/10) The (1)\\nParis (5/5)\\n")
        >>> model.truecase(tf.ragged.constant([["The", "PARIS", ".", "The"]])).to_list()
        [[b'the', b'Paris', b'.', b'the']]
    """

    def __init__(self, data: bytes, where: AnyPath = "truecasing model") -> None:
        super().__init__(name="truecaser")
        self.data = data
        casings = read_casings(data, where)
        best = tf.constant([casing[0] for casing in casings])
        # of two lines with the same letters the last counts, as in truecase.perl
        keys = lower(best).numpy().tolist()
        items = dict(zip(keys, best.numpy().tolist()))
        self._best = _table(list(items), list(items.values()), "")
        others = sorted({other for casing in casings for other in casing[1:]} | {""})
        self._known = _table(others, others, "")

    def truecase(self, tokens: tf.RaggedTensor, begins: bool = True) -> tf.RaggedTensor:
        """Give words their usual casing: RaggedTensor string [B, None], same shape out.

        Args:
            tokens: lines of words.
            begins: whether a sentence begins with each line.
        """
        words = tokens.values  # [T]
        best = self._best.lookup(lower(words))
        kept = ~_starts(tokens, begins) & (self._known.lookup(words) != "")
        kept |= (best == "") | tf.strings.regex_full_match(words, _MARKUP)
        return tokens.with_values(tf.where(kept, words, best))


def detruecase(tokens: tf.RaggedTensor) -> tf.RaggedTensor:
    """Write the first word of each sentence with a capital: RaggedTensor string [B, None], same
    shape out.

    Example:
        >>> detruecase(tf.ragged.constant([['"', "ça", "va", "?", "oui"]])).to_list()[0][1].decode()
        'Ça'
    """
    words = tokens.values  # [T]
    first = tf.strings.substr(words, 0, 1, "UTF8_CHAR")
    rest = tf.strings.substr(words, tf.strings.length(first), tf.strings.length(words))
    capital = tf.strings.join([capitals(first), rest])
    return tokens.with_values(tf.where(_starts(tokens, markup=False), capital, words))


def read_casings(data: bytes, where: AnyPath) -> list[list[str]]:
    """Parse a truecasing model: lines ``word (count/total) Word (count)``.

    Args:
        data: its content.
        where: its name in errors.

    Returns:
        The casings of each word, the most frequent one first.

    Raises:
        UserError: it is empty or not UTF-8, or a line is not one of casings and counts.
    """
    try:
        lines = data.decode("utf-8").rstrip("\n").split("\n")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{where}:{number}: expected a truecasing model in UTF-8, got byte"
            f" 0x{data[error.start]:02x}; copy the file again, or convert it with iconv"
        ) from None
    casings = []
    for number, line in enumerate(lines, start=1):
        fields = line.strip("\r ").split(" ")
        if len(fields) % 2 or not all(map(_COUNT.fullmatch, fields[1::2])):
            raise UserError(
                f"{where}:{number}: expected a line `word (count/total) Word (count)`, got"
                f" {line[:60]!r}; name the file that train-truecaser.perl wrote"
            )
        casings.append(fields[::2])
    return casings


def _starts(tokens: tf.RaggedTensor, begins: bool = True, markup: bool = True) -> tf.Tensor:
    """Whether a token may be the first word of a sentence: bool [T].

    The last token before it that is neither a bracket nor a quote decides: an end of a sentence, or
    none in its line.

    Args:
        tokens: RaggedTensor string [B, None], T tokens.
        begins: whether a sentence begins with each line.
        markup: whether tags do not count either.
    """
    words = tokens.values
    rows = tokens.value_rowids()  # [T]
    skipped = f"{_BEFORE_SENTENCE}|{_MARKUP}" if markup else _BEFORE_SENTENCE
    counts = ~tf.strings.regex_full_match(words, skipped)
    ends = tf.boolean_mask(tf.strings.regex_full_match(words, _SENTENCE_ENDS), counts)
    # of the last token that counts before each one: whether it ends a sentence, and its row
    before = tf.cumsum(tf.cast(counts, tf.int32), exclusive=True)
    ends = tf.gather(tf.concat([[True], ends], 0), before)
    row = tf.gather(tf.concat([[-1], tf.boolean_mask(rows, counts)], 0), before)
    return tf.where(row == rows, ends, begins)


def _table(keys: list[Any], values: list[Any], default: str) -> tf.lookup.StaticHashTable:
    items = (tf.constant(each, tf.string, [len(each)]) for each in (keys, values))
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(*items), default)
