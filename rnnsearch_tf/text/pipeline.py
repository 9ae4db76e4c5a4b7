"""One side of the model, both ways: text -> tokens -> ids, and ids -> tokens -> text."""

from __future__ import annotations

import dataclasses
import os
import pathlib
import re
from collections.abc import Iterable, Sequence

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import END_ID, PAD_ID, SPECIAL_TOKENS, UNKNOWN_ID, Config, TextConfig
from rnnsearch_tf.config.option import names_with
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.files.reading import read_lines
from rnnsearch_tf.runtime.progress import announced
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text import subwords
from rnnsearch_tf.text.characters import CONTROL, INVISIBLE, MARK, SPACE
from rnnsearch_tf.text.counting import TokenCounts, count_tokens
from rnnsearch_tf.text.escapes import ESCAPED
from rnnsearch_tf.text.languages import warn_once
from rnnsearch_tf.text.moses import detokenize, tokenize, unescape
from rnnsearch_tf.text.sampling import SubwordSampler
from rnnsearch_tf.text.vocabulary import Vocabulary, batches

_MOST_MARKS = 30
_CUT_UNKNOWN = " ".join(re.findall(r"\w+|\W", SPECIAL_TOKENS[UNKNOWN_ID]))
"""The unknown word as Moses's rules cut it."""


class Text(tf.Module):
    """Text handling of one language, the same in training, translation and serving.

    All methods are TensorFlow ops on a whole batch: they run eagerly, in a
    ``tf.function``, in ``tf.data``, and in a SavedModel that tracks this module.

    Args:
        config: TextConfig.
        vocabulary: Vocabulary.
        subword_model: bytes of the SentencePiece model; only for ``tokenization: sentencepiece``.

    Raises:
        UserError: the SentencePiece model is no model or does not fit the vocabulary.

    Example:
        >>> text = build_text(TextConfig(language="fr"), ["L'homme dort.", "L'homme rit."])
        >>> text.encode(tf.constant(["L'homme chante."])).to_list()
        [[4, 5, 2, 3, 1]]
        >>> text.decode(tf.constant([[4, 5, 3, 1, 0]])).numpy()[0]
        b"L'homme."
    """

    def __init__(
        self, config: TextConfig, vocabulary: Vocabulary, subword_model: bytes | None = None
    ):
        super().__init__(name="text")
        self.config = config
        self.vocabulary = vocabulary
        self._subwords = None
        if config.tokenization == "moses":
            warn_once(config.language)
        if config.tokenization == "sentencepiece":
            self._subwords = subwords.Subwords(subword_model)
            _check_pieces(self._subwords.pieces, vocabulary.tokens)

    def tokenize(self, texts):
        """Normalize, lower-case if so configured, and split.

        Args:
            texts: string [B]; invalid UTF-8 becomes U+FFFD.

        Returns:
            RaggedTensor string [B, None]; an empty line has no tokens.
        """
        return _tokenize(texts, self.config, self._subwords)

    def tokenize_translations(self, texts):
        """As :meth:`tokenize`, of texts that a model wrote: an unknown word, ``<unk>``, is one
        token, which Moses's rules cut into three.
        """
        tokens = self.tokenize(texts)
        if self.config.tokenization != "moses":
            return tokens
        lines = tf.strings.reduce_join(tokens, axis=1, separator=" ")
        return tf.strings.split(
            tf.strings.regex_replace(lines, _CUT_UNKNOWN, SPECIAL_TOKENS[UNKNOWN_ID])
        )

    def prepared(self, texts):
        """Texts as SentencePiece meets them: normalized, cleaned, lower-cased if so configured;
        string [B] -> string [B].
        """
        return _prepare(texts, self.config)

    def sampler(self):
        """The SubwordSampler of the option ``sampling``; None where it is not set."""
        alpha = self.config.sampling
        return None if alpha is None else SubwordSampler(self._subwords.model, alpha)

    def split(self, texts):
        """As :meth:`tokenize`, of lines that are Moses tokens already, with spaces between, escaped
        (``&apos;``) or not.

        Words stay as they were cut, and escaped where the vocabulary of ``tokenization: space`` has
        escaped words; subword pieces are those of the detokenized line.
        """
        if self.config.tokenization == "sentencepiece":
            return self.tokenize(detokenize(_split(texts), self.config.language))  # which unescapes
        return self.words(texts)

    def words(self, texts):
        """The Moses tokens of such lines as they were cut, normalized as text is; RaggedTensor
        string [B, None].
        """
        if self.config.tokenization == "space" and any(map(ESCAPED.search, self.vocabulary.tokens)):
            return self.tokenize(texts)
        joined = tf.strings.reduce_join(unescape(_split(texts)), axis=1, separator=" ")
        return _tokenize(joined, dataclasses.replace(self.config, tokenization="space"), None)

    def same_as(self, other) -> bool:
        """Whether both make the same ids of every text, and the same text of all ids."""
        settings = [
            tuple(getattr(text.config, name) for name in names_with(TextConfig, "makes_tokens"))
            for text in (self, other)
        ]
        models = [t._subwords.model if t._subwords else None for t in (self, other)]
        return (
            settings[0] == settings[1]
            and models[0] == models[1]
            and self.vocabulary.tokens == other.vocabulary.tokens
        )

    def detokenize(self, tokens):
        """Join tokens into text: RaggedTensor string [B, None] -> string [B].

        Tokens of ``tokenization: space`` are joined by spaces.
        """
        if self.config.tokenization == "sentencepiece":
            return subwords.join(tokens)
        if self.config.tokenization == "space":
            return tf.strings.reduce_join(tokens, axis=1, separator=" ")
        return detokenize(tokens, self.config.language)

    def ids(self, tokens):
        """Ids with the end symbol after each row: RaggedTensor string [B, None] -> RaggedTensor
        int32 [B, None].
        """
        ids = self.vocabulary.ids(tokens)
        return tf.concat([ids, tf.fill([ids.nrows(), 1], END_ID)], axis=1)

    def tokens(self, ids, further=None):
        """Tokens of ids, up to the end symbol and without padding.

        Args:
            ids: int32 [B, I], or RaggedTensor int32 [B, None].
            further: string [B, n], the tokens of the ids from the vocabulary's size on; None: those
                are unknown words.

        Returns:
            RaggedTensor string [B, None].
        """
        if isinstance(ids, tf.RaggedTensor):
            ids = ids.to_tensor(PAD_ID)
        # [B, I], from the end symbol on
        ended = tf.cumsum(tf.cast(tf.equal(ids, END_ID), tf.int32), axis=1) > 0
        keep = ~ended & tf.not_equal(ids, PAD_ID)
        words = self.vocabulary.words(ids) if further is None else self._words(ids, further)
        return tf.ragged.boolean_mask(words, keep)

    def _words(self, ids, further):
        """Words of ids, those from the vocabulary's size on among the further ones of their row."""
        places = ids - self.vocabulary.size
        return tf.where(
            places < 0,
            self.vocabulary.words(ids),
            tf.gather(further, tf.maximum(places, 0), batch_dims=1),
        )

    def encode(self, texts):
        """Ids of texts: string [B] -> RaggedTensor int32 [B, None], each row ended by the end
        symbol.
        """
        return self.ids(self.tokenize(texts))

    def decode(self, ids):
        """Texts of ids: int32 [B, I] or ragged -> string [B]."""
        return self.detokenize(self.tokens(ids))

    def save(self, folder, side):
        """Write ``vocabulary.SIDE.txt``, and ``SIDE.spm.model`` with subwords; `side` is "source"
        or "target".
        """
        run = Run(folder)
        if self._subwords is not None:
            write_file(run.subword_model(side), self._subwords.model)
        self.vocabulary.save(run.vocabulary(side))  # last: with it the side is whole


