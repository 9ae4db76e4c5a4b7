"""SentencePiece subwords: trained with the sentencepiece package, run with tensorflow_text's op."""

import hashlib
import io
import pathlib
import tempfile

import tensorflow as tf

from rnnsearch_tf.config import END_ID, PAD_ID, SPECIAL_TOKENS, UNKNOWN_ID
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.text.characters import WORD_START

MOST_LINES = 5_000_000
"""Lines that a model is learned from; more teach it nothing, and their words are held in memory."""


class Subwords(tf.Module):
    """A SentencePiece model in the graph.

    Args:
        model: bytes of a SentencePiece model whose first pieces are the special tokens.
        where: its name in errors.

    Raises:
        UserError: the bytes are no model, or the special tokens are elsewhere.
    """

    def __init__(self, model, where="SentencePiece model"):
        super().__init__(name="subwords")
        self.model = model
        try:
            self._op = _tokenizer(model)
            size = int(self._op.vocab_size())
        except tf.errors.OpError:
            raise UserError(
                f"{where}: expected a SentencePiece model, got {len(model)} bytes that are none"
            ) from None
        try:
            self._text = b"\n".join(self._op.id_to_string(tf.range(size)).numpy()).decode("utf-8")
        except UnicodeDecodeError:
            raise UserError(
                f"{where}: expected pieces in UTF-8, got a damaged SentencePiece model; copy it"
                " again"
            ) from None
        if tuple(self.pieces[: len(SPECIAL_TOKENS)]) != SPECIAL_TOKENS:
            raise UserError(
                f"{where}: expected the pieces {', '.join(SPECIAL_TOKENS)} first, got"
                f" {', '.join(self.pieces[:3])}; train it with pad_id=0, eos_id=1, unk_id=2,"
                " bos_id=-1"
            )

    @property
    def pieces(self):
        """All pieces, list of str in the order of their ids."""
        return self._text.split("\n")

    def tokenize(self, texts):
        """Most probable pieces: string [B] -> RaggedTensor string [B, None]."""
        return self._op.tokenize(texts)


def _tokenizer(model):
    """tensorflow_text's tokenizer, with a resource that stays.

    Its own belongs to a kernel in TensorFlow's cache, and goes when ``tf.random.set_seed`` empties
    that. One that has a name belongs to the process; it is named after the bytes, so that equal
    models share it. In a SavedModel nothing is different.
    """
    import tensorflow_text  # its op library takes a second to load, and words do without
    from tensorflow_text.python.ops import sentencepiece_tokenizer as library

    class Named(library._SentencepieceModelResource):
        def _create_resource(self):
            if not tf.executing_eagerly():
                return super()._create_resource()
            name = f"rnnsearch_tf-{hashlib.sha256(model).hexdigest()}"
            return library.gen_sentencepiece_tokenizer.sentencepiece_op(
                model=model, shared_name=name
            )

    tokenizer = tensorflow_text.SentencepieceTokenizer(model=model, out_type=tf.string)
    tokenizer._model_resource = Named(model, None)
    return tokenizer


def join(pieces):
    """Text of pieces: RaggedTensor string [B, None] -> string [B]."""
    texts = tf.strings.reduce_join(pieces, axis=1)
    return tf.strings.strip(tf.strings.regex_replace(texts, WORD_START, " "))


def train(counts, size, where="training text"):
    """Train a unigram model (Kudo 2018).

    Pieces do not cross spaces, so that the words and how often they occur say all that the text
    does. Every character of the text is kept (coverage 1: Latin alphabets are small) and there is
    no byte fallback, so that a piece is always text. Where the text cannot support so many pieces,
    there are fewer. One thread: with more, the sums, and so the model, would depend on their
    number.

    Args:
        counts: Counter of the words of the normalized text.
        size: pieces, the special tokens included.
        where: name of the text in errors.

    Returns:
        bytes, the same for the same counts.

    Raises:
        UserError: the package is missing, the text is empty, or `size` is smaller
            than the text's alphabet.
    """
    try:
        import sentencepiece
        from sentencepiece import sentencepiece_model_pb2
    except ImportError:
        raise UserError(
            "tokenization: sentencepiece: expected the package sentencepiece for training subwords,"
            ' found none; pip install "rnnsearch-tf[subwords]"'
        ) from None
    if not counts:
        raise UserError(f"{where}: expected text, got no words at all; check the file")
    lines = (
        f"{word}\t{counts[word]}" for word in sorted(counts, key=lambda word: (-counts[word], word))
    )
    model = io.BytesIO()
    try:
        with tempfile.TemporaryDirectory() as folder:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=lines,
                input_format="tsv",
                model_writer=model,
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
                add_dummy_prefix=True,
                normalization_rule_tsv=_rules(folder),
                num_threads=1,
                input_sentence_size=MOST_LINES,
                shuffle_input_sentence=False,
                max_sentence_length=1 << 20,
                minloglevel=2,
            )
    except (RuntimeError, OSError) as error:
        problem = " ".join(str(error).split())
        raise UserError(
            f"{where}: expected text for {size} subwords, SentencePiece says: {problem}; change"
            " vocabulary_size"
        ) from None
    model = sentencepiece_model_pb2.ModelProto.FromString(model.getvalue())
    # a temporary path; the rules themselves are in the model
    model.normalizer_spec.ClearField("normalization_rule_tsv")
    return model.SerializeToString(deterministic=True)


def extended(model, counts, number):
    """A model with pieces of another text behind its own, whose ids stay.

    The new pieces are those that a model of the same size, learned from the other text, has and
    this one lacks: first the characters that it lacks, then the most probable pieces. Each keeps
    the log-probability that it has there.

    Args:
        model: bytes of a unigram model.
        counts: Counter of the words of the other text, normalized.
        number: most pieces to add.

    Returns:
        bytes. Errors as of :func:`train`.
    """
    size = len(Subwords(model).pieces)
    alphabet = len(set().union(*counts))
    learned = train(counts, max(size, 2 * alphabet), "text")
    from sentencepiece import sentencepiece_model_pb2

    model, learned = (
        sentencepiece_model_pb2.ModelProto.FromString(data) for data in (model, learned)
    )
    own = {piece.piece for piece in model.pieces}
    # the most probable first
    new = [piece for piece in learned.pieces[len(SPECIAL_TOKENS) :] if piece.piece not in own]
    model.pieces.extend(sorted(new, key=lambda piece: len(piece.piece) > 1)[:number])
    return model.SerializeToString(deterministic=True)


def _rules(folder):
    """SentencePiece's own normalization: none but that a U+2581 of the text, which would come back
    as a space, is "_".
    """
    path = pathlib.Path(folder) / "rules.tsv"
    write_file(path, "2581\t5F\n")
    return str(path)
