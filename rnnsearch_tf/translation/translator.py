"""Translator: loads a model once, then translates, scores, aligns and samples text."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import logging
import math
import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import END_ID, UNKNOWN_ID, Config, SearchConfig, check_value
from rnnsearch_tf.config.presets import ATTENDING
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files.reading import state_of
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runtime.cores import shard_count
from rnnsearch_tf.search.beam import BeamResult
from rnnsearch_tf.search.graphs import (
    constrained_search_graph,
    sample_graph,
    score_targets_graph,
    search_graph,
)
from rnnsearch_tf.search.retry import search_until_finished
from rnnsearch_tf.search.sampling import check_temperature
from rnnsearch_tf.search.scoring import TargetScores
from rnnsearch_tf.search.shortlist import Shortlist
from rnnsearch_tf.search.unknown import Lexicon, replace_unknown
from rnnsearch_tf.text.counting import Line
from rnnsearch_tf.text.phrases import PhraseTokens, read_phrases
from rnnsearch_tf.text.pipeline import Text, TracedText, list_of_texts
from rnnsearch_tf.text.vocabulary import padded
from rnnsearch_tf.translation.arguments import (
    changed_search,
    checked_lengths,
    constraint_lines,
    samples_and_seed,
    too_many_tokens,
)
from rnnsearch_tf.translation.loading import Paths, load_runs
from rnnsearch_tf.translation.results import Hypothesis, Sample, ScoredPair, Translation
from rnnsearch_tf.translation.saving import save_model

log = logging.getLogger("rnnsearch_tf")

SAMPLES_AT_ONCE = 64
"""Samples of one sentence that are drawn in one batch."""

MOST_GRAPHS = 16  # traced functions that a Translator keeps, about 20 MB each

Item = TypeVar("Item")
Result = TypeVar("Result")


@dataclasses.dataclass(frozen=True)
class _Source:
    """A source sentence and its index in the input."""

    index: int
    tokens: list[str]
    ids: list[int]  # including the end symbol
    readings: list[list[int]]  # `ids`, then those of ensemble members that tokenize differently


class Translator:
    """Translates, scores, aligns and samples with a trained model or an ensemble.

    Args:
        model: TranslationModel or Ensemble.
        source_text, target_text: Text of each side.
        config: Config; for an ensemble, that of the first member.
        more_source_texts: further source Texts of an ensemble whose members tokenize differently.
        maximum_lengths: {"source": tokens, "target": tokens}; longer sentences are cut, with a
            warning. A side that is not given: ten times the longest training sentence.

    Attributes:
        source_texts: list of Text, source_text first.
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
        more_source_texts: Sequence[Text] = (),
        maximum_lengths: Mapping[str, int] | None = None,
    ) -> None:
        self.model = model
        self.source_text = source_text
        self.source_texts = [source_text, *more_source_texts]
        self.target_text = target_text
        self.config = config
        self.maximum_lengths = checked_lengths(config, maximum_lengths)
        self._sources = [TracedText(text) for text in self.source_texts]
        self._target = TracedText(target_text, translations=True)
        self._shards = shard_count()
        # by what they are made from: lexicons and shortlists; traced functions, the last used last
        self._cache: dict[tuple[Any, ...], Any] = {}
        self._graphs: OrderedDict[tuple[Any, ...], Callable[..., Any]] = OrderedDict()
        self._cache_lock = threading.Lock()

    @classmethod
    def load(
        cls,
        runs: Paths,
        precision: str | None = None,
        combine: str = "probabilities",
        maximum_lengths: Mapping[str, int] | None = None,
    ) -> Translator:
        """Load a Translator from a RUN folder, or an ensemble from several.

        Args:
            runs: path of the folder, or a list of them: the members of an ensemble may be of any
                system and tokenize the source differently, but share the target vocabulary.
            precision: number type of the computation, as training.precision; None: the RUN's own.
            combine: see :class:`~rnnsearch_tf.models.ensemble.Ensemble`.
            maximum_lengths: as of the class.

        Raises:
            UserError: a folder is missing or incomplete, or the target vocabularies differ.
        """
        model, source_texts, target_text, config = load_runs(runs, precision, combine)
        return cls(model, source_texts[0], target_text, config, source_texts[1:], maximum_lengths)

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
    def translate(
        self, texts: Line, constraints: Iterable[Line] | None = None, **search: Any
    ) -> Translation: ...

    @overload
    def translate(
        self,
        texts: Iterable[Line],
        constraints: Iterable[Iterable[Line]] | None = None,
        **search: Any,
    ) -> list[Translation]: ...

    def translate(self, texts: Any, constraints: Any = None, **search: Any) -> Any:
        """Translate sentences by beam search.

        Args:
            texts: sentences, or one as str or bytes; an empty one has an empty translation.
            constraints: for each text, phrases that its translations must contain, see
                search/constrained.py; they may contain words outside the vocabulary. A text
                without phrases is translated as usual. The beam should have more hypotheses than
                a text's phrases have tokens. For a single text: its phrases.
            **search: options of the search section that differ for this call, such as
                ``beam_size=5``.

        Returns:
            list[Translation], in the order of `texts`; for a single text, its Translation.

        Raises:
            UsageError: an option is unknown or out of range, `texts` are not sentences, or
                `constraints` is not one list of phrases for each text.
            UserError: the model's probabilities are not finite, every word of a sentence is
                forbidden, or phrases have too many tokens.

        Example:
            translator.translate("the room is free", constraints=["chambre"]).text
        """
        if isinstance(texts, (str, bytes)):
            return self.translate(
                [texts], None if constraints is None else [constraints], **search
            )[0]
        texts = list_of_texts(texts, "texts")
        config = self.search_config(**search)
        phrases = (
            [b""] * len(texts) if constraints is None else constraint_lines(constraints, texts)
        )
        lexicon = self.lexicon(config) if config.replace_unknown else None
        self.shortlist(config)  # report a bad file before any work is done
        results = [_EMPTY_TRANSLATION for _ in texts]
        sources = sorted(
            (source for source in self._encode(texts) if source.tokens),
            key=lambda source: len(source.ids),
        )

        for shard, translations in in_shards(
            self._shards,
            lambda shard: self._translate(shard, config, lexicon, phrases),
            sources,
            config.batch_size,
        ):
            for source, translation in zip(shard, translations):
                results[source.index] = translation
        return results

    def score_targets(
        self,
        sources: Iterable[Line],
        targets: Iterable[Line],
        batch_size: int | None = None,
        tokenized: bool = False,
    ) -> list[ScoredPair]:
        """Score and align given pairs.

        Args:
            sources, targets: as many targets as sources.
            batch_size: pairs in a batch; None takes search.batch_size.
            tokenized: the lines are Moses tokens already; see ``Text.split``.

        Returns:
            list[ScoredPair], in order; log-probabilities are natural logarithms and include the
            end symbol.

        Raises:
            UsageError: `sources` or `targets` are not sentences, there are more of one than of the
                other, or `batch_size` is below 1.
        """
        sources = list_of_texts(sources, "sources")
        targets = list_of_texts(targets, "targets")
        if len(sources) != len(targets):
            raise UsageError(
                f"score_targets: expected as many targets as sources, {len(sources)}, got"
                f" {len(targets)}; give one target for each source"
            )
        if batch_size is None:
            batch_size = self.config.search.batch_size
        size = check_value("search.batch_size", batch_size, "batch_size")
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
        for shard, result in in_shards(self._shards, self._score, pairs, size):
            for row, (source, (tokens, ids)) in enumerate(shard):
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

    def _score(self, shard: Sequence[tuple[_Source, tuple[list[str], list[int]]]]) -> TargetScores:
        """TargetScores as NumPy arrays of pairs (source, (target tokens, target ids))."""
        sources, targets = zip(*shard)
        return tf.nest.map_structure(
            np.asarray,
            self._graph(score_targets_graph)(
                _source_ids(sources), padded([ids for _, ids in targets])
            ),
        )

    def score(
        self,
        sources: Iterable[Line],
        targets: Iterable[Line],
        batch_size: int | None = None,
        tokenized: bool = False,
    ) -> list[float]:
        """Natural-log probability of each pair, including the end symbol; arguments as of
        `score_targets`.
        """
        return [
            scored.log_probability
            for scored in self.score_targets(sources, targets, batch_size, tokenized)
        ]

    def search_config(self, **changes: Any) -> SearchConfig:
        """The RUN's search section with some options changed, checked as in a file."""
        config = changed_search(self.config, changes) if changes else self.config.search
        for name in ("replace_unknown", "coverage_penalty"):
            if getattr(config, name):
                self.require_attention(name)
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

    @property
    def unicode_forms(self) -> tuple[str, str]:
        """The option `unicode_form` of the source and of the target text."""
        return self.source_text.config.unicode_form, self.target_text.config.unicode_form

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
        graph = self._graph(sample_graph, self.config.search)
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
        samples: dict[int, Sample] = {}

        def draw(shard: Sequence[int]) -> list[Sample]:
            result = graph(
                _source_ids([source] * len(shard)),
                np.int64(seed << 32) + np.array(shard, np.int64),
                tf.constant(temperature, tf.float64),
            )
            texts, tokens = self._target.texts_and_tokens(self._target.tokens(result.ids.numpy()))
            return [
                Sample(text, float(p), words)
                for text, p, words in zip(texts, result.log_probabilities.numpy(), tokens)
            ]

        for shard, drawn in in_shards(self._shards, draw, range(number), SAMPLES_AT_ONCE):
            samples.update(zip(shard, drawn))
        return [samples[index] for index in range(number)]

    def shortlist(self, config: SearchConfig) -> Shortlist | None:
        """The Shortlist that a search section names, or None; read again if its file changed."""
        if config.shortlist is None:
            return None
        options = config.shortlist, config.shortlist_frequent, config.shortlist_translations
        texts = self.source_text.vocabulary, self.target_text.vocabulary, *self.unicode_forms
        return self._cached(Shortlist.load, *options, *texts)

    def lexicon(self, config: SearchConfig) -> Lexicon | None:
        """The lexicon of a search, in the form of the source's words; None if it has none."""
        forms = *self.unicode_forms, self.config.source.lowercase
        return self._cached(Lexicon.load, config.lexicon, *forms) if config.lexicon else None

    def _graph(
        self, build: Callable[..., Any], config: SearchConfig | None = None, *more: Any
    ) -> Callable[..., Any]:
        """The traced function of one task under one search configuration."""
        not_in_graph = dict(batch_size=1, lexicon=None, replace_unknown=False)
        key = build, config and str(vars(config) | not_in_graph), *more
        with self._cache_lock:
            graph = self._graphs.pop(key, None) or build(
                self.model, config, len(self.source_texts), *more
            )
            self._graphs[key] = graph
            if len(self._graphs) > MOST_GRAPHS:
                self._graphs.popitem(last=False)
            return graph

    def _cached(self, make: Callable[..., Any], *arguments: Any) -> Any:
        """``make(*arguments)``, computed once, by the first thread; again if the file changed."""
        known = state_of(arguments[0])
        key = make, *arguments
        with self._cache_lock:
            if key not in self._cache or self._cache[key][0] != known:
                self._cache[key] = known, make(*arguments)
            return self._cache[key][1]

    def _encode(self, texts: Sequence[Line], tokenized: bool = False) -> list[_Source]:
        """The source sentences as tokens and ids; overlong ones are cut."""
        limit = self.maximum_lengths["source"]
        readings = [
            [
                _cut("source", tokens, ids, limit)
                for tokens, ids in zip(*text.tokens_and_ids(texts, tokenized))
            ]
            for text in self._sources
        ]
        return [
            _Source(index, tokens=rows[0][0], ids=rows[0][1], readings=[ids for _, ids in rows])
            for index, rows in enumerate(zip(*readings))
        ]

    def _phrases(self, sources: Sequence[_Source], constraints: Sequence[bytes]) -> PhraseTokens:
        """PhraseTokens of the sentences."""
        phrases: PhraseTokens = self._cached(_phrase_reader, self.target_text)(constraints)
        for source, line, fits in zip(sources, constraints, phrases.fits.numpy()):
            if not fits:
                raise too_many_tokens(source.index, line)
        return phrases

    def _search(
        self, sources: Sequence[_Source], config: SearchConfig, phrases: PhraseTokens | None
    ) -> BeamResult:
        """BeamResult as NumPy arrays.

        Under the authors' rules, a sentence without a finished hypothesis is searched again with
        a wider beam; greedy search (beam 1) is not repeated.
        """

        def search(rows: np.ndarray, config: SearchConfig) -> BeamResult:
            ids = _source_ids([sources[row] for row in rows])
            options = config, self.shortlist(config), self._shards
            if phrases is None:
                result = self._graph(search_graph, *options)(ids)
            else:
                graph = self._graph(constrained_search_graph, *options, self.target_text)
                result = graph(ids, phrases.ids.numpy()[rows])
            return tf.nest.map_structure(np.asarray, result)

        if config.shrinking_beam and config.search_again and config.beam_size > 1:
            return search_until_finished(search, config, len(sources))
        return search(np.arange(len(sources)), config)

    def _translate(
        self,
        shard: Sequence[_Source],
        config: SearchConfig,
        lexicon: Lexicon | None,
        lines: Sequence[bytes],
    ) -> list[Translation]:
        """Translate a shard; `lines` has the phrases of each sentence of the whole input."""
        constraints = [lines[source.index] for source in shard]
        phrases = self._phrases(shard, constraints) if any(constraints) else None
        result = self._search(shard, config, phrases)
        rows, columns = np.nonzero(result.lengths)  # unused places of an n-best list have length 0
        ids = result.ids[rows, columns]
        tokens = (
            self._target.tokens(ids)
            if phrases is None
            else self._target.tokens_with(ids, phrases.tokens.numpy()[rows])
        )
        if config.replace_unknown:
            sources = tf.ragged.constant(
                [shard[row].tokens for row in rows.tolist()], tf.string, ragged_rank=1
            )
            tokens = replace_unknown(tokens, result.alignments[rows, columns], sources, lexicon)
        lists: list[list[Hypothesis]] = [[] for _ in shard]
        for row, n, text, words in zip(
            rows.tolist(), columns.tolist(), *self._target.texts_and_tokens(tokens)
        ):
            alignment = _rows(result.alignments[row, n], len(words) + 1)[:, : len(shard[row].ids)]
            score = float(result.scores[row, n])
            log_probability = float(result.log_probabilities[row, n])
            lists[row].append(Hypothesis(text, score, log_probability, words, alignment))
        for source, nbest in zip(shard, lists):
            if not nbest or not math.isfinite(nbest[0].score):
                raise UserError(
                    f"sentence {source.index + 1} ({' '.join(source.tokens)[:60]!r}): expected"
                    " finite probabilities, got none; the model's weights contain NaN or Inf, or"
                    " search.shortlist and search.allow_unknown exclude every word"
                )
        return [
            Translation(**vars(nbest[0]), source_tokens=source.tokens, nbest=nbest)
            for source, nbest in zip(shard, lists)
        ]


