"""SentencePiece subwords: trained with the sentencepiece package, run with tensorflow_text's op."""

from __future__ import annotations

import hashlib
import io
import os
import tempfile
from collections.abc import Mapping
from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import END_ID, PAD_ID, SPECIAL_TOKENS, UNKNOWN_ID
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import naming, write_file
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.text.characters import WORD_START
from rnnsearch_tf.text.vocabulary import by_frequency

MOST_LINES = 5_000_000
"""Most lines to learn a model from; more do not improve it, and their words take memory."""


class Subwords(tf.Module):
    """A SentencePiece model in the graph.

    Args:
        model: bytes of a SentencePiece model whose first pieces are the special tokens.
        where: its name in errors.

    Raises:
        UserError: the bytes are not a model, the special tokens are not its first pieces, or it
            has pieces of bytes.
    """

    def __init__(self, model: bytes, where: AnyPath = "SentencePiece model") -> None:
        super().__init__(name="subwords")
        self.model = model
        try:
            self._op = _tokenizer(model)
            ids = tf.range(self._op.vocab_size())
            self._text = b"\n".join(self._op.id_to_string(ids).numpy()).decode("utf-8")
        except (tf.errors.OpError, UnicodeDecodeError):
            raise UserError(
                f"{where}: expected a SentencePiece model, got {len(model)} bytes of something else"
            ) from None
        if tuple(self.pieces[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS:
            raise UserError(
                f"{where}: expected the pieces {', '.join(SPECIAL_TOKENS)} first, got"
                f" {', '.join(self.pieces[:3])}; train it with pad_id=0, eos_id=1, unk_id=2,"
                " bos_id=-1"
            )
        if "<0x00>" in self.pieces:
            raise UserError(
                f"{where}: expected pieces of text, got those of bytes, which are written as they"
                " are; train it with byte_fallback=false"
            )

    @property
    def pieces(self) -> list[str]:
        """All pieces in the order of their ids."""
        return self._text.split("\n")

    def tokenize(self, texts: tf.Tensor) -> tf.RaggedTensor:
        """Most probable pieces: string [B] -> RaggedTensor string [B, None]."""
        return self._op.tokenize(texts)


def _tokenizer(model: bytes) -> Any:
    """tensorflow_text's tokenizer with a permanent resource.

    Its usual resource belongs to a kernel in TensorFlow's cache, and is lost when
    ``tf.random.set_seed`` clears the cache. A named resource belongs to the process; its name is a
    hash of the bytes, so that equal models share it. A SavedModel is not affected.

    tensorflow_text has no public way to name it. Its private parts are taken only here; tried with
    2.21.1, and tested by tests/text/test_subwords.py.
    """
    import tensorflow_text  # only for subwords: its op library takes a second to load
    from tensorflow_text.python.ops import sentencepiece_tokenizer as library

    class Named(library._SentencepieceModelResource):
        def _create_resource(self) -> Any:
            if not tf.executing_eagerly():
                return super()._create_resource()
            name = f"rnnsearch_tf-{hashlib.sha256(model).hexdigest()}"
            return library.gen_sentencepiece_tokenizer.sentencepiece_op(
                model=model, shared_name=name
            )

    tokenizer = tensorflow_text.SentencepieceTokenizer(model=model, out_type=tf.string)
    tokenizer._model_resource = Named(model, None)
    return tokenizer


def join(pieces: tf.RaggedTensor) -> tf.Tensor:
    """Join pieces into text: RaggedTensor string [B, None] -> string [B]."""
    texts = tf.strings.reduce_join(pieces, axis=1)
    return tf.strings.strip(tf.strings.regex_replace(texts, WORD_START, " "))


def train(counts: Mapping[str, int], size: int, where: AnyPath) -> bytes:
    """Train a unigram model (Kudo 2018).

    Pieces do not cross spaces, so word counts are sufficient. Every character of the words is kept
    (coverage 1: Latin alphabets are small), and there is no byte fallback, so that every piece is
    valid text. If the text cannot support `size` pieces, there are fewer. Training uses one thread:
    with more, the sums, and thus the model, would depend on the number of threads.

    Args:
        counts: counts of the words of the normalized text.
        size: number of pieces, including the special tokens.
        where: name of the text in errors.

    Returns:
        The bytes of the model, the same for the same counts.

    Raises:
        UserError: the package is missing, the text is empty, or `size` is smaller than the text's
            alphabet.
    """
    require("tokenization: sentencepiece", "sentencepiece")
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2

    if not counts:
        raise UserError(f"{where}: expected text, got no words at all; check the file")
    lines = (f"{word}\t{counts[word]}" for word in by_frequency(counts))
    written = io.BytesIO()
    try:
        with naming("the temporary folder"), tempfile.TemporaryDirectory() as folder:
            rules = os.path.join(folder, "rules.tsv")
            # "_" for U+2581, which would be decoded as a space
            write_file(rules, "2581\t5F\n")
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=lines,
                input_format="tsv",
                model_writer=written,
                model_type="unigram",
                vocab_size=size,
                hard_vocab_limit=False,
                pad_id=PAD_ID,
                eos_id=END_ID,
                unk_id=UNKNOWN_ID,
                bos_id=-1,
                pad_piece=SPECIAL_TOKENS[PAD_ID],
                eos_piece=SPECIAL_TOKENS[END_ID],
                unk_piece=SPECIAL_TOKENS[UNKNOWN_ID],
                character_coverage=1.0,
                byte_fallback=False,
                split_digits=True,  # a number is copied digit by digit
                add_dummy_prefix=True,
                normalization_rule_tsv=rules,
                num_threads=1,
                input_sentence_size=MOST_LINES,
                shuffle_input_sentence=False,
                max_sentence_length=1 << 20,
                minloglevel=2,
            )
    except RuntimeError as error:
        problem = " ".join(str(error).split())
        raise UserError(
            f"{where}: expected a vocabulary_size that fits the text, got {size}; SentencePiece"
            f" says: {problem}"
        ) from None
    model = sentencepiece_model_pb2.ModelProto.FromString(written.getvalue())
    # a temporary path; the rules themselves are in the model
    model.normalizer_spec.ClearField("normalization_rule_tsv")
    return model.SerializeToString(deterministic=True)


def extended(model: bytes, counts: Mapping[str, int], number: int) -> bytes:
    """Append pieces of another text to a model, whose ids stay the same.

    A model of the same size is learned from the other text. The new pieces are those of its pieces
    that this model lacks: first single characters, then the most probable pieces. Each keeps its
    log-probability from the other model. At most `number` are added; `counts` are of the words of
    the other text, normalized.

    Raises:
        UsageError: the model is not a unigram model.
        UserError: as in :func:`train`.
    """
    this = _unigram(model)
    alphabet = len(set().union(*counts))
    other = _unigram(train(counts, max(len(this.pieces), 2 * alphabet), "text"))
    known = {piece.piece for piece in this.pieces}
    # most probable first
    new = [piece for piece in other.pieces[len(SPECIAL_TOKENS) :] if piece.piece not in known]
    this.pieces.extend(sorted(new, key=lambda piece: len(piece.piece) > 1)[:number])
    return this.SerializeToString(deterministic=True)


def _unigram(model: bytes) -> Any:
    """The ModelProto of a unigram model; UsageError if it is of another type."""
    require("new words", "sentencepiece")
    from sentencepiece import sentencepiece_model_pb2

    proto = sentencepiece_model_pb2.ModelProto.FromString(model)
    spec = proto.trainer_spec
    if spec.model_type != spec.UNIGRAM:
        raise UsageError(
            "new words: expected a unigram SentencePiece model, got"
            f" {spec.ModelType.Name(spec.model_type).lower()}; leave it out, or train another model"
        )
    return proto