class TracedText:
    """A Text whose operations are traced: one sentence meets many small ones, which take longer one
    by one.

    Args:
        text: Text.
        translations: its lines are what a model wrote, see :meth:`Text.tokenize_translations`.
    """

    def __init__(self, text, translations=False):
        tokenize = text.tokenize_translations if translations else text.tokenize
        lines = tf.TensorSpec([None], tf.string)
        ids = tf.TensorSpec([None, None], tf.int32)
        tokens = tf.RaggedTensorSpec([None, None], tf.string, ragged_rank=1)

        def traced(function, signature):
            return tf.function(function, autograph=False, input_signature=[signature])

        def with_ids(tokens):
            return tokens, text.ids(tokens)

        self._tokenize = traced(lambda lines: with_ids(tokenize(lines)), lines)
        self._split = traced(lambda lines: with_ids(text.split(lines)), lines)
        self.tokens = traced(text.tokens, ids)
        self.tokens_with = tf.function(
            text.tokens,
            autograph=False,
            input_signature=[ids, tf.TensorSpec([None, None], tf.string)],
        )
        self._detokenize = traced(text.detokenize, tokens)

    def tokens_and_ids(self, lines, tokenized=False):
        """(tokens, ids) of every line, as lists; the ids end with the end symbol, the tokens have
        none.
        """
        tokens, ids = (self._split if tokenized else self._tokenize)(tf.constant(lines, tf.string))
        return strings(tokens), ids.to_list()

    def texts_and_tokens(self, tokens):
        """(texts, tokens) of a RaggedTensor [B, None]: list of str, list of lists of str."""
        return [text.decode("utf-8") for text in self._detokenize(tokens).numpy()], strings(tokens)


