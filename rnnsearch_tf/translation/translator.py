"""Translator: loads a model once, then translates, scores, aligns and samples text."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import ATTENDING, END_ID, UNKNOWN_ID, Config, SearchConfig
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.scoring import TargetScores
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.search.beam import check_nbest
from rnnsearch_tf.search.graphs import sample_graph, score_graph, search_graph
from rnnsearch_tf.search.sampling import check_temperature
from rnnsearch_tf.search.unknown import replace_unknown
from rnnsearch_tf.text.counting import Line
from rnnsearch_tf.text.pipeline import Text, TracedText, list_of_texts
from rnnsearch_tf.text.vocabulary import batches, padded
from rnnsearch_tf.translation.arguments import changed_search, checked_lengths, samples_and_seed
from rnnsearch_tf.translation.loading import Paths, load_runs
from rnnsearch_tf.translation.results import Hypothesis, Sample, ScoredPair, Translation
from rnnsearch_tf.translation.saving import save_model

log = logging.getLogger("rnnsearch_tf")

SAMPLES_AT_ONCE = 64
"""Samples of one sentence that are drawn in one batch."""


@dataclasses.dataclass(frozen=True)
class _Source:
    """A source sentence and its index in the input."""

    index: int
    tokens: list[str]
    ids: list[int]  # including the end symbol


class Translator:
    """Translates, scores, aligns and samples with a trained model or an ensemble.

    Args:
        model: TranslationModel or Ensemble.
        source_text, target_text: Text of each side.
        config: Config; for an ensemble, that of the first member.
        maximum_lengths: {"source": tokens, "target": tokens}; longer sentences are cut, with a
            warning. A side that is not given: ten times the longest training sentence.

    Attributes:
        maximum_lengths: as the argument, of both sides.

    Example:
        translator = Translator.load("runs/demo")
        translator.translate(["the red car"])[0].text
    """

    def __init__(
        self,
        model: TranslationModel | Ensemble,
        source_text: Text,
        target_text: Text,
        config: Config,
        maximum_lengths: Mapping[str, int] | None = None,
    ) -> None:
        self.model = model
        self.source_text = source_text
        self.target_text = target_text
        self.config = config
        self.maximum_lengths = checked_lengths(config, maximum_lengths)
        self._source = TracedText(source_text)
        self._target = TracedText(target_text, translations=True)
        self._graphs: dict[tuple[Any, ...], Callable[..., Any]] = {}  # traced functions

    @classmethod
    def load(
        cls,
        runs: Paths,
        overrides: Sequence[str] = (),
        maximum_lengths: Mapping[str, int] | None = None,
    ) -> Translator:
        """Load a Translator from a RUN folder, or an ensemble from several.

        Args:
            runs: path of the folder, or a list of them: the members of an ensemble may be of any
                system, but share both vocabularies and text settings.
            overrides: options that replace the RUN's own, ``section.key=value``, such as
                ``search.beam_size=5`` or ``training.precision=mixed_bfloat16``.
            maximum_lengths: as of the class.

        Raises:
            UserError: a folder is missing or incomplete, or the members' texts differ.
            UsageError: an override is unknown or out of range.
        """
        return cls(*load_runs(runs, overrides), maximum_lengths)

    def save(self, run: str | os.PathLike[str]) -> None:
        """Write the model as a RUN folder, which ``load``, ``export_model`` and all commands take.

        The state of the optimizer is not in it: ``rnnsearch train --from RUN`` starts another
        training from its weights, ``--resume`` refuses it.

        Args:
            run: path of a folder that does not exist yet, or is empty.

        Raises:
            UsageError: the folder has files, the model is an ensemble, or the Translator's
                configuration or texts are not those that the model was built with.
            UserError: the folder cannot be written.
        """
        save_model(run, self.model, self.source_text, self.target_text, self.config)

    @overload
    def translate(self, texts: Line, nbest: int = 1, **search: Any) -> Translation: ...

    @overload
    def translate(
        self, texts: Iterable[Line], nbest: int = 1, **search: Any
    ) -> list[Translation]: ...

    def translate(self, texts: Any, nbest: int = 1, **search: Any) -> Any:
        """Translate sentences by beam search.

        Args:
            texts: sentences, one as str or bytes each; an empty one has an empty translation.
            nbest: length of the n-best lists, at most ``search.beam_size``.
            **search: options of the search section that differ for this call, such as
                ``beam_size=5``.

        Returns:
            list[Translation], in the order of `texts`; for a single text, its Translation.

        Raises:
            UsageError: an option is unknown or out of range, or `texts` are not sentences.
            UserError: the model's probabilities are not finite.

        Example:
            translator.translate("the room is free", beam_size=4).text
        """
        if isinstance(texts, (str, bytes)):
            return self.translate([texts], nbest, **search)[0]
        texts = list_of_texts(texts, "texts")
        config = self.search_config(**search)
        check_nbest(nbest, config)
        results = [_EMPTY_TRANSLATION for _ in texts]
        sources = sorted(
            (source for source in self._encode(texts) if source.tokens),
            key=lambda source: len(source.ids),
        )
        for batch in batches(sources, config.batch_size):
            for source, translation in zip(batch, self._translate(batch, config, nbest)):
                results[source.index] = translation
        return results

    def score_targets(
        self,
        sources: Iterable[Line],
        targets: Iterable[Line],
        tokenized: bool = False,
    ) -> list[ScoredPair]:
        """Score and align given pairs.

        Args:
            sources, targets: as many targets as sources.
            tokenized: the lines are Moses tokens already; see ``Text.split``.

        Returns:
            list[ScoredPair], in order; log-probabilities are natural logarithms and include the
            end symbol.

        Raises:
            UsageError: `sources` or `targets` are not sentences, or there are more of one than of
                the other.
        """
        sources = list_of_texts(sources, "sources")
        targets = list_of_texts(targets, "targets")
        if len(sources) != len(targets):
            raise UsageError(
                f"score_targets: expected as many targets as sources, {len(sources)}, got"
                f" {len(targets)}; give one target for each source"
            )
        target_tokens, target_ids = self._target.tokens_and_ids(targets, tokenized)
        pairs = [
            (
                source,
                _cut(
                    "target",
                    target_tokens[source.index],
                    target_ids[source.index],
                    self.maximum_lengths["target"],
                ),
            )
            for source in self._encode(sources, tokenized)
        ]
        pairs.sort(key=lambda pair: (len(pair[0].ids), len(pair[1][1])))
        results: dict[int, ScoredPair] = {}
        for batch in batches(pairs, self.config.search.batch_size):
            result = self._score(batch)
            for row, (source, (tokens, ids)) in enumerate(batch):
                log_probabilities = result.log_probabilities[row, : len(ids)].astype(np.float64)
                results[source.index] = ScoredPair(
                    float(log_probabilities.sum()),
                    log_probabilities,
                    source.tokens,
                    tokens,
                    result.alignments[row, : len(ids), : len(source.ids)],
                    (source.ids + ids).count(UNKNOWN_ID),
                )
        return [results[index] for index in range(len(sources))]

    def _score(self, batch: Sequence[tuple[_Source, tuple[list[str], list[int]]]]) -> TargetScores:
        """TargetScores as NumPy arrays of pairs (source, (target tokens, target ids))."""
        sources = padded([source.ids for source, _ in batch])
        targets = padded([ids for _, (_, ids) in batch])
        return tf.nest.map_structure(np.asarray, self._graph(score_graph)(sources, targets))

    def score(
        self,
        sources: Iterable[Line],
        targets: Iterable[Line],
        tokenized: bool = False,
    ) -> list[float]:
        """Natural-log probability of each pair, including the end symbol; arguments as of
        `score_targets`.
        """
        return [
            scored.log_probability for scored in self.score_targets(sources, targets, tokenized)
        ]

    def search_config(self, **changes: Any) -> SearchConfig:
        """The RUN's search section with some options changed, checked as in a file."""
        config = changed_search(self.config, changes) if changes else self.config.search
        if config.replace_unknown:
            self.require_attention("replace_unknown")
        return config

    def require_attention(self, purpose: str) -> None:
        """Check that the model has attention, and so alignments.

        Raises:
            UsageError: naming the purpose.
        """
        if not self.model.has_attention:
            raise UsageError(
                f"{purpose}: expected a model with attention, got {type(self.model).__name__},"
                " which aligns nothing; use a model of a system with attention:"
                f" {', '.join(ATTENDING)}"
            )

    @property
    def has_pieces(self) -> tuple[bool, bool]:
        """Whether the tokens of the source and of the target are SentencePiece pieces."""
        source, target = self.source_text.config, self.target_text.config
        return source.tokenization == "sentencepiece", target.tokenization == "sentencepiece"

    def sample(
        self, texts: Iterable[Line], number: int, temperature: float = 1.0, seed: int = 1
    ) -> list[list[Sample]]:
        """Draw translations at random.

        Args:
            texts: sentences.
            number: samples for each sentence.
            temperature: the logits are divided by it before drawing.
            seed: from 0 to 2^31 − 1; a sentence's samples depend on it alone, not on the other
                sentences.

        Returns:
            `number` Samples for each sentence; those of a sentence without words are empty and
            have log-probability 0.

        Raises:
            UsageError: `texts` are not sentences, or a number is out of range.
        """
        texts = list_of_texts(texts, "texts")
        check_temperature(temperature)
        number, seed = samples_and_seed(number, seed)
        graph = self._graph(sample_graph, _as_traced(self.config.search))
        nothing = [Sample("", 0.0, [])] * number
        return [
            self._samples(graph, source, number, temperature, seed) if source.tokens else nothing
            for source in self._encode(texts)
        ]

    def _samples(
        self,
        graph: Callable[..., Any],
        source: _Source,
        number: int,
        temperature: float,
        seed: int,
    ) -> list[Sample]:
        """The samples of one sentence, each from its own seed."""
        samples = []
        for indices in batches(range(number), SAMPLES_AT_ONCE):
            result = graph(
                padded([source.ids] * len(indices)),
                np.int64(seed << 32) + np.array(indices, np.int64),
                tf.constant(temperature, tf.float64),
            )
            texts, tokens = self._target.texts_and_tokens(self._target.tokens(result.ids.numpy()))
            samples += [
                Sample(text, float(p), words)
                for text, p, words in zip(texts, result.log_probabilities.numpy(), tokens)
            ]
        return samples

    def _graph(self, build: Callable[..., Any], *arguments: Any) -> Callable[..., Any]:
        """The traced function of one task with these arguments after the model."""
        key = (build, *arguments)
        if key not in self._graphs:
            self._graphs[key] = build(self.model, *arguments)
        return self._graphs[key]

    def _encode(self, texts: Sequence[Line], tokenized: bool = False) -> list[_Source]:
        """The source sentences as tokens and ids; overlong ones are cut."""
        limit = self.maximum_lengths["source"]
        return [
            _Source(index, *_cut("source", tokens, ids, limit))
            for index, (tokens, ids) in enumerate(
                zip(*self._source.tokens_and_ids(texts, tokenized))
            )
        ]

    def _translate(
        self, batch: Sequence[_Source], config: SearchConfig, nbest: int
    ) -> list[Translation]:
        """The translations of a batch."""
        search = self._graph(search_graph, _as_traced(config), nbest)
        result = search(padded([source.ids for source in batch]))
        result = tf.nest.map_structure(np.asarray, result)
        rows, columns = np.nonzero(result.lengths)  # unused places of an n-best list have length 0
        tokens = self._target.tokens(result.ids[rows, columns])
        if config.replace_unknown:
            sources = tf.ragged.constant(
                [batch[row].tokens for row in rows.tolist()], tf.string, ragged_rank=1
            )
            tokens = replace_unknown(tokens, result.alignments[rows, columns], sources)
        lists: list[list[Hypothesis]] = [[] for _ in batch]
        for row, n, text, words in zip(
            rows.tolist(), columns.tolist(), *self._target.texts_and_tokens(tokens)
        ):
            alignment = _rows(result.alignments[row, n], len(words) + 1)[:, : len(batch[row].ids)]
            length = result.lengths[row, n]
            hypothesis = Hypothesis(
                text,
                float(result.scores[row, n]),
                float(result.log_probabilities[row, n]),
                words,
                alignment,
                result.token_log_probabilities[row, n, :length],
                bool(result.finished[row, n]),
            )
            lists[row].append(hypothesis)
        for source, hypotheses in zip(batch, lists):
            if not hypotheses or not math.isfinite(hypotheses[0].score):
                raise UserError(
                    f"sentence {source.index + 1} ({' '.join(source.tokens)[:60]!r}): expected"
                    " finite probabilities, got none; the model's weights contain NaN or Inf"
                )
        return [
            Translation(**vars(hypotheses[0]), source_tokens=source.tokens, nbest=hypotheses)
            for source, hypotheses in zip(batch, lists)
        ]


_EMPTY = Hypothesis("", 0.0, 0.0, [], np.zeros((0, 0), np.float32), np.zeros(0, np.float32))
_EMPTY_TRANSLATION = Translation(**vars(_EMPTY), source_tokens=[], nbest=[_EMPTY])
"""The translation of a sentence without words."""


def _as_traced(config: SearchConfig) -> SearchConfig:
    """The options, without those that a traced search does not read."""
    return dataclasses.replace(config, batch_size=1, replace_unknown=False)


def _cut(side: str, tokens: list[str], ids: list[int], limit: int) -> tuple[list[str], list[int]]:
    """(tokens, ids) with at most `limit` tokens before the end symbol."""
    if len(tokens) <= limit:
        return tokens, ids
    log.warning(
        "warning: a %s sentence of %d tokens was cut to %d, the maximum length: %s …",
        side,
        len(tokens),
        limit,
        " ".join(tokens[:6])[:60],
    )
    return tokens[:limit], ids[:limit] + [END_ID]


def _rows(alignment: np.ndarray, count: int) -> np.ndarray:
    """The first `count` rows; the end symbol's row is zero if the search was cut off before it."""
    return np.pad(alignment[:count], [(0, max(count - len(alignment), 0)), (0, 0)])
