"""What a model makes of text, as functions of strings: ``translate``, ``nbest``, ``score`` and
``sample``. A Translator calls them, an export saves them as they are.

``export/contract.json`` specifies their inputs and outputs. A row of an answer depends on its own
row of the inputs alone. Only the width of the tensors over positions depends on the others: it is
that of the longest row, and shorter rows end with zeros.

Dimension letters: B texts, N translations of each, I target and J source positions.
"""

from __future__ import annotations

import typing
from collections.abc import Callable

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID, UNKNOWN_ID, SearchConfig
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.search.beam import NO_HYPOTHESIS, BeamResult, beam_search
from rnnsearch_tf.search.graphs import hoist_weights
from rnnsearch_tf.search.sampling import sample
from rnnsearch_tf.search.unknown import replace_unknown
from rnnsearch_tf.text.pipeline import Text
from rnnsearch_tf.translation.results import Answer

INPUTS = {
    "translate": {"text": tf.string},
    "nbest": {"text": tf.string},
    "score": {"source": tf.string, "target": tf.string},
    "sample": {"text": tf.string, "seed": tf.int64, "temperature": tf.float32},
}
"""Each function with its inputs, vectors [B]."""

Outputs = dict[str, tf.Tensor]
"""{name of an output: tensor [B, ...]}."""


class Sentences(typing.NamedTuple):
    """Texts of one side, as tokens and ids."""

    tokens: tf.RaggedTensor  # string [B, None], without the end symbol, cut at the limit
    ids: tf.Tensor  # int32 [B, J], with the end symbol, padded with PAD_ID
    lengths: tf.Tensor  # int32 [B], the end symbol included
    truncated: tf.Tensor  # bool [B]


class TextFunctions:
    """The functions of a model with fixed search options.

    Args:
        model: TranslationModel or Ensemble.
        source_text, target_text: Text of each side.
        search: the options of the search.
        nbest: length N of the lists.
        maximum_length: tokens; longer texts are cut.
        weights: gives the values of the model's weights when a function is traced; None: every call
            reads their own.
    """

    def __init__(
        self,
        model: TranslationModel | Ensemble,
        source_text: Text,
        target_text: Text,
        search: SearchConfig,
        nbest: int,
        maximum_length: int,
        weights: Callable[[], list[tf.Tensor]] | None = None,
    ) -> None:
        self.model = model
        self.source_text = source_text
        self.target_text = target_text
        self.search = search
        self.list_size = nbest
        self.maximum_length = maximum_length
        self.weights = weights
        self._traced: dict[str, tf.types.experimental.PolymorphicFunction] = {}

    def __call__(self, name: str, **inputs: typing.Any) -> Answer:
        """Call a function with values for its inputs, as many of each."""
        tensors = [tf.constant(inputs[key], dtype) for key, dtype in INPUTS[name].items()]
        return {key: value.numpy() for key, value in self.traced(name)(*tensors).items()}

    def traced(self, name: str) -> tf.types.experimental.PolymorphicFunction:
        """A function as a ``tf.function``, which is traced once and reads every weight once."""
        if name not in self._traced:
            specs = [tf.TensorSpec([None], dtype, key) for key, dtype in INPUTS[name].items()]

            @tf.function(autograph=False, input_signature=specs)
            def function(*inputs: tf.Tensor) -> Outputs:
                values = self.weights() if self.weights else None
                with hoist_weights(self.model.weights, values):
                    return getattr(self, name)(*inputs)

            self._traced[name] = function
        return self._traced[name]

    def translate(self, text: tf.Tensor) -> Outputs:
        """The best translation, with the probability of every token."""
        source, result, tokens = self._search(text, 1, alignments=False)
        return {
            "translation": self._texts(tokens),
            "tokens": _joined(tokens),
            "score": result.scores[:, 0],
            "probability": _mean_token_probability(result)[:, 0],
            "token_log_probabilities": result.token_log_probabilities[:, 0],
            "finished": result.finished[:, 0],
            "source_truncated": source.truncated,
        }

    def nbest(self, text: tf.Tensor) -> Outputs:
        """The n-best list, with the probability and the alignment of every token; an unused place
        has length 0.
        """
        source, result, tokens = self._search(text, self.list_size, alignments=True)
        shape = [-1, self.list_size]
        return {
            "translation": tf.reshape(self._texts(tokens), shape),
            "tokens": tf.reshape(_joined(tokens), shape),
            "score": result.scores,
            "probability": _mean_token_probability(result),
            "log_probability": result.log_probabilities,
            "token_log_probabilities": result.token_log_probabilities,
            "alignment": result.alignments,
            "length": result.lengths,
            "finished": result.finished,
            "source_tokens": _joined(source.tokens),
            "source_truncated": source.truncated,
        }

    def score(self, source: tf.Tensor, target: tf.Tensor) -> Outputs:
        """The log-probability and the alignment of given translations."""
        sources = self._read(self.source_text, self.source_text.tokenize(source))
        targets = self._read(self.target_text, self.target_text.tokenize_translations(target))
        scores = self.model.score_targets(sources.ids, targets.ids)
        unknown = [
            tf.math.count_nonzero(side.ids == UNKNOWN_ID, axis=1, dtype=tf.int32)
            for side in (sources, targets)
        ]
        return {
            "log_probability": tf.reduce_sum(scores.log_probabilities, axis=1),
            "token_log_probabilities": scores.log_probabilities,
            "alignment": scores.alignments,
            "length": targets.lengths,
            "source_tokens": _joined(sources.tokens),
            "target_tokens": _joined(targets.tokens),
            "unknown_words": tf.add_n(unknown),
            "source_truncated": sources.truncated,
            "target_truncated": targets.truncated,
        }

    def sample(self, text: tf.Tensor, seed: tf.Tensor, temperature: tf.Tensor) -> Outputs:
        """A translation drawn at random; see :func:`~rnnsearch_tf.search.sampling.sample`."""
        source = self._read(self.source_text, self.source_text.tokenize(text))
        drawn = sample(self.model, source.ids, seed, self.search, temperature[:, tf.newaxis])
        words = source.lengths > 1
        tokens = self.target_text.tokens(tf.where(words[:, tf.newaxis], drawn.ids, PAD_ID))
        return {
            "translation": self._texts(tokens),
            "tokens": _joined(tokens),
            "log_probability": tf.where(words, drawn.log_probabilities, 0.0),
            "source_truncated": source.truncated,
        }

    def _read(self, text: Text, tokens: tf.RaggedTensor) -> Sentences:
        """The tokens of texts of a side, cut at the maximum length, and their ids."""
        truncated = tokens.row_lengths() > self.maximum_length
        tokens = tokens[:, : self.maximum_length]
        ids = text.ids(tokens)
        lengths = tf.cast(ids.row_lengths(), tf.int32)
        return Sentences(tokens, ids.to_tensor(PAD_ID), lengths, truncated)

    def _search(
        self, text: tf.Tensor, nbest: int, alignments: bool
    ) -> tuple[Sentences, BeamResult, tf.RaggedTensor]:
        """(source, result, tokens of all B·N translations [B·N, None])."""
        source = self._read(self.source_text, self.source_text.tokenize(text))
        alignments = alignments or self.search.replace_unknown
        result = beam_search(self.model, source.ids, self.search, nbest, alignments)
        result = _empty_without_words(result, source.lengths > 1)
        tokens = self.target_text.tokens(_merge_lists(result.ids))
        if self.search.replace_unknown:
            # the source of each translation: [B·N]
            rows = tf.repeat(tf.range(tf.size(source.lengths)), nbest)
            sources = tf.gather(source.tokens, rows)
            tokens = replace_unknown(tokens, _merge_lists(result.alignments), sources)
        return source, result, tokens

    def _texts(self, tokens: tf.RaggedTensor) -> tf.Tensor:
        """The texts of tokens, valid UTF-8: string [B]."""
        texts = self.target_text.detokenize(tokens)
        return tf.strings.unicode_transcode(texts, "UTF-8", "UTF-8", errors="replace")


