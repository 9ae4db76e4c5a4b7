"""The signatures of an exported model: text in, text out, batch first.

``export/contract.json`` specifies names, types, shapes and meanings. An answer depends on its own
row only, and no output's width depends on other rows, so that a server may batch requests.

Dimension letters: B texts, N translations of each, J source and I target positions.
"""

from __future__ import annotations

import typing
from collections.abc import Callable, Mapping, Sequence

import tensorflow as tf

from rnnsearch_tf.config import END_ID, PAD_ID, UNKNOWN_ID
from rnnsearch_tf.export.profile import ROWS_AT_ONCE, Profile
from rnnsearch_tf.export.weights import StoredWeights
from rnnsearch_tf.search.beam import BeamResult, beam_search
from rnnsearch_tf.search.graphs import hoist_weights
from rnnsearch_tf.search.sampling import sample
from rnnsearch_tf.search.unknown import replace_unknown
from rnnsearch_tf.text.pipeline import Text
from rnnsearch_tf.translation import Translator

DIGITS = 4
"""Decimals of an alignment weight."""

LOG_DIGITS = 7
"""Decimals of a token's log-probability."""

Outputs = dict[str, tf.Tensor]
"""{name of an output: tensor [B, ...]}."""


class Sentences(typing.NamedTuple):
    """Tokens and ids of one side of a request."""

    tokens: tf.RaggedTensor  # string [B, None], without the end symbol, cut at the limit
    ids: tf.Tensor  # int32 [B, J], ended by END_ID, padded with PAD_ID
    lengths: tf.Tensor  # int32 [B], END_ID included
    truncated: tf.Tensor  # bool [B]


INPUTS = {
    "translate": {"text": tf.string},
    "translate_nbest": {"text": tf.string},
    "translate_aligned": {"text": tf.string},
    "score": {"source": tf.string, "target": tf.string},
    "sample": {"text": tf.string, "seed": tf.int64},
    "tokenize": {"text": tf.string},
}


