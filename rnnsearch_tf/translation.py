"""Translator: loads a model once; text in, text out. What notebooks and the command line use."""

from __future__ import annotations

import dataclasses
import logging
import os

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import END_ID, PAD_ID, Config, SearchConfig, check_value, load_config
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.run_folder import check_run
from rnnsearch_tf.search.beam import beam_search
from rnnsearch_tf.search.retry import search_until_finished
from rnnsearch_tf.search.sampling import sample
from rnnsearch_tf.search.scoring import force
from rnnsearch_tf.search.unknown import Lexicon, replace_unknown

log = logging.getLogger("rnnsearch_tf")

OVERLONG = 10
"""Input beyond this many times the longest training sentence is cut off."""

SAMPLES_AT_ONCE = 64
"""Samples of one sentence drawn side by side."""

IDS = tf.TensorSpec([None, None], tf.int32)
"""Ids of any number of sentences of any length: one trace serves them all."""


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence.

    Attributes:
        text: detokenized.
        score: what it is ranked by: log_probability / length^A (see search.length_penalty); higher is better.
        log_probability: natural logarithm of p(target | source), the end symbol included.
        tokens: list[str], the end symbol left out.
        alignment: float32 [target tokens + 1, source tokens + 1]; the last row and
            column are the end symbols'.
    """

    text: str
    score: float
    log_probability: float
    tokens: list
    alignment: np.ndarray


@dataclasses.dataclass(frozen=True)
class Translation(Hypothesis):
    """The best hypothesis of a sentence, with its source tokens and the n-best list, best first."""

    source_tokens: list
    nbest: list


@dataclasses.dataclass(frozen=True)
class ForcedPair:
    """What the model says of a given sentence pair; fields as in `Hypothesis`."""

    log_probability: float
    source_tokens: list
    target_tokens: list
    alignment: np.ndarray


@dataclasses.dataclass(frozen=True)
class Sample:
    """One translation drawn at random; log_probability is at temperature 1, other fields as in `Hypothesis`."""

    text: str
    log_probability: float
    tokens: list


@dataclasses.dataclass(frozen=True)
class _Source:
    """A source sentence, and where it stood in the input."""

    index: int
    tokens: list
    ids: list  # the end symbol included


class Translator:
    """Translates, scores, aligns and samples with one trained model.

    Example:
        translator = Translator.load("runs/demo")
        translator.translate(["the red car"])[0].text
    """

    def __init__(self, model, source_text, target_text, config: Config):
        self.model = model
        self.source_text = source_text
        self.target_text = target_text
        self.config = config
        self._lexicons = {}  # by path
        self._graphs = {}  # one traced function for each kind of work and search configuration

    @classmethod
    def from_model(cls, model, source_text, target_text, config: Config) -> Translator:
        """A Translator around a model in memory, as training has it."""
        return cls(model, source_text, target_text, config)

    @classmethod
    def load(cls, run) -> Translator:
        """A Translator from the folder that training wrote.

        Args:
            run: path of the folder, or a list of one.

        Raises:
            UserError: the folder is missing or incomplete.
            UsageError: several folders (ensembles) were given.
        """
        from rnnsearch_tf.models import load_model
        from rnnsearch_tf.text.pipeline import load_text

        runs = [run] if isinstance(run, (str, os.PathLike)) else list(run)
        if len(runs) != 1:
            raise UsageError(f"expected one RUN folder, got {len(runs)}; ensembles of several models are not available yet")
        run = check_run(runs[0])
        config = load_config(run / "config.yaml")
        source_text = load_text(run, "source", config.source)
        target_text = load_text(run, "target", config.target)
        model = load_model(run, config, source_text.vocabulary.size, target_text.vocabulary.size)
        return cls(model, source_text, target_text, config)

    def translate(self, texts, **search) -> list:
        """Translate sentences by beam search.

        Args:
            texts: list[str]; an empty sentence gives an empty translation.
            **search: options of the search section that differ for this call, such as ``beam_size=5``.

        Returns:
            list[Translation], in the order of `texts`.

        Raises:
            UsageError: an option is unknown or out of range.
        """
        config = self.search_config(**search)
        lexicon = self._lexicon(config.lexicon) if config.replace_unknown and config.lexicon else None
        results = [_nothing() for _ in texts]
        for batch in self._batches(texts, config.batch_size):
            for source, translation in zip(batch, self._translate_batch(batch, config, lexicon)):
                results[source.index] = translation
        return results

    def force(self, sources, targets, batch_size=None) -> list:
        """Score and align given pairs.

        Args:
            sources, targets: list[str] of equal length.
            batch_size: pairs computed at once; None takes search.batch_size.

        Returns:
            list[ForcedPair], in order; log-probabilities are natural logarithms, the end symbol included.
        """
        if len(sources) != len(targets):
            raise UserError(f"expected as many targets as sources, got {len(targets)} and {len(sources)}")
        if not sources:
            return []
        target_tokens, target_ids = _tokens_and_ids(self.target_text, targets)
        pairs = [
            (source, _cut("target", target_tokens[source.index], target_ids[source.index], self._limit("target")))
            for source in self._encode(sources)
        ]
        pairs.sort(key=lambda pair: (len(pair[0].ids), len(pair[1][1])))
        results = [None] * len(sources)
        size = batch_size or self.config.search.batch_size
        for start in range(0, len(pairs), size):
            batch = pairs[start : start + size]
            graph = self._graph(_force_graph)
            result = graph(_padded([s.ids for s, _ in batch]), _padded([ids for _, (_, ids) in batch]))
            log_probabilities, alignments = (value.numpy() for value in result)  # [B, I], [B, I, J]
            for row, (source, (tokens, ids)) in enumerate(batch):
                results[source.index] = ForcedPair(
                    float(log_probabilities[row, : len(ids)].sum(dtype=np.float64)),
                    source.tokens,
                    tokens,
                    alignments[row, : len(ids), : len(source.ids)],
                )
        return results

    def score(self, sources, targets) -> list:
        """list[float]: natural-log probability of each pair, the end symbol included."""
        return [forced.log_probability for forced in self.force(sources, targets)]

    def search_config(self, **changes):
        """The run's search section with some options changed, checked as in a file."""
        known = {field.name for field in dataclasses.fields(self.config.search)}
        for name, value in changes.items():
            if name not in known:
                raise UsageError(f"unknown search option {name!r}; expected one of {', '.join(sorted(known))}")
            changes[name] = check_value(f"search.{name}", value)
        config = dataclasses.replace(self.config.search, **changes)
        if config.nbest > config.beam_size:
            raise UsageError(f"nbest: expected at most the beam size {config.beam_size}, got {config.nbest}")
        return config

    def sample(self, texts, number, temperature=1.0, seed=1) -> list:
        """Draw translations at random.

        Args:
            texts: list[str].
            number: samples for each sentence.
            temperature: the logits are divided by it before drawing.
            seed: the same seed gives a sentence the same samples, whatever stands beside it.

        Returns:
            list of lists of `number` Samples, as drawn.
        """
        graph = self._graph(_sample_graph, self.config.search)
        return [self._samples(graph, source, number, temperature, seed) for source in self._encode(texts)]

    def _samples(self, graph, source, number, temperature, seed) -> list:
        """The samples of one sentence, each from a seed of its own."""
        samples = []
        for first in range(0, number, SAMPLES_AT_ONCE):
            count = min(SAMPLES_AT_ONCE, number - first)
            seeds = tf.range(first, first + count, dtype=tf.int64) + (seed << 32)
            result = graph(_padded([source.ids] * count), seeds, tf.constant(temperature, tf.float64))
            tokens = self.target_text.tokens(result.ids)
            texts, log_probabilities = self._texts(tokens), result.log_probabilities.numpy()
            samples += [Sample(text, float(p), words) for text, p, words in zip(texts, log_probabilities, _strings(tokens))]
        return samples

    def _texts(self, tokens) -> list:
        return [text.decode("utf-8") for text in self.target_text.detokenize(tokens).numpy()]

    def _lexicon(self, path):
        if path not in self._lexicons:
            self._lexicons[path] = Lexicon.load(path)
        return self._lexicons[path]

    def _graph(self, build, config=None):
        """The traced function for one kind of work under one search configuration; made once."""
        if config is not None:  # what the graph does not depend on must not make a new one
            config = dataclasses.replace(config, batch_size=1, lexicon=None, replace_unknown=False)
        key = (build, config)
        if key not in self._graphs:
            self._graphs[key] = build(self.model, config)
        return self._graphs[key]

    def _limit(self, side) -> int:
        return OVERLONG * getattr(self.config.data, f"maximum_{side}_length")

    def _encode(self, texts) -> list:
        """The source sentences as tokens and ids, overlong ones cut."""
        tokens, ids = _tokens_and_ids(self.source_text, texts)
        limit = self._limit("source")
        return [_Source(index, *_cut("source", *row, limit)) for index, row in enumerate(zip(tokens, ids))]

    def _batches(self, texts, size):
        """Lists of at most `size` sentences of like length; those without a word are left out."""
        sources = sorted((s for s in self._encode(texts) if s.tokens), key=lambda s: len(s.ids))
        for start in range(0, len(sources), size):
            yield sources[start : start + size]

    def _search(self, source_ids, config):
        """BeamResult of NumPy arrays.

        Under the authors' rules a sentence without a finished hypothesis is searched
        again, more widely; greedy search (beam 1) has nothing to widen.
        """
        if config.shrinking_beam and config.beam_size > 1:
            search = lambda rows, config: self._graph(_search_graph, config)(source_ids[rows])  # noqa: E731
            return search_until_finished(search, config, len(source_ids))
        result = self._graph(_search_graph, config)(source_ids)
        return type(result)(*(value.numpy() for value in result))

    def _translate_batch(self, batch, config, lexicon) -> list:
        result = self._search(_padded([source.ids for source in batch]), config)
        hypotheses = [(row, n) for row in range(len(batch)) for n in range(config.nbest) if result.lengths[row, n]]
        rows, columns = (list(index) for index in zip(*hypotheses))
        tokens = self.target_text.tokens(result.ids[rows, columns])
        if config.replace_unknown:
            sources = _ragged([batch[row].tokens for row in rows])
            tokens = replace_unknown(tokens, result.alignments[rows, columns], sources, lexicon)
        texts = self._texts(tokens)
        lists = [[] for _ in batch]
        for (row, n), text, words in zip(hypotheses, texts, _strings(tokens)):
            alignment = _rows(result.alignments[row, n], len(words) + 1)[:, : len(batch[row].ids)]
            numbers = float(result.scores[row, n]), float(result.log_probabilities[row, n])
            lists[row].append(Hypothesis(text, *numbers, words, alignment))
        return [Translation(**vars(nbest[0]), source_tokens=s.tokens, nbest=nbest) for s, nbest in zip(batch, lists)]