def _empty_without_words(result: BeamResult, has_words: tf.Tensor) -> BeamResult:
    """Let a source without words (False in bool [B]) have one translation, the end symbol alone,
    with probability 1.
    """
    first = tf.range(tf.shape(result.lengths)[1]) == 0  # [N]
    number = tf.where(first, 0.0, NO_HYPOTHESIS)

    def replaced(values: tf.Tensor, empty: typing.Any) -> tf.Tensor:
        rows = tf.reshape(has_words, [-1] + [1] * (values.shape.rank - 1))
        return tf.where(rows, values, empty)

    return result._replace(
        ids=replaced(result.ids, PAD_ID),
        lengths=replaced(result.lengths, tf.cast(first, tf.int32)),
        log_probabilities=replaced(result.log_probabilities, number),
        scores=replaced(result.scores, number),
        alignments=replaced(result.alignments, 0.0),
        token_log_probabilities=replaced(result.token_log_probabilities, 0.0),
        finished=replaced(result.finished, first),
    )


def _mean_token_probability(result: BeamResult) -> tf.Tensor:
    """The geometric mean of the probabilities of a translation's tokens: float32 [B, N]."""
    return tf.exp(result.log_probabilities / tf.cast(result.lengths, tf.float32))


def _merge_lists(values: tf.Tensor) -> tf.Tensor:
    """[B, N, ...] → [B·N, ...]."""
    shape = tf.shape(values)
    return tf.reshape(values, tf.concat([[shape[0] * shape[1]], shape[2:]], axis=0))


def _joined(tokens: tf.RaggedTensor) -> tf.Tensor:
    """Tokens separated by single spaces, which no token contains: string [B]."""
    return tf.strings.reduce_join(tokens, axis=1, separator=" ")