class Served:
    """A translation model as a server's functions, one for each signature. (Not a tf.Module: it
    holds the Keras model, which must not be saved.)
    """

    def __init__(self, translator: Translator, profile: Profile) -> None:
        self.model = translator.model
        self.profile = profile
        self.weights = StoredWeights(translator.model.trainable_variables, profile.weights)
        self.source_text = translator.source_text
        self.target_text = translator.target_text

    def module(self) -> tf.Module:
        """The weights and tables of the signatures, to be saved with them."""
        module = tf.Module(name="translation")
        for name in ("weights", "source_text", "target_text"):
            setattr(module, name, getattr(self, name))
        return module

    def signatures(self, names: Sequence[str]) -> dict[str, Callable[..., Outputs]]:
        """Trace signatures: {name: concrete function}; ``serving_default`` is ``translate``."""
        functions = {name: self._traced(name) for name in names}
        return functions | {"serving_default": functions["translate"]}

    def _traced(self, name: str) -> Callable[..., Outputs]:
        specs = [tf.TensorSpec([None], dtype, name=input) for input, dtype in INPUTS[name].items()]

        @tf.function(autograph=False, input_signature=specs)
        def function(*values: tf.Tensor) -> Outputs:
            return _in_parts(part, _rows(dict(zip(INPUTS[name], values))))

        @tf.function(autograph=False, input_signature=specs)
        def part(*values: tf.Tensor) -> Outputs:
            with hoist_weights(self.model.trainable_variables, self.weights.tensors()):
                return getattr(self, name)(*values)

        return function.get_concrete_function()

    def translate(self, text: tf.Tensor) -> Outputs:
        """The best translation."""
        return self._best(*self._search(text, 1))

    def translate_nbest(self, text: tf.Tensor) -> Outputs:
        """The n-best list; unused places have length 0."""
        source, result, tokens = self._search(text, self.profile.nbest)
        shape = tf.shape(result.lengths)  # [B, N]
        first = tf.range(shape[1]) == 0  # the only translation of a source without words is empty
        lengths = tf.where(
            _wordless(source)[:, tf.newaxis], tf.cast(first, tf.int32), result.lengths
        )
        used = lengths > 0
        return {
            "translation": tf.where(used, tf.reshape(self._texts(tokens), shape), ""),
            "tokens": tf.reshape(_joined(tokens), shape),
            "score": tf.where(used, _or_zero(result.scores, source), result.scores.dtype.min),
            "log_probability": tf.where(
                used, _or_zero(result.log_probabilities, source), result.scores.dtype.min
            ),
            "length": lengths,
            "source_truncated": source.truncated,
        }

    def translate_aligned(self, text: tf.Tensor) -> Outputs:
        """The best translation, its attention weights and the log-probability of each token."""
        source, result, tokens = self._search(text, 1, alignments=True)
        lengths = tf.where(_wordless(source), 0, result.lengths[:, 0])
        logs = tf.RaggedTensor.from_tensor(result.token_log_probabilities[:, 0], lengths=lengths)
        return self._best(source, result, tokens) | {
            "source_tokens": _joined(source.tokens),
            "target_tokens": _joined(tokens),
            "alignment": _matrices(result.alignments[:, 0], lengths, source.lengths),
            "token_log_probabilities": _array(logs, LOG_DIGITS),
        }

    def score(self, source: tf.Tensor, target: tf.Tensor) -> Outputs:
        """The log-probability of a given translation and of its tokens."""
        sources = _read(self.source_text, source, self.profile.maximum_source_length)
        targets = _sentences(
            self.target_text,
            self.target_text.tokenize_translations(target),
            self.profile.maximum_target_length,
        )
        logs = self.model.score_targets(sources.ids, targets.ids).log_probabilities
        return {
            "log_probability": tf.reduce_sum(logs, axis=1),
            "target_tokens": _joined(targets.tokens),
            "token_log_probabilities": _array(
                tf.RaggedTensor.from_tensor(logs, lengths=targets.lengths), LOG_DIGITS
            ),
            "source_truncated": sources.truncated,
            "target_truncated": targets.truncated,
        }

    def sample(self, text: tf.Tensor, seed: tf.Tensor) -> Outputs:
        """A translation drawn at random."""
        source = _read(self.source_text, text, self.profile.maximum_source_length)
        profile = self.profile
        drawn = sample(self.model, source.ids, seed, profile.search, profile.temperature)
        ids = tf.where(_wordless(source)[:, tf.newaxis], PAD_ID, drawn.ids)
        return {
            "translation": self._texts(self.target_text.tokens(ids)),
            "log_probability": _or_zero(drawn.log_probabilities, source),
            "source_truncated": source.truncated,
        }

    def tokenize(self, text: tf.Tensor) -> Outputs:
        """The tokens of a source text."""
        tokens = self.source_text.tokenize(text)
        unknown = tf.cast(self.source_text.vocabulary.ids(tokens) == UNKNOWN_ID, tf.int32)
        return {
            "tokens": _joined(tokens),
            "length": tf.cast(tokens.row_lengths(), tf.int32),
            "unknown": tf.reduce_sum(unknown, axis=1),
        }

    def _search(
        self, text: tf.Tensor, nbest: int, alignments: bool = False
    ) -> tuple[Sentences, BeamResult, tf.RaggedTensor]:
        """(Sentences, BeamResult, tokens of all B·N translations [B·N, None])."""
        search = self.profile.search
        source = _read(self.source_text, text, self.profile.maximum_source_length)
        alignments = alignments or search.replace_unknown
        result = beam_search(self.model, source.ids, search, nbest, alignments)
        # the source of each translation: [B·N]
        rows = tf.repeat(tf.range(tf.size(source.lengths)), nbest)
        ids = tf.where(_wordless(source)[:, tf.newaxis, tf.newaxis], PAD_ID, result.ids)
        tokens = self.target_text.tokens(_flat(ids, rows))
        if search.replace_unknown:
            weights = _flat(result.alignments, rows)  # [B·N, I, J]
            tokens = replace_unknown(tokens, weights, tf.gather(source.tokens, rows))
        return source, result, tokens

    def _best(self, source: Sentences, result: BeamResult, tokens: tf.RaggedTensor) -> Outputs:
        """The outputs common to all signatures with one translation of each text."""
        return {
            "translation": self._texts(tokens),
            "score": _or_zero(result.scores[:, 0], source),
            "source_truncated": source.truncated,
        }

    def _texts(self, tokens: tf.RaggedTensor) -> tf.Tensor:
        texts = self.target_text.detokenize(tokens)
        # answers must be valid UTF-8
        return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")