def strings(tokens) -> list:
    """Tokens of a ragged tensor, as lists of str."""
    return [[token.decode("utf-8") for token in row] for row in tokens.to_list()]


def build_text(config: TextConfig, training: str | os.PathLike | Iterable) -> Text:
    """Make the text handling of one side from its training text.

    With ``config.vocabulary``, a vocabulary file or a SentencePiece model, the training text is not
    read.

    Args:
        config: TextConfig of the side.
        training: path of a line file (plain or .gz, streamed), or an iterable of str.

    Raises:
        UserError: a file is missing, malformed or empty, or the sentencepiece package is.
    """
    is_file = isinstance(training, (str, os.PathLike))
    counts = token_counts(config)
    for batch in batches(read_lines(training) if is_file else training) if counts else ():
        counts.add(batch)
    return text_of_counts(config, counts, str(training) if is_file else "training text")


def build_texts(config: Config, pairs: Iterable) -> list[Text]:
    """As :func:`build_text`, of both sides in one pass over their training text.

    Args:
        config: Config.
        pairs: iterable of (source, target) lines, str or bytes; read to its end, unless
            vocabularies are given.

    Returns:
        [source Text, target Text].
    """
    configs = {"source": config.source, "target": config.target}
    counts = {side: token_counts(each) for side, each in configs.items()}
    count_tokens(counts, pairs)
    return [
        text_of_counts(each, counts[side], f"{side} training text")
        for side, each in configs.items()
    ]


def extend_texts(texts: Sequence[Text], pairs: Iterable, number: int) -> list[Text]:
    """Texts whose vocabularies have words of another text too, behind their own, whose ids stay.

    Args:
        texts: (source Text, target Text).
        pairs: iterable of (source, target) lines of the other text, str or bytes; read to its end.
        number: words to add to each side at most: its most frequent ones, none rarer than the
            option ``minimum_count``; of a side that is cut into subwords, pieces: the characters
            that it lacks, then the most probable.

    Returns:
        [source Text, target Text]; the option ``vocabulary_size`` of each has grown where it counts
        and there are more entries now.
    """
    sides = dict(zip(("source", "target"), texts))
    counts = {side: _word_counts(text.config) for side, text in sides.items()}
    count_tokens(counts, pairs)
    return [_extended(text, counts[side].total(), number) for side, text in sides.items()]


def load_text(folder, side, config: TextConfig) -> Text:
    """Read what ``Text.save`` wrote.

    Raises:
        UserError: a file is missing or malformed, or the two do not belong together.
    """
    run = Run(folder)
    subword_model = (
        _read_model(run.subword_model(side)) if config.tokenization == "sentencepiece" else None
    )
    return Text(config, Vocabulary.load(run.vocabulary(side)), subword_model)


def shortfall(text, side, config: TextConfig) -> str | None:
    """A sentence about a built vocabulary that has fewer entries than were asked for; None where it
    has them all.
    """
    if config.vocabulary is not None or text.vocabulary.size >= config.vocabulary_size:
        return None
    return (
        f"{side} vocabulary: {text.vocabulary.size:,} of the {config.vocabulary_size:,} entries"
        f" that {side}.vocabulary_size asks for: the text has no more"
        + (
            "; subwords this rare are hard to learn, set it lower"
            if config.tokenization == "sentencepiece"
            else ""
        )
    )


def padded(rows) -> np.ndarray:
    """Rows of ids as one matrix, filled up with PAD_ID on the right: list of B lists or arrays ->
    int32 [B, longest].

    Example:
        >>> padded([[5, 1], [1]]).tolist()
        [[5, 1], [1, 0]]
    """
    matrix = np.full((len(rows), max(map(len, rows))), PAD_ID, np.int32)
    for row, ids in zip(matrix, rows):
        row[: len(ids)] = ids
    return matrix


def normalize(texts, form="NFC", remove_invisible=False):
    """Replace invalid UTF-8 by U+FFFD and take a Unicode normal form.

    A normal form sorts the marks on a letter, in a time that is quadratic in their number. So of a
    run of marks the first 30 are kept, the number that the Stream-Safe Text Format of Unicode (UAX
    #15) takes for more than any writing has.

    Args:
        texts: string [B] (or any shape).
        form: ``"NFC"``, ``"NFKC"`` or ``"none"``.
        remove_invisible: bool, whether to take out the characters that nobody sees first, see
            `INVISIBLE` in characters.py.

    Returns:
        string, same shape, always valid UTF-8.

    Example:
        >>> normalize(tf.constant([b"e\\xcc\\x81"])).numpy()[0].decode()
        'é'
    """
    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    if remove_invisible:
        texts = tf.strings.regex_replace(texts, f"[{INVISIBLE}]+", "")
    if form == "none":
        return texts
    import tensorflow_text  # its op library takes a second to load, and form "none" does without

    texts = tf.strings.regex_replace(texts, f"([{MARK}]{{{_MOST_MARKS}}})[{MARK}]+", r"\1")
    return tensorflow_text.normalize_utf8(texts, form)


