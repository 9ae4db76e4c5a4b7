"""What an exported model answers: text in, text out, every tensor's first axis the batch.

The names, types, shapes and meanings are the contract of ``export/contract.json``. An answer
depends on its own row alone, so a server may put requests together and take answers apart:
no output's width depends on its neighbours. Whatever is wrong with a request is said by an
assertion of the graph, with the input's name.

Dimension letters: B texts, N translations of each, J source and I target positions.
"""

from __future__ import annotations

import dataclasses
import typing

import tensorflow as tf

from rnnsearch_tf.config import END_ID, PAD_ID, UNKNOWN_ID
from rnnsearch_tf.export.confidence import confidences
from rnnsearch_tf.export.profile import ROWS_AT_ONCE
from rnnsearch_tf.export.weights import StoredWeights
from rnnsearch_tf.search.constrained import Phrases
from rnnsearch_tf.search.graphs import hoist_weights, search_model
from rnnsearch_tf.search.hypotheses import maximum_lengths
from rnnsearch_tf.search.sampling import sample
from rnnsearch_tf.search.scoring import score_targets
from rnnsearch_tf.search.unknown import Lexicon, replace_unknown
from rnnsearch_tf.text.phrases import read_phrases, word_joints

DIGITS = 4
"""Decimals of an alignment weight."""


class Sentences(typing.NamedTuple):
    """One side of a request, read."""

    tokens: tf.RaggedTensor  # string [B, None], the end symbol left out, cut at the limit
    # int32 [B, J], ended by END_ID, padded with PAD_ID; a tuple if an ensemble reads in several
    # ways
    ids: tf.Tensor | tuple
    lengths: tf.Tensor  # int32 [B], END_ID counted
    truncated: tf.Tensor  # bool [B]


INPUTS = {
    "translate": {"text": tf.string},
    "translate_nbest": {"text": tf.string},
    "translate_aligned": {"text": tf.string},
    "translate_constrained": {"text": tf.string, "constraints": tf.string},
    "score": {"source": tf.string, "target": tf.string},
    "confidence": {"source": tf.string, "target": tf.string},
    "sample": {"text": tf.string, "seed": tf.int64},
    "tokenize": {"text": tf.string},
}