def _rows(values: dict[str, tf.Tensor]) -> list[tf.Tensor]:
    """The inputs, after asserting that they have the same length."""
    first, *others = values
    for name in others:
        sizes = [tf.size(values[first]), tf.size(values[name])]
        message = f"inputs {first} and {name}: expected as many entries in both; got"
        with tf.control_dependencies(
            [tf.debugging.Assert(sizes[0] == sizes[1], [message, *sizes])]
        ):
            values[name] = tf.identity(values[name])
    return list(values.values())


def _in_parts(
    function: tf.types.experimental.PolymorphicFunction, values: list[tf.Tensor]
) -> Outputs:
    """Call a tf.function of vectors with ROWS_AT_ONCE rows at a time; concatenate its outputs."""
    shapes = function.get_concrete_function().structured_outputs
    rows = tf.size(values[0])
    parts = -(-rows // ROWS_AT_ONCE)

    def answer(
        part: tf.Tensor, answers: Mapping[str, tf.TensorArray]
    ) -> tuple[tf.Tensor, dict[str, tf.TensorArray]]:
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


def _read(text: Text, strings: tf.Tensor, limit: int) -> Sentences:
    """Tokens and ids of strings [B], cut at `limit` tokens."""
    return _sentences(text, text.tokenize(strings), limit)


def _sentences(text: Text, tokens: tf.RaggedTensor, limit: int) -> Sentences:
    truncated = tokens.row_lengths() > limit
    tokens = tokens[:, :limit]
    ids = text.ids(tokens)
    lengths = tf.cast(ids.row_lengths(), tf.int32)
    padded = ids.to_tensor(PAD_ID)
    # an empty batch has no end symbol, but layers need one position
    none = tf.cast(tf.shape(padded)[1] == 0, tf.int32)
    return Sentences(
        tokens, tf.pad(padded, [[0, 0], [0, none]], constant_values=END_ID), lengths, truncated
    )


def _flat(values: tf.Tensor, rows: tf.Tensor) -> tf.Tensor:
    """[B, N, ...] → [B·N, ...]; B·N is explicit since an empty batch does not determine it."""
    return tf.reshape(values, tf.concat([[tf.size(rows)], tf.shape(values)[2:]], axis=0))


def _wordless(source: Sentences) -> tf.Tensor:
    """Whether a source has no words; its translation is empty, with score 0: bool [B]."""
    return source.lengths <= 1


def _or_zero(numbers: tf.Tensor, source: Sentences) -> tf.Tensor:
    """The numbers [B] or [B, N], 0 for a source without words."""
    wordless = tf.reshape(
        _wordless(source), tf.concat([[-1], tf.ones([tf.rank(numbers) - 1], tf.int32)], axis=0)
    )
    return tf.where(wordless, tf.zeros_like(numbers), numbers)


def _joined(tokens: tf.RaggedTensor) -> tf.Tensor:
    """Tokens separated by single spaces (no token contains one): string [B]."""
    return tf.strings.reduce_join(tokens, axis=1, separator=" ")


def _matrices(
    alignments: tf.Tensor, target_lengths: tf.Tensor, source_lengths: tf.Tensor
) -> tf.Tensor:
    """Each α [I, J] as JSON, [[0.9,0.1],[…]], with the end symbols' row and column: string [B].

    The width of a tensor [B, I, J] would depend on the longest sentence in the batch.
    """
    by_row = tf.repeat(source_lengths, target_lengths)  # [R], R rows of all sentences together
    rows = tf.RaggedTensor.from_tensor(alignments, lengths=target_lengths).values  # [R, J]
    rows = tf.RaggedTensor.from_tensor(rows, lengths=by_row)  # [R, None]
    # [B, None]
    rows = tf.RaggedTensor.from_row_lengths(_array(rows, DIGITS), target_lengths)
    return tf.strings.join(["[", tf.strings.reduce_join(rows, axis=1, separator=","), "]"])


def _array(numbers: tf.RaggedTensor, digits: int) -> tf.Tensor:
    """Each row as a JSON array, [0.9,0.1]: string [R]. Only the real numbers become strings, which
    take several times the memory.
    """
    strings = numbers.with_values(tf.strings.as_string(numbers.values, precision=digits))
    return tf.strings.join(["[", tf.strings.reduce_join(strings, axis=1, separator=","), "]"])