def in_form(lines, form) -> list:
    """Lines in a Unicode normal form: list[str] -> list[str], as :func:`normalize`."""
    return [line.decode("utf-8") for line in normalize(tf.constant(lines, tf.string), form).numpy()]


def clean(texts):
    """Turn every run of white space (Unicode's too) into one space, delete control characters,
    strip.

    Example:
        >>> clean(tf.constant([" a\\t\\u00a0b\\x07 "])).numpy()[0]
        b'a b'
    """
    texts = tf.strings.regex_replace(texts, f"[{SPACE}]+", " ")
    texts = tf.strings.regex_replace(texts, f"[{CONTROL}]", "")
    texts = tf.strings.regex_replace(texts, "  +", " ")  # "a \x07 b" has left two
    return tf.strings.strip(texts)


def _tokenize(texts, config, pieces):
    texts = tf.convert_to_tensor(texts, tf.string)
    texts.shape.assert_has_rank(1)
    if config.tokenization == "moses":
        # case decides about periods, so it goes after
        tokens = tokenize(_cleaned(texts, config), config.language)
        return tf.strings.lower(tokens, "utf-8") if config.lowercase else tokens
    texts = _prepare(texts, config)
    return pieces.tokenize(texts) if pieces else tf.strings.split(texts)


def _split(texts):
    return tf.strings.split(tf.convert_to_tensor(texts, tf.string))


def _cleaned(texts, config):
    return clean(normalize(texts, config.unicode_form, config.remove_invisible))


def _prepare(texts, config):
    texts = _cleaned(texts, config)
    return tf.strings.lower(texts, "utf-8") if config.lowercase else texts


def token_counts(config: TextConfig, most_lines: int | None = None):
    """TokenCounts of the words that a vocabulary is made of, or subwords are learned from; None
    where a vocabulary is given.
    """
    return _word_counts(config, most_lines) if config.vocabulary is None else None


def _word_counts(config, most_lines=None):
    """TokenCounts of words; of a side that is cut into subwords, what spaces separate."""
    if most_lines is None and config.tokenization == "sentencepiece":
        most_lines = subwords.MOST_LINES
    return TokenCounts(lambda texts: _tokenize(texts, config, None), most_lines)


def _extended(text, counts, number):
    """The Text with words that were counted in another text, or pieces of them, behind its own."""
    config = text.config
    model = None
    if config.tokenization == "sentencepiece":
        with announced("learning new subwords"):
            model = subwords.extended(text._subwords.model, counts, number)
        vocabulary = Vocabulary(subwords.Subwords(model).pieces)
    else:
        vocabulary = text.vocabulary.extended(counts, number, config.minimum_count)
    size = (
        max(config.vocabulary_size, vocabulary.size)
        if config.vocabulary is None
        else config.vocabulary_size
    )
    return Text(dataclasses.replace(config, vocabulary_size=size), vocabulary, model)


def text_of_counts(config: TextConfig, counts, where) -> Text:
    """The Text of the vocabulary that the configuration names, or of the words counted."""
    if config.tokenization != "sentencepiece":
        if counts is None:
            return Text(config, Vocabulary.load(config.vocabulary))
        return Text(
            config,
            Vocabulary.build(
                counts.total(config.vocabulary_size + len(SPECIAL_TOKENS)),
                config.vocabulary_size,
                config.minimum_count,
                where,
            ),
        )
    if counts is None:
        model = _read_model(config.vocabulary)
        where = config.vocabulary
    else:
        with announced(f"learning {config.vocabulary_size:,} subwords"):
            model = subwords.train(counts.total(), config.vocabulary_size, where)
    return Text(config, Vocabulary(subwords.Subwords(model, where).pieces), model)


def _read_model(path):
    try:
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise UserError(
            f"{path}: expected a SentencePiece model, got: {error.strerror}; check the path"
        ) from None


def _check_pieces(pieces, tokens):
    """The vocabulary file of a subword model is the list of its pieces."""
    if pieces != tokens:
        line = next(
            (k for k, (piece, token) in enumerate(zip(pieces, tokens)) if piece != token),
            min(len(pieces), len(tokens)),
        )
        raise UserError(
            f"vocabulary line {line + 1}: expected piece {line} of the SentencePiece model, which"
            f" has {len(pieces)} pieces, got another in a vocabulary of {len(tokens)}; the two"
            " files belong to different models"
        )