def _search_graph(model, config: SearchConfig):
    """source_ids → BeamResult."""

    @tf.function(input_signature=[IDS])
    def search(source_ids):
        state, memory = model.start(source_ids)
        return beam_search(state, memory, model.step, _lengths(source_ids), config)

    return search


def _force_graph(model, _):
    """(source_ids, target_ids) → Forced."""

    @tf.function(input_signature=[IDS, IDS])
    def score(source_ids, target_ids):
        state, memory = model.start(source_ids)
        return force(state, memory, model.step, target_ids)

    return score


def _sample_graph(model, config: SearchConfig):
    """(source_ids, seeds, temperature) → Samples."""

    @tf.function(input_signature=[IDS, tf.TensorSpec([None], tf.int64), tf.TensorSpec([], tf.float64)])
    def draw(source_ids, seeds, temperature):
        state, memory = model.start(source_ids)
        return sample(state, memory, model.step, _lengths(source_ids), seeds, config, temperature=temperature)

    return draw


def _lengths(ids):
    """int32 [B]: ids of each row that are not padding, the end symbol counted."""
    return tf.math.count_nonzero(ids != PAD_ID, axis=1, dtype=tf.int32)


_NOTHING = Hypothesis("", 0.0, 0.0, [], np.zeros((0, 0), np.float32))