class Served:
    """A translation model as a server's functions, one a signature. (Not a tf.Module: it holds the
    Keras model, which must not be saved.)

    Args:
        translator: Translator; its model may be an ensemble.
        profile: Profile.
        calibration: Calibration of the model's confidence, for the signature of that name; None
            where there is none.
    """

    def __init__(self, translator, profile, calibration=None):
        search = profile.search
        self.model = translator.model
        self.profile = profile
        self.calibration = calibration
        self.weights = StoredWeights(translator.model.trainable_variables, profile.weights)
        self.source_texts = list(translator.source_texts)
        self.target_text = translator.target_text
        self.lexicon = (
            Lexicon.load(search.lexicon, *translator.unicode_forms)
            if search.replace_unknown and search.lexicon
            else None
        )
        self.shortlist = translator.shortlist(search)

    def module(self):
        """What a SavedModel has to hold beside the signatures, a tf.Module: the weights and the
        tables that they read.
        """
        module = tf.Module(name="translation")
        for name in ("weights", "source_texts", "target_text", "lexicon", "shortlist"):
            setattr(module, name, getattr(self, name))
        return module

    def signatures(self, names) -> dict:
        """{name: concrete function} of these signatures; ``serving_default`` is ``translate``."""
        functions = {name: self._traced(name) for name in names}
        return functions | {"serving_default": functions["translate"]}

    def _traced(self, name):
        # The rank is left open and asserted: a server does not compare shapes, and a known rank
        # would fold the assertion away.
        @tf.function(
            autograph=False,
            input_signature=[
                tf.TensorSpec(None, dtype, name=name) for name, dtype in INPUTS[name].items()
            ],
        )
        def function(*values):
            values = _rows(dict(zip(INPUTS[name], values)))
            if name == "translate_aligned":
                values = self._within_the_answer(*values)
            return _in_parts(part, values)

        @tf.function(
            autograph=False,
            input_signature=[tf.TensorSpec([None], dtype) for dtype in INPUTS[name].values()],
        )
        def part(*values):
            with hoist_weights(self.model.trainable_variables, self.weights.tensors()):
                return getattr(self, name)(*values)

        return function.get_concrete_function()

    def _within_the_answer(self, text):
        """The texts; they are refused if the matrices of their longest translations are more than
        an answer may have.
        """
        limit = self.profile.maximum_source_length
        search = self.profile.search

        def weights(lengths):
            return tf.reduce_sum(
                tf.cast(lengths, tf.int64) * tf.cast(maximum_lengths(lengths, search), tf.int64)
            )

        most = ROWS_AT_ONCE * weights(tf.constant([limit + 1]))
        asked = weights(_read(self.source_texts[:1], text, limit).lengths)
        message = (
            "input text: expected at most as many alignment weights, target by source tokens, as"
            f" of {ROWS_AT_ONCE} of the longest texts:"
        )
        with tf.control_dependencies(
            [
                tf.debugging.Assert(
                    asked <= most, [message, most, "; got", asked, "; send fewer rows"]
                )
            ]
        ):
            return [tf.identity(text)]

    def translate(self, text):
        return self._best(*self._search(text, 1))

    def translate_nbest(self, text):
        source, result, tokens = self._search(text, self.profile.search.nbest)
        shape = tf.shape(result.lengths)  # [B, N]
        first = tf.range(shape[1]) == 0  # a source without words has one translation, the empty one
        lengths = tf.where(
            _wordless(source)[:, tf.newaxis], tf.cast(first, tf.int32), result.lengths
        )
        there = lengths > 0
        return {
            "translation": tf.where(there, tf.reshape(self._texts(tokens), shape), ""),
            "tokens": tf.reshape(_joined(tokens), shape),
            "score": tf.where(there, _or_zero(result.scores, source), result.scores.dtype.min),
            "log_probability": tf.where(
                there, _or_zero(result.log_probabilities, source), result.scores.dtype.min
            ),
            "length": lengths,
            "source_truncated": source.truncated,
        }

    def translate_aligned(self, text):
        source, result, tokens = self._search(text, 1, alignments=True)
        return self._best(source, result, tokens) | {
            "source_tokens": _joined(source.tokens),
            "target_tokens": _joined(tokens),
            "alignment": _matrices(
                result.alignments[:, 0], result.lengths[:, 0], source.lengths, _wordless(source)
            ),
        }

    def translate_constrained(self, text, constraints):
        phrases = read_phrases(self.target_text, constraints)
        source, result, tokens = self._search(text, 1, constraints=phrases)
        wanted = tf.reduce_any(phrases.tokens != "", axis=1)
        return self._best(source, result, tokens) | {
            "constraints_met": phrases.fits & ~(wanted & _wordless(source))
        }

    def score(self, source, target):
        log_probabilities, _, truncated = self._scores(source, target)
        return {"log_probability": tf.reduce_sum(log_probabilities, axis=1)} | truncated

    def confidence(self, source, target):
        log_probabilities, tokens, truncated = self._scores(source, target)
        return confidences(self.calibration, log_probabilities, tokens, target) | truncated

    def sample(self, text, seed):
        source = _read(self.source_texts, text, self.profile.maximum_source_length)
        start = self.model.start(source.ids)
        search = self.profile.search
        drawn = sample(
            *start,
            self.model.step,
            source.lengths,
            seed,
            search,
            temperature=self.profile.temperature,
        )
        ids = tf.where(_wordless(source)[:, tf.newaxis], PAD_ID, drawn.ids)
        return {
            "translation": self._texts(self.target_text.tokens(ids)),
            "log_probability": _or_zero(drawn.log_probabilities, source),
            "source_truncated": source.truncated,
        }

    def tokenize(self, text):
        first, *_ = self.source_texts
        tokens = first.tokenize(text)
        unknown = tf.cast(first.vocabulary.ids(tokens) == UNKNOWN_ID, tf.int32)
        return {
            "tokens": _joined(tokens),
            "length": tf.cast(tokens.row_lengths(), tf.int32),
            "unknown": tf.reduce_sum(unknown, axis=1),
        }

    def _scores(self, source, target):
        """(log-probabilities of the target's tokens [B, I], these tokens, ragged, what was cut)."""
        source = _read(self.source_texts, source, self.profile.maximum_source_length)
        target = _sentences(
            self.target_text,
            self.target_text.tokenize_translations(target),
            self.profile.maximum_target_length,
        )
        scores = score_targets(*self.model.start(source.ids), self.model.step, target.ids)
        truncated = {"source_truncated": source.truncated, "target_truncated": target.truncated}
        return scores.log_probabilities, target.tokens, truncated

    def _search(self, text, nbest, constraints=None, alignments=False):
        """(Sentences, BeamResult, tokens of all B·N translations, ragged [B·N, None]); constraints:
        PhraseTokens.
        """
        search = self.profile.search
        source = _read(self.source_texts, text, self.profile.maximum_source_length)
        phrases = constraints and Phrases(constraints.ids, *word_joints(self.target_text))
        config = dataclasses.replace(search, nbest=nbest)
        alignments = alignments or search.replace_unknown
        result = search_model(
            self.model,
            source.ids,
            source.lengths,
            config,
            self.shortlist,
            phrases=phrases,
            alignments=alignments,
        )
        # each source stands beside all its translations: [B·N]
        rows = tf.repeat(tf.range(tf.size(source.lengths)), nbest)
        ids = tf.where(_wordless(source)[:, tf.newaxis, tf.newaxis], PAD_ID, result.ids)
        tokens = self.target_text.tokens(
            _flat(ids, rows), constraints and tf.gather(constraints.tokens, rows)
        )
        if search.replace_unknown:
            alignments = _flat(result.alignments, rows)  # [B·N, I, J]
            tokens = replace_unknown(
                tokens, alignments, tf.gather(source.tokens, rows), self.lexicon
            )
        return source, result, tokens

    def _best(self, source, result, tokens):
        """What every signature with one translation a text answers."""
        return {
            "translation": self._texts(tokens),
            "score": _or_zero(result.scores[:, 0], source),
            "source_truncated": source.truncated,
        }

    def _texts(self, tokens):
        texts = self.target_text.detokenize(tokens)
        # answers must be valid UTF-8
        return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")