def _phrase_reader(text: Text) -> Callable[[Sequence[bytes]], PhraseTokens]:
    """:func:`~rnnsearch_tf.text.phrases.read_phrases` of a text, traced."""
    return tf.function(
        lambda lines: read_phrases(text, lines),
        autograph=False,
        input_signature=[tf.TensorSpec([None], tf.string)],
    )


_EMPTY = Hypothesis("", 0.0, 0.0, [], np.zeros((0, 0), np.float32))
_EMPTY_TRANSLATION = Translation(**vars(_EMPTY), source_tokens=[], nbest=[_EMPTY])
"""The translation of a sentence without words."""


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


def in_shards(
    count: int,
    work: Callable[[Sequence[Item]], Result],
    items: Sequence[Item],
    size: int,
) -> Iterator[tuple[Sequence[Item], Result]]:
    """Split items into batches, and each batch into shards that are computed by several threads.

    Neighbouring items, which have similar lengths, go to different shards, so that all shards take
    equally long.

    Args:
        count: shards of a batch, and threads.
        work: computes the result of a shard.
        items: a list or array.
        size: items in a batch, at most.

    Returns:
        pairs (shard, its result).
    """
    batches = (items[start : start + size] for start in range(0, len(items), size))
    shards = [batch[first::count] for batch in batches for first in range(min(count, len(batch)))]
    if min(count, len(shards)) <= 1:
        return zip(shards, map(work, shards))
    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        return zip(shards, list(threads.map(work, shards)))


def _rows(alignment: np.ndarray, count: int) -> np.ndarray:
    """The first `count` rows; the end symbol's row is zero if the search was cut off before it."""
    return np.pad(alignment[:count], [(0, max(count - len(alignment), 0)), (0, 0)])


def _source_ids(sources: Sequence[_Source]) -> np.ndarray | tuple[np.ndarray, ...]:
    """Padded ids of a batch as a graph's argument: one array, or one for each tokenization of the
    source.
    """
    arrays = tuple(padded(rows) for rows in zip(*(source.readings for source in sources)))
    return arrays if len(arrays) > 1 else arrays[0]
