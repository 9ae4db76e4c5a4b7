"""Byte-pair codes of subword-nmt (Sennrich et al. 2016), applied in TensorFlow operations.

    symbols of a word  ←  its characters, the last one marked by </w>
    while a pair of neighbours is in the codes:
        replace all occurrences of the word's pair of the lowest rank by one symbol, left to right

Each distinct word of a batch is cut once, and all words are merged together: the loop has as many
steps as the word with the most merges. A symbol is a number, the same for equal strings. What is
kept of a piece is only where it begins, so that its text is cut out of the word at the end.

Dimension letters: T tokens, U distinct words, N characters of these words, A symbols of the words
that are not finished.
"""

from __future__ import annotations

from collections.abc import Mapping, Sized

import numpy as np
import tensorflow as tf

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.text.characters import PIECE_JOINT

MOST_BYTES = 1 << 26
"""Most bytes of a file of codes; 90,000 merges take about one million."""

_END = "</w>"
_VERSIONS = ("0.1", "0.2")


class BytePairCodes(tf.Module):
    """The codes of one file in the graph.

    In version 0.1 of the file ``</w>`` is a symbol by itself; in version 0.2 it is part of the
    word's last character. A file without a version has 0.1.

    Args:
        data: content of the file that ``subword-nmt learn-bpe`` wrote.
        where: its name in errors.

    Raises:
        UserError: the content is not such a file.

    Example:
        >>> codes = BytePairCodes(b"#version: 0.2\\nl o\\nlo w</w>\\n")
        >>> codes.tokenize(tf.ragged.constant([["low", "lower"]])).to_list()
        [[b'low', b'lo@@', b'w@@', b'e@@', b'r']]
    """

    def __init__(self, data: bytes, where: AnyPath = "BPE codes") -> None:
        super().__init__(name="bpe")
        self.data = data
        version, pairs = read_codes(data, where)
        numbers: dict[str, int] = {_END: 0}
        for left, right in pairs:
            for symbol in (left, right, left + right):
                numbers.setdefault(symbol, len(numbers))
        self._unknown = len(numbers)  # a character that no code has
        self._end_is_symbol = version == "0.1"
        ends = "" if self._end_is_symbol else _END
        self._inner = self._characters(numbers, "")
        self._last = self._characters(numbers, ends)
        ranks = range(len(pairs))
        lefts = np.array([numbers[left] for left, _ in pairs], np.int64)
        rights = np.array([numbers[right] for _, right in pairs], np.int64)
        self._no_rank = len(pairs)
        self._rank = _table(self._pair(lefts, rights), ranks, self._no_rank)
        merged = [numbers[left + right] for left, right in pairs]
        # int64 [ranks + 1], the symbol that replaces a pair
        self._merged = tf.constant([*merged, self._unknown], tf.int64)

    def tokenize(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Cut words into pieces, ``@@`` after each but a word's last: RaggedTensor string [B, None]
        -> RaggedTensor string [B, None].
        """
        # string [U], int32 [T]; reshaped because the rank of lower-cased words is not known
        words, word = tf.unique(tf.reshape(tokens.values, [-1]))
        pieces = tf.gather(self._pieces(words), word)  # [T, None]
        return tokens.with_values(pieces).merge_dims(1, 2)

    def _pieces(self, words: tf.Tensor) -> tf.RaggedTensor:
        """The pieces of words: string [U] -> RaggedTensor string [U, None]."""
        characters, offsets = tf.strings.unicode_decode_with_offsets(words, "UTF-8")
        symbols = self._symbols(characters)
        sizes = tf.strings.length(words)  # [U], in bytes
        if self._end_is_symbol:
            offsets = tf.concat([offsets, tf.cast(sizes, tf.int64)[:, tf.newaxis]], axis=1)
        word = symbols.value_rowids()  # [N]
        begins = self._merge(symbols.values, word)
        starts = tf.cast(offsets.values, tf.int32)
        begins &= starts < tf.gather(sizes, word)  # </w> by itself is no piece
        starts = tf.boolean_mask(starts, begins)
        word = tf.boolean_mask(word, begins)
        is_last = _differs_from_next(word)
        ends = tf.where(is_last, tf.gather(sizes, word), tf.roll(starts, -1, 0))
        texts = tf.strings.substr(tf.gather(words, word), starts, ends - starts)
        pieces = tf.strings.join([texts, tf.where(is_last, "", PIECE_JOINT)])
        return tf.RaggedTensor.from_value_rowids(pieces, word, tf.size(words, tf.int64))

    def _symbols(self, characters: tf.RaggedTensor) -> tf.RaggedTensor:
        """The first symbols of words: code points int32 [U, None] -> int64 [U, None]."""
        points = tf.cast(characters.values, tf.int64)
        symbols = self._inner.lookup(points)
        if not self._end_is_symbol:
            is_last = _differs_from_next(characters.value_rowids())
            symbols = tf.where(is_last, self._last.lookup(points), symbols)
        symbols = characters.with_values(symbols)
        if self._end_is_symbol:
            ends = tf.zeros([symbols.nrows(), 1], tf.int64)  # the number of </w>
            symbols = tf.concat([symbols, ends], axis=1)
        return symbols

    def _merge(self, symbols: tf.Tensor, word: tf.Tensor) -> tf.Tensor:
        """Merge pairs until none is in the codes.

        Args:
            symbols: int64 [N], the first symbols of all words.
            word: int64 [N], the rising number of each symbol's word.

        Returns:
            bool [N]: whether a piece begins with this symbol.
        """
        count = tf.size(symbols)
        state = (symbols, word, tf.range(count), tf.fill([count], True))
        any_length = tf.TensorShape([None])
        *_, begins = tf.while_loop(
            lambda symbols, *_: tf.size(symbols) > 0,
            self._merge_once,
            state,
            shape_invariants=(any_length,) * len(state),
        )
        return begins

    def _merge_once(
        self, symbols: tf.Tensor, word: tf.Tensor, places: tf.Tensor, begins: tf.Tensor
    ) -> tuple[tf.Tensor, ...]:
        """Merge the pair of the lowest rank in each word, and drop the words without a pair.

        Args:
            symbols: int64 [A], A > 0.
            word: int64 [A].
            places: int32 [A], the place of each symbol in `begins`.
            begins: bool [N].
        """
        pairs = self._pair(symbols, tf.roll(symbols, -1, 0))
        # [A], the rank of each symbol and the next of its word
        none = tf.constant(self._no_rank, tf.int64)
        ranks = tf.where(_differs_from_next(word), none, self._rank.lookup(pairs))
        lowest = tf.gather(tf.math.segment_min(ranks, word), word)
        is_merged = _every_second((ranks == lowest) & (ranks < none))
        symbols = tf.where(is_merged, tf.gather(self._merged, ranks), symbols)
        is_right = tf.roll(is_merged, 1, 0)
        gone = tf.boolean_mask(places, is_right)[:, tf.newaxis]
        begins = tf.tensor_scatter_nd_update(begins, gone, tf.zeros_like(gone[:, 0], tf.bool))
        left = ~is_right & (lowest < none)
        return *(tf.boolean_mask(each, left) for each in (symbols, word, places)), begins

    def _characters(self, numbers: Mapping[str, int], end: str) -> tf.lookup.StaticHashTable:
        """The table from code points to the symbols of a character before this end."""
        found = {-1: self._unknown}  # a table must not be empty
        for symbol, number in numbers.items():
            if symbol[1:] == end:
                found[ord(symbol[0])] = number
        return _table(list(found), list(found.values()), self._unknown)

    def _pair(self, left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
        """The number of a pair of symbols: int64 of any shape."""
        return left * (self._unknown + 1) + right


def join(tokens: tf.RaggedTensor) -> tf.RaggedTensor:
    """Join pieces to words: RaggedTensor string [B, None] -> RaggedTensor string [B, None].

    Example:
        >>> join(tf.ragged.constant([["lo@@", "w", "win@@", "d@@"]])).to_list()
        [[b'low', b'wind']]
    """
    lines = tf.strings.reduce_join(tokens, axis=1, separator=" ")
    return tf.strings.split(tf.strings.regex_replace(lines, f"{PIECE_JOINT}( |$)", ""))


def read_codes(data: bytes, where: AnyPath) -> tuple[str, list[tuple[str, str]]]:
    """Parse a file of codes; of a pair that occurs twice, the first counts.

    Args:
        data: its content.
        where: its name in errors.

    Returns:
        (version, the pairs in the order of their ranks).

    Raises:
        UserError: it is not UTF-8, has another version, or a line is not a pair.

    Example:
        >>> read_codes(b"#version: 0.2\\nt h\\nth e</w>\\n", "codes")
        ('0.2', [('t', 'h'), ('th', 'e</w>')])
    """
    try:
        lines = data.decode("utf-8").rstrip("\n").split("\n")
    except UnicodeDecodeError as error:
        number = data.count(b"\n", 0, error.start) + 1
        raise UserError(
            f"{where}:{number}: expected BPE codes in UTF-8, got byte 0x{data[error.start]:02x};"
            " copy the file again, or convert it with iconv"
        ) from None
    version = _VERSIONS[0]
    first = 1
    if lines[0].startswith("#version:"):
        version = lines.pop(0).partition(":")[2].strip()
        first = 2
    if version not in _VERSIONS:
        raise UserError(
            f"{where}:1: expected BPE codes of version {' or '.join(_VERSIONS)}, got {version!r};"
            " name the file that subword-nmt learn-bpe wrote"
        )
    pairs: dict[tuple[str, str], None] = {}
    for number, line in enumerate(lines, start=first):
        left, _, right = line.strip("\r ").partition(" ")
        if not left or not right or " " in right:
            raise UserError(
                f"{where}:{number}: expected two symbols separated by a space, got"
                f" {line[:60]!r}; name the file that subword-nmt learn-bpe wrote"
            )
        pairs[left, right] = None
    return version, list(pairs)


def _differs_from_next(numbers: tf.Tensor) -> tf.Tensor:
    """Whether each number [n] differs from the next one: bool [n], True for the last."""
    return tf.concat(
        [numbers[1:] != numbers[:-1], tf.fill([tf.minimum(tf.size(numbers), 1)], True)], 0
    )


def _every_second(chosen: tf.Tensor) -> tf.Tensor:
    """The first, third, … of each run of true values: bool [A] -> bool [A].

    Pairs that overlap, as in x x x, are merged from left to right.
    """
    places = tf.range(tf.size(chosen))
    run = tf.cumsum(tf.cast(~chosen, tf.int32))
    first = tf.gather(tf.math.segment_min(tf.where(chosen, places, tf.int32.max), run), run)
    return chosen & ((places - first) % 2 == 0)


def _table(keys: Sized, values: Sized, default: int) -> tf.lookup.StaticHashTable:
    """A table from int64 to int64."""
    items = (tf.constant(each, tf.int64, [len(each)]) for each in (keys, values))
    return tf.lookup.StaticHashTable(tf.lookup.KeyValueTensorInitializer(*items), default)