def _nothing() -> Translation:
    """The translation of a sentence without words."""
    return Translation(**vars(_NOTHING), source_tokens=[], nbest=[_NOTHING])


def _tokens_and_ids(text, lines):
    """(tokens, ids) of every line, as lists; the ids end with the end symbol, the tokens have none."""
    tokens = text.tokenize(tf.constant(lines, tf.string))
    return _strings(tokens), text.ids(tokens).to_list()


def _cut(side, tokens, ids, limit):
    """(tokens, ids) with no more than `limit` tokens before the end symbol."""
    if len(tokens) <= limit:
        return tokens, ids
    log.warning("warning: a %s sentence of %d tokens was cut to %d, %d times the longest of training", side, len(tokens), limit, OVERLONG)
    return tokens[:limit], ids[:limit] + [END_ID]


def _strings(tokens) -> list:
    return [[token.decode("utf-8") for token in row] for row in tokens.to_list()]


def _ragged(rows):
    return tf.ragged.constant(rows, tf.string, ragged_rank=1)


def _rows(alignment, count):
    """The first rows; where the search was cut off there is none of the end symbol: zeros stand in."""
    return np.pad(alignment[:count], [(0, max(count - len(alignment), 0)), (0, 0)])


def _padded(rows):
    """int32 [B, longest], padded on the right."""
    result = np.full((len(rows), max(map(len, rows))), PAD_ID, np.int32)
    for ids, row in zip(rows, result):
        row[: len(ids)] = ids
    return result
