"""Text handling of one side of the model: text -> tokens -> ids, and ids -> tokens -> text."""

from __future__ import annotations

import pathlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import END_ID, PAD_ID, SPECIAL_TOKENS, UNKNOWN_ID, Config, TextConfig
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.runs.folder import Run
from rnnsearch_tf.text import subwords
from rnnsearch_tf.text.casing import lower
from rnnsearch_tf.text.characters import CONTROL, INVISIBLE, SPACE
from rnnsearch_tf.text.counting import Line, Tokenizer, count_tokens
from rnnsearch_tf.text.languages import UNSEGMENTED, base
from rnnsearch_tf.text.moses import detokenize, tokenize
from rnnsearch_tf.text.vocabulary import Vocabulary


class Text(tf.Module):
    """Text handling of one language, the same in training, translation and serving.

    All methods are TensorFlow ops on a whole batch: they run eagerly, in a
    ``tf.function``, in ``tf.data``, and in a SavedModel that tracks this module.

    Args:
        words: the vocabulary; for ``tokenization: sentencepiece``, the subwords.

    Raises:
        UsageError: ``tokenization: moses`` for a language without spaces between words.

    Example:
        >>> text = build_text(TextConfig(language="fr"), ["L'homme dort.", "L'homme rit."])
        >>> text.encode(tf.constant(["L'homme chante."])).to_list()
        [[4, 5, 2, 3, 1]]
        >>> text.decode(tf.constant([[4, 5, 3, 1, 0]])).numpy()[0]
        b"L'homme."
    """

    def __init__(self, config: TextConfig, words: Vocabulary | subwords.Subwords) -> None:
        super().__init__(name="text")
        self.config = config
        self._subwords = words if isinstance(words, subwords.Subwords) else None
        self.vocabulary = words if isinstance(words, Vocabulary) else Vocabulary(words.pieces)
        if config.tokenization == "moses" and base(config.language) in UNSEGMENTED:
            raise UsageError(
                f"language {config.language}: expected one with spaces between words for"
                " tokenization: moses; use tokenization: sentencepiece, or space for text that is"
                " segmented already"
            )

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Normalize, lower-case if configured, and split into tokens.

        Args:
            texts: string [B]; invalid UTF-8 becomes U+FFFD.

        Returns:
            RaggedTensor string [B, None]; an empty line has no tokens.
        """
        return _tokenize(texts, self.config, self._subwords)

    def tokenize_translations(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Like :meth:`tokenize`, for the output of a model: an unknown word, ``<unk>``, which
        Moses' rules would cut, is one token.
        """
        tokens = self.tokenize(texts)
        if self.config.tokenization == "sentencepiece":
            return tokens
        unknown = SPECIAL_TOKENS[UNKNOWN_ID]
        cut = tf.strings.reduce_join(self.tokenize([unknown]), axis=1, separator=" ")[0]
        lines = tf.strings.reduce_join(tokens, axis=1, separator=" ")
        return tf.strings.split(tf.strings.regex_replace(lines, cut, unknown))

    def text_of_moses(self, lines: tf.Tensor) -> tf.Tensor:
        """The text of lines of Moses tokens separated by spaces, with or without escapes
        (``&apos;``): string [B] -> string [B]. For ``tokenization: space``, the lines themselves.
        """
        lines = tf.convert_to_tensor(lines, tf.string)
        if self.config.tokenization == "space":
            return lines
        return detokenize(tf.strings.split(lines), self.config.language)

    @property
    def subword_model(self) -> bytes | None:
        """Bytes of the SentencePiece model; None without subwords."""
        return self._subwords.model if self._subwords else None

    def same_as(self, other: Text) -> bool:
        """Whether both give the same ids for every text, and the same text for all ids."""

        def all_of(text: Text) -> tuple[Any, ...]:
            config = text.config
            names = config.language, config.tokenization, config.lowercase
            return *names, text.vocabulary.tokens, text.subword_model

        return all_of(self) == all_of(other)

    def detokenize(self, tokens: tf.RaggedTensor) -> tf.Tensor:
        """Join tokens into text: RaggedTensor string [B, None] -> string [B].

        Tokens of ``tokenization: space`` are joined by spaces.
        """
        if self.config.tokenization == "sentencepiece":
            return subwords.join(tokens)
        if self.config.tokenization == "space":
            return tf.strings.reduce_join(tokens, axis=1, separator=" ")
        return detokenize(tokens, self.config.language)

    def ids(self, tokens: tf.RaggedTensor) -> tf.RaggedTensor:
        """Ids of tokens, with the end symbol after each row: RaggedTensor string [B, None] ->
        RaggedTensor int32 [B, None].
        """
        ids = self.vocabulary.ids(tokens)
        return tf.concat([ids, tf.fill([ids.nrows(), 1], END_ID)], axis=1)

    def tokens(self, ids: tf.Tensor | tf.RaggedTensor) -> tf.RaggedTensor:
        """Tokens of ids, up to the end symbol and without padding.

        Args:
            ids: int32 [B, I], or RaggedTensor int32 [B, None].

        Returns:
            RaggedTensor string [B, None].
        """
        if isinstance(ids, tf.RaggedTensor):
            ids = ids.to_tensor(PAD_ID)
        # bool [B, I], true from the end symbol on
        ended = tf.cumsum(tf.cast(tf.equal(ids, END_ID), tf.int32), axis=1) > 0
        keep = ~ended & tf.not_equal(ids, PAD_ID)
        return tf.ragged.boolean_mask(self.vocabulary.words(ids), keep)

    def encode(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Ids of texts: string [B] -> RaggedTensor int32 [B, None]; each row ends with the end
        symbol.
        """
        return self.ids(self.tokenize(texts))

    def decode(self, ids: tf.Tensor | tf.RaggedTensor) -> tf.Tensor:
        """Texts of ids: int32 [B, I] or ragged -> string [B]."""
        return self.detokenize(self.tokens(ids))

    def save(self, folder: AnyPath, side: str) -> None:
        """Write ``vocabulary.SIDE.txt`` and, with subwords, ``SIDE.spm.model``; `side` is "source"
        or "target".
        """
        run = Run(folder)
        if self.subword_model is not None:
            write_file(run.subword_model(side), self.subword_model)
        self.vocabulary.save(run.vocabulary(side))  # last: its presence means a complete side


def load_texts(folder: AnyPath, config: Config) -> tuple[Text, Text]:
    """Load (source Text, target Text) from a folder; see :func:`load_text`."""
    return load_text(folder, "source", config.source), load_text(folder, "target", config.target)


def list_of_texts(texts: Iterable[Line], name: str) -> list[Line]:
    """Check that an argument is an iterable of str, or of bytes in UTF-8, and list its items; a
    single string is refused. Messages call the argument `name`.

    Raises:
        UsageError: it is something else, or an item is.
    """
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise UsageError(
            f"{name}: expected a list of sentences, got {type(texts).__name__} {texts!r}; one"
            " sentence goes in a list too"
        )
    texts = list(texts)
    for number, text in enumerate(texts):
        if not isinstance(text, (str, bytes)):
            raise UsageError(
                f"{name}[{number}]: expected a sentence as str, got {type(text).__name__} {text!r}"
            )
    return texts


def build_text(config: TextConfig, training: Iterable[Line]) -> Text:
    """Build the text handling of one side from its training text.

    With ``config.vocabulary``, a vocabulary file or a SentencePiece model, the training text is not
    read.

    Raises:
        UserError: a file is missing, malformed or empty, or the package sentencepiece is missing.
    """
    (text,) = _build({"training text": config}, ((line,) for line in training))
    return text


def build_texts(config: Config, pairs: Iterable[tuple[Line, Line]]) -> list[Text]:
    """(source, target) Text, like :func:`build_text`, in one pass over their training text.

    Args:
        pairs: (source, target) lines, read to the end unless both vocabularies are given.
    """
    sides = {"source training text": config.source, "target training text": config.target}
    return _build(sides, pairs)


def extend_texts(
    texts: Sequence[Text], pairs: Iterable[tuple[Line, Line]], number: int
) -> list[Text]:
    """Append words of another text to the vocabularies; existing ids stay the same.

    Args:
        texts: (source Text, target Text).
        pairs: (source, target) lines of the other text, read to the end.
        number: most words to add to each side: its most frequent ones; for a side with
            subwords, pieces: the characters that it lacks, then the most probable pieces.

    Returns:
        [source Text, target Text], with more entries than the option ``vocabulary_size`` says.
    """
    extended = []
    tokenizers = [_tokenizer(text.config) for text in texts]
    for text, counts in zip(texts, count_tokens(tokenizers, pairs)):
        if text.subword_model is None:
            extended.append(Text(text.config, text.vocabulary.extended(counts, number)))
        else:
            model = subwords.extended(text.subword_model, counts, number)
            extended.append(Text(text.config, subwords.Subwords(model)))
    return extended


def load_text(folder: AnyPath, side: str, config: TextConfig) -> Text:
    """Load the files that ``Text.save`` wrote.

    Raises:
        UserError: a file is missing or malformed.
    """
    run = Run(folder)
    if config.tokenization == "sentencepiece":
        return Text(config, _read_subwords(run.subword_model(side)))
    return Text(config, Vocabulary.load(run.vocabulary(side)))


def normalize(texts: tf.Tensor) -> tf.Tensor:
    """Replace invalid UTF-8 by U+FFFD, remove invisible characters, and apply Unicode's NFC: string
    of any shape in and out.

    Example:
        >>> normalize(tf.constant([b"e\\xcc\\x81"])).numpy()[0].decode()
        'é'
    """
    import tensorflow_text  # its op library takes a second to load

    texts = tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")
    texts = tf.strings.regex_replace(texts, f"[{INVISIBLE}]+", "")
    return tensorflow_text.normalize_utf8(texts, "NFC")


def clean(texts: tf.Tensor) -> tf.Tensor:
    """Replace every run of white space (including Unicode's) by one space, delete control
    characters, and strip.

    Example:
        >>> clean(tf.constant([" a\\t\\u00a0b\\x07 "])).numpy()[0]
        b'a b'
    """
    texts = tf.strings.regex_replace(texts, f"[{SPACE}]+", " ")
    texts = tf.strings.regex_replace(texts, f"[{CONTROL}]", "")
    texts = tf.strings.regex_replace(texts, "  +", " ")  # two are left of "a \x07 b"
    return tf.strings.strip(texts)


def _tokenize(
    texts: tf.Tensor, config: TextConfig, pieces: subwords.Subwords | None = None
) -> tf.RaggedTensor:
    texts = tf.convert_to_tensor(texts, tf.string)
    texts.shape.assert_has_rank(1)
    texts = clean(normalize(texts))
    if config.tokenization == "moses":
        # lower-case afterwards, since the rules about periods depend on case
        tokens = tokenize(texts, config.language)
        return tf.ragged.map_flat_values(lower, tokens) if config.lowercase else tokens
    texts = lower(texts) if config.lowercase else texts
    return pieces.tokenize(texts) if pieces else tf.strings.split(texts)


def _tokenizer(config: TextConfig) -> Tokenizer:
    """Into words; for SentencePiece into strings between spaces."""
    return lambda texts: _tokenize(texts, config)


def _build(sides: Mapping[str, TextConfig], rows: Iterable[Sequence[Line]]) -> list[Text]:
    """A Text for each column of lines, by {its name in errors: its configuration}."""
    tokenizers = [None if side.vocabulary else _tokenizer(side) for side in sides.values()]
    texts = []
    for (where, config), counts in zip(sides.items(), count_tokens(tokenizers, rows)):
        ready, size = config.vocabulary, config.vocabulary_size
        if config.tokenization == "sentencepiece":
            if ready:
                pieces = _read_subwords(ready)
            else:
                pieces = subwords.Subwords(subwords.train(counts, size, where))
            texts.append(Text(config, pieces))
        else:
            words = Vocabulary.load(ready) if ready else Vocabulary.build(counts, size, where)
            texts.append(Text(config, words))
    return texts


def _read_subwords(path: AnyPath) -> subwords.Subwords:
    try:
        return subwords.Subwords(pathlib.Path(path).read_bytes(), path)
    except OSError as error:
        raise UserError(
            f"{path}: expected a SentencePiece model, got: {error.strerror}; check the path"
        ) from None