def _rows(values):
    """The inputs, each a vector, all of one length; anything else is refused by name."""
    first, *_ = values
    for name, value in values.items():
        message = f"input {name}: expected rank 1, one entry a row of the batch; got rank"
        with tf.control_dependencies(
            [tf.debugging.Assert(tf.rank(value) == 1, [message, tf.rank(value)])]
        ):
            # tf.ensure_shape would speak up before the assertion does
            values[name] = tf.reshape(value, [-1])
    for name, value in values.items():
        if name != first:
            sizes = [tf.size(values[first]), tf.size(value)]
            message = f"inputs {first} and {name}: expected as many entries in both; got"
            with tf.control_dependencies(
                [tf.debugging.Assert(sizes[0] == sizes[1], [message, *sizes])]
            ):
                values[name] = tf.identity(value)
    return list(values.values())


def _in_parts(function, values):
    """What a tf.function of vectors answers to these, of one size, ROWS_AT_ONCE rows after the
    others: dict of tensors [B, ...].
    """
    shapes = function.get_concrete_function().structured_outputs
    rows = tf.size(values[0])
    parts = tf.maximum(-(-rows // ROWS_AT_ONCE), 1)

    def answer(part, answers):
        here = slice(part * ROWS_AT_ONCE, (part + 1) * ROWS_AT_ONCE)
        outputs = function(*(value[here] for value in values))
        return part + 1, {name: array.write(part, outputs[name]) for name, array in answers.items()}

    answers = {
        name: tf.TensorArray(
            output.dtype, size=parts, element_shape=output.shape, infer_shape=False
        )
        for name, output in shapes.items()
    }
    _, answers = tf.while_loop(
        lambda part, _: part < parts, answer, (tf.constant(0), answers), parallel_iterations=1
    )
    joined = {name: array.concat() for name, array in answers.items()}
    for name, output in joined.items():
        output.set_shape(shapes[name].shape)
    return joined


def _read(texts, strings, limit) -> Sentences:
    """Tokens and ids of strings [B], those longer than `limit` tokens cut; the tokens are those of
    the first of the texts.
    """
    first, *others = (_sentences(text, text.tokenize(strings), limit) for text in texts)
    return first._replace(ids=(first.ids, *(other.ids for other in others))) if others else first


def _sentences(text, tokens, limit) -> Sentences:
    truncated = tokens.row_lengths() > limit
    tokens = tokens[:, :limit]
    ids = text.ids(tokens)
    lengths = tf.cast(ids.row_lengths(), tf.int32)
    padded = ids.to_tensor(PAD_ID)
    # no text at all has no end symbol either; layers need one position
    none = tf.cast(tf.shape(padded)[1] == 0, tf.int32)
    return Sentences(
        tokens, tf.pad(padded, [[0, 0], [0, none]], constant_values=END_ID), lengths, truncated
    )


def _flat(values, rows):
    """[B, N, ...] → [B·N, ...]; the size is said, for no text at all leaves nothing to infer it
    from.
    """
    return tf.reshape(values, tf.concat([[tf.size(rows)], tf.shape(values)[2:]], axis=0))


def _wordless(source):
    """True for a source without words, whose translation is empty with score 0: bool [B]."""
    return source.lengths <= 1


def _or_zero(numbers, source):
    """The numbers [B] or [B, N], 0 for a source without words."""
    wordless = tf.reshape(
        _wordless(source), tf.concat([[-1], tf.ones([tf.rank(numbers) - 1], tf.int32)], axis=0)
    )
    return tf.where(wordless, tf.zeros_like(numbers), numbers)


def _joined(tokens):
    """Tokens separated by single spaces (no token has one): string [B]."""
    return tf.strings.reduce_join(tokens, axis=1, separator=" ")


def _matrices(alignments, target_lengths, source_lengths, wordless):
    """Each α [I, J], the end symbols' row and column included, as JSON: [[0.9,0.1],[…]]; string
    [B].

    A tensor [B, I, J] would be as wide as the longest sentence that happens to be in the batch.
    """
    target_lengths = tf.where(wordless, 0, target_lengths)
    by_row = tf.repeat(source_lengths, target_lengths)  # [R], R rows of all sentences together
    rows = tf.RaggedTensor.from_tensor(alignments, lengths=target_lengths).values  # [R, J]
    rows = tf.RaggedTensor.from_tensor(rows, lengths=by_row)  # [R, None]
    # a string takes several times its number
    rows = rows.with_values(tf.strings.as_string(rows.values, precision=DIGITS))
    rows = tf.strings.join(["[", tf.strings.reduce_join(rows, axis=1, separator=","), "]"])  # [R]
    rows = tf.RaggedTensor.from_row_lengths(rows, target_lengths)  # [B, None]
    return tf.strings.join(["[", tf.strings.reduce_join(rows, axis=1, separator=","), "]"])
