"""Translator: loads a model once; text in, text out. What notebooks and the command line use."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import logging
import math
import threading
from collections.abc import Iterable, Sequence

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import END_ID, UNKNOWN_ID, Config, SearchConfig, check_value
from rnnsearch_tf.config.effects import check_effects
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runtime.cores import shard_count
from rnnsearch_tf.search.graphs import (
    constrained_search_graph,
    sample_graph,
    score_targets_graph,
    search_graph,
)
from rnnsearch_tf.search.retry import search_until_finished
from rnnsearch_tf.search.sampling import check_temperature
from rnnsearch_tf.search.shortlist import Shortlist
from rnnsearch_tf.search.unknown import Lexicon, replace_unknown
from rnnsearch_tf.text.phrases import MOST_BYTES, MOST_TOKENS, read_phrases
from rnnsearch_tf.text.pipeline import Text, TracedText, padded
from rnnsearch_tf.translation.loading import load_runs
from rnnsearch_tf.translation.results import Hypothesis, Sample, ScoredPair, Translation

log = logging.getLogger("rnnsearch_tf")

OVERLONG = 10
"""Input beyond this many times the longest training sentence is cut off."""

SAMPLES_AT_ONCE = 64
"""Samples of one sentence drawn side by side."""


@dataclasses.dataclass(frozen=True)
class _Source:
    """A source sentence, and where it stood in the input."""

    index: int
    tokens: list
    ids: list  # the end symbol included
    readings: list  # `ids`, and those of an ensemble's members that read the source in other ways


class Translator:
    """Translates, scores, aligns and samples with one trained model, or with an ensemble of
    several.

    Args:
        model: TranslationModel or Ensemble.
        source_text, target_text: Text of each side.
        config: Config; of an ensemble that of the first member.
        more_source_texts: Texts of an ensemble's further ways to read the source.

    Attributes:
        source_texts: list of Text, source_text first.
        maximum_lengths: {"source": tokens, "target": tokens}; longer sentences are cut, with a
            warning.

    Example:
        translator = Translator.load("runs/demo")
        translator.translate(["the red car"])[0].text
    """

    def __init__(
        self,
        model,
        source_text: Text,
        target_text: Text,
        config: Config,
        more_source_texts: Sequence[Text] = (),
    ):
        self.model = model
        self.source_text = source_text
        self.source_texts = [source_text, *more_source_texts]
        self.target_text = target_text
        self.config = config
        self.maximum_lengths = {
            side: OVERLONG * getattr(config.data, f"maximum_{side}_length")
            for side in ("source", "target")
        }
        self._sources, self._target = (
            [TracedText(text) for text in self.source_texts],
            TracedText(target_text, translations=True),
        )
        self._shards = shard_count()
        # lexicons, shortlists and traced functions, by what they are made from
        self._made, self._making = (
            {},
            threading.Lock(),
        )

    @classmethod
    def load(cls, runs, precision: str | None = None, combine: str = "probabilities") -> Translator:
        """A Translator from the folder that training wrote, or an ensemble from several.

        Args:
            runs: path of the folder, or a list of them; the members of an ensemble may be of any
                system and read the source in their own ways, but share the target vocabulary.
            precision: numbers computed with, as training.precision; None takes the run's own.
            combine: see :class:`~rnnsearch_tf.models.ensemble.Ensemble`.

        Raises:
            UserError: a folder is missing or incomplete, or the target vocabularies differ.
        """
        model, source_texts, target_text, config = load_runs(runs, precision, combine)
        return cls(model, source_texts[0], target_text, config, source_texts[1:])

    def translate(
        self, texts: Iterable, constraints: Iterable | None = None, **search
    ) -> list[Translation]:
        """Translate sentences by beam search.

        Args:
            texts: sentences, str, in a list or any other iterable; an empty one gives an empty
                translation.
            constraints: for each text a list of phrases, str, that its translations have to have,
                see search/constrained.py; a text without phrases is translated as ever. Words that
                the vocabulary lacks are possible. Every model, every search and every n-best list
                takes them; the beam should have more hypotheses than a text's phrases have tokens.
            **search: options of the search section that differ for this call, such as
                ``beam_size=5``.

        Returns:
            list[Translation], in the order of `texts`.

        Raises:
            UsageError: an option is unknown or out of range, `texts` are not sentences, or
                `constraints` are not as many lists of phrases.
            UserError: the model gives no probabilities (NaN), every word of a sentence is
                forbidden, or phrases have too many tokens.

        Example:
            translator.translate(["the room is free"], constraints=[["chambre"]])[0].text
        """
        texts = strings(texts, "texts")
        config = self.search_config(**search)
        constraints = (
            [b""] * len(texts) if constraints is None else constraint_lines(constraints, texts)
        )
        lexicon = (
            self._once(Lexicon.load, config.lexicon, *self.unicode_forms)
            if config.replace_unknown and config.lexicon
            else None
        )
        self.shortlist(config)  # so that a bad file is an error before anything is done
        results = [_NOTHING for _ in texts]
        sources = sorted(
            (source for source in self._encode(texts) if source.tokens),
            key=lambda source: len(source.ids),
        )

        def translate(shard):
            return self._translate(
                shard, config, lexicon, [constraints[source.index] for source in shard]
            )

        for shard, translations in in_shards(self._shards, translate, sources, config.batch_size):
            for source, translation in zip(shard, translations):
                results[source.index] = translation
        return results

    def score_targets(
        self,
        sources: Iterable,
        targets: Iterable,
        batch_size: int | None = None,
        tokenized: bool = False,
    ) -> list[ScoredPair]:
        """Score and align given pairs.

        Args:
            sources, targets: list[str] of equal length.
            batch_size: pairs computed at once; None takes search.batch_size.
            tokenized: the lines are Moses tokens already; see ``Text.split``.

        Returns:
            list[ScoredPair], in order; log-probabilities are natural logarithms, the end symbol
            included.
        """
        sources = strings(sources, "sources")
        targets = strings(targets, "targets")
        if len(sources) != len(targets):
            raise UserError(
                f"expected as many targets as sources, got {len(targets)} and {len(sources)}"
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
        results = [None] * len(sources)
        for shard, result in in_shards(
            self._shards, self._score, pairs, batch_size or self.config.search.batch_size
        ):
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
        return results

    def _score(self, shard):
        """TargetScores of NumPy arrays, of (_Source, (target tokens, ids))."""
        sources, targets = zip(*shard)
        return as_arrays(
            self._graph(score_targets_graph)(
                _source_ids(sources), padded([ids for _, ids in targets])
            )
        )

    def score(
        self,
        sources: Iterable,
        targets: Iterable,
        batch_size: int | None = None,
        tokenized: bool = False,
    ) -> list[float]:
        """list[float]: natural-log probability of each pair, the end symbol included; arguments as
        of `score_targets`.
        """
        return [
            scored.log_probability
            for scored in self.score_targets(sources, targets, batch_size, tokenized)
        ]

    def search_config(self, **changes) -> SearchConfig:
        """The run's search section with some options changed, checked as in a file."""
        config = self._changed(search_options(changes)) if changes else self.config.search
        for name in ("replace_unknown", "coverage_penalty"):
            if getattr(config, name):
                self.require_attention(name)
        return config

    def _changed(self, changes):
        own = self.config.search
        config = dataclasses.replace(own, **changes)
        new = {f"search.{name}" for name, value in changes.items() if value != getattr(own, name)}
        check_effects({"search": config}, new)
        return config

    def require_attention(self, purpose: str) -> None:
        """Refuse what needs alignments where the model has none.

        Raises:
            UsageError: naming the purpose.
        """
        if not self.model.has_attention:
            raise UsageError(
                f"{purpose}: expected a model with attention, got {type(self.model).__name__},"
                " which aligns nothing"
            )

    @property
    def unicode_forms(self) -> tuple:
        """The option `unicode_form` of the source and of the target text."""
        return self.source_text.config.unicode_form, self.target_text.config.unicode_form

    def sample(
        self, texts: Iterable, number: int, temperature: float = 1.0, seed: int = 1
    ) -> list[list[Sample]]:
        """Draw translations at random.

        Args:
            texts: list[str].
            number: samples for each sentence.
            temperature: the logits are divided by it before drawing.
            seed: the same seed gives a sentence the same samples, whatever stands beside it.

        Returns:
            list of lists of `number` Samples, as drawn; for a sentence without words nothing is
            drawn, each is empty and has log-probability 0.

        Raises:
            UsageError: `texts` are not sentences, or a number is out of range.
        """
        texts = strings(texts, "texts")
        check_temperature(temperature)
        if number < 1:
            raise UsageError(f"number: expected at least 1 sample a sentence, got {number}")
        if not 0 <= seed < 2**31:
            raise UsageError(f"seed: expected a whole number from 0 to {2**31 - 1}, got {seed}")
        graph = self._graph(sample_graph, self.config.search)
        nothing = [Sample("", 0.0, [])] * number
        return [
            self._samples(graph, source, number, temperature, seed) if source.tokens else nothing
            for source in self._encode(texts)
        ]

    def _samples(self, graph, source, number, temperature, seed) -> list:
        """The samples of one sentence, each from a seed of its own."""
        samples = [None] * number

        def draw(shard):
            result = graph(
                _source_ids([source] * len(shard)),
                np.int64(seed << 32) + shard,
                tf.constant(temperature, tf.float64),
            )
            texts, tokens = self._target.texts_and_tokens(self._target.tokens(result.ids.numpy()))
            return [
                Sample(text, float(p), words)
                for text, p, words in zip(texts, result.log_probabilities.numpy(), tokens)
            ]

        for shard, drawn in in_shards(
            self._shards, draw, np.arange(number, dtype=np.int64), SAMPLES_AT_ONCE
        ):
            for place, one in zip(shard, drawn):
                samples[place] = one
        return samples

    def shortlist(self, config: SearchConfig) -> Shortlist | None:
        """The Shortlist that a search section names, or None; read once."""
        if config.shortlist is None:
            return None
        file = config.shortlist, config.shortlist_frequent, config.shortlist_translations
        return self._once(
            Shortlist.load,
            *file,
            self.source_text.vocabulary,
            self.target_text.vocabulary,
            *self.unicode_forms,
        )

    def _graph(self, build, config=None, *more):
        """The traced function for one kind of work under one search configuration; made once."""
        no_part_of_it = dict(batch_size=1, lexicon=None, replace_unknown=False)
        asked = config and tuple((vars(config) | no_part_of_it).values())
        return self._once(
            build, self.model, config, len(self.source_texts), *more, key=(build, asked, *more)
        )

    def _once(self, make, *arguments, key=None):
        """What the function makes of the arguments; made when a thread first asks for it. `key`:
        what it depends on, if not on all of them.
        """
        key = key or (make, *arguments)
        with self._making:
            if key not in self._made:
                self._made[key] = make(*arguments)
            return self._made[key]

    def _encode(self, texts, tokenized=False) -> list:
        """The source sentences as tokens and ids, overlong ones cut."""
        limit = self.maximum_lengths["source"]
        readings = [
            [_cut("source", *row, limit) for row in zip(*text.tokens_and_ids(texts, tokenized))]
            for text in self._sources
        ]
        return [
            _Source(k, *rows[0], [ids for _, ids in rows]) for k, rows in enumerate(zip(*readings))
        ]

    def _phrases(self, sources, constraints):
        """PhraseTokens of the sentences."""
        phrases = self._once(_phrase_reader, self.target_text)(constraints)
        for source, line, fits in zip(sources, constraints, phrases.fits.numpy()):
            if not fits:
                raise too_many_tokens(source.index, line)
        return phrases

    def _search(self, sources, config, phrases):
        """BeamResult of NumPy arrays.

        Under the authors' rules a sentence without a finished hypothesis is searched
        again, more widely; greedy search (beam 1) has nothing to widen.
        """

        def search(rows, config):
            ids = _source_ids([sources[row] for row in rows])
            if phrases is None:
                return as_arrays(
                    self._graph(search_graph, config, self.shortlist(config), self._shards)(ids)
                )
            graph = self._graph(
                constrained_search_graph,
                config,
                self.shortlist(config),
                self._shards,
                self.target_text,
            )
            return as_arrays(graph(ids, phrases.ids.numpy()[rows]))

        if config.shrinking_beam and config.search_again and config.beam_size > 1:
            return search_until_finished(search, config, len(sources))
        return search(np.arange(len(sources)), config)

    def _translate(self, shard, config, lexicon, constraints) -> list:
        """list[Translation] of _Sources, with a line of phrases for each."""
        phrases = self._phrases(shard, constraints) if any(constraints) else None
        result = self._search(shard, config, phrases)
        rows, columns = np.nonzero(result.lengths)  # an empty place of a list has length 0
        ids = result.ids[rows, columns]
        tokens = (
            self._target.tokens(ids)
            if phrases is None
            else self._target.tokens_with(ids, phrases.tokens.numpy()[rows])
        )
        if config.replace_unknown:
            sources = tf.ragged.constant(
                [shard[row].tokens for row in rows], tf.string, ragged_rank=1
            )
            tokens = replace_unknown(tokens, result.alignments[rows, columns], sources, lexicon)
        lists = [[] for _ in shard]
        for row, n, text, words in zip(rows, columns, *self._target.texts_and_tokens(tokens)):
            alignment = _rows(result.alignments[row, n], len(words) + 1)[:, : len(shard[row].ids)]
            numbers = float(result.scores[row, n]), float(result.log_probabilities[row, n])
            lists[row].append(Hypothesis(text, *numbers, words, alignment))
        for source, nbest in zip(shard, lists):
            if not nbest or not math.isfinite(nbest[0].log_probability):
                raise UserError(
                    f"sentence {source.index + 1} ({' '.join(source.tokens)[:60]!r}): expected"
                    " probabilities of the model, got none that are finite; its weights hold NaN"
                    " or Inf, or search.shortlist and search.allow_unknown leave it no word"
                )
        return [
            Translation(**vars(nbest[0]), source_tokens=source.tokens, nbest=nbest)
            for source, nbest in zip(shard, lists)
        ]


def _phrase_reader(text):
    """:func:`~rnnsearch_tf.text.phrases.read_phrases` of a text, traced."""
    return tf.function(
        lambda lines: read_phrases(text, lines),
        autograph=False,
        input_signature=[tf.TensorSpec([None], tf.string)],
    )


_EMPTY = Hypothesis("", 0.0, 0.0, [], np.zeros((0, 0), np.float32))
_NOTHING = Translation(**vars(_EMPTY), source_tokens=[], nbest=[_EMPTY])
"""The translation of a sentence without words."""


def search_options(changes: dict) -> dict:
    """Options of the search section, each checked as in a file.

    Raises:
        UsageError: one is unknown or out of range.
    """
    known = [field.name for field in dataclasses.fields(SearchConfig)]
    for name in changes.keys() - known:
        raise UsageError(
            f"unknown search option {name!r}; expected one of {', '.join(sorted(known))}"
        )
    return {name: check_value(f"search.{name}", value) for name, value in changes.items()}


def strings(texts, name, what="sentence") -> list:
    """What a caller hands in, as a list; each is a str, or bytes of UTF-8.

    Args:
        texts: iterable of them; one string by itself is a mistake.
        name: what messages call them.
        what: what each of them is.

    Raises:
        UsageError: it is something else, or holds something else.
    """
    if isinstance(texts, (str, bytes)) or not isinstance(texts, Iterable):
        raise UsageError(
            f"{name}: expected a list of {what}s, got {type(texts).__name__} {texts!r}; one {what}"
            " goes in a list too"
        )
    texts = list(texts)
    for number, text in enumerate(texts):
        if not isinstance(text, (str, bytes)):
            raise UsageError(
                f"{name}[{number}]: expected a {what} as str, got {type(text).__name__} {text!r}"
            )
    return texts


def constraint_lines(constraints, texts) -> list[bytes]:
    """For each text its phrases with tabs between.

    Args:
        constraints: for each text an iterable of str, or bytes of UTF-8.
        texts: list.

    Raises:
        UsageError: they are something else, or not as many.
    """
    if isinstance(constraints, (str, bytes)) or not isinstance(constraints, Iterable):
        raise UsageError(
            "constraints: expected a list of phrases for each text, got"
            f" {type(constraints).__name__} {constraints!r}"
        )
    constraints = [
        strings(phrases, f"constraints[{number}]", "phrase")
        for number, phrases in enumerate(constraints)
    ]
    if len(constraints) != len(texts):
        raise UsageError(
            f"constraints: expected a list of phrases for each of {len(texts)} texts, got"
            f" {len(constraints)} lists"
        )
    return [
        b"\t".join(tf.compat.as_bytes(phrase).replace(b"\t", b" ") for phrase in phrases)
        for phrases in constraints
    ]


def too_many_tokens(number, line) -> UserError:
    """The error of a text whose phrases, the line of bytes, have more tokens than are searched for;
    `number` is its place among the texts.
    """
    start = line[:60].decode("utf-8", "replace")
    return UserError(
        f"constraints[{number}] ({start!r}): expected phrases of at most {MOST_TOKENS} tokens and"
        f" {MOST_BYTES:,} bytes together, got more; leave some out"
    )


def _cut(side, tokens, ids, limit):
    """(tokens, ids) with no more than `limit` tokens before the end symbol."""
    if len(tokens) <= limit:
        return tokens, ids
    log.warning(
        "warning: a %s sentence of %d tokens was cut to %d, the most that is taken: %s …",
        side,
        len(tokens),
        limit,
        " ".join(tokens[:6])[:60],
    )
    return tokens[:limit], ids[:limit] + [END_ID]


def in_shards(count, work, items, size):
    """Pairs (shard, what `work` makes of it), of batches of at most `size` items, each cut into
    `count` shards for as many threads.

    Items that stand beside each other, which are of like length, go to different shards, so that
    all take as long.
    """
    batches = (items[start : start + size] for start in range(0, len(items), size))
    shards = [batch[first::count] for batch in batches for first in range(min(count, len(batch)))]
    if min(count, len(shards)) <= 1:
        return zip(shards, map(work, shards))
    with concurrent.futures.ThreadPoolExecutor(count) as threads:
        return zip(shards, list(threads.map(work, shards)))


def as_arrays(result):
    """The NamedTuple with NumPy arrays in place of tensors."""
    return tf.nest.map_structure(np.asarray, result)


def _rows(alignment, count):
    """The first rows; zeros stand in for the end symbol's row where the search was cut off."""
    return np.pad(alignment[:count], [(0, max(count - len(alignment), 0)), (0, 0)])


def _source_ids(sources):
    """Padded ids of a batch of _Sources, as a graph takes them: one array, or one for each way to
    read the source.
    """
    arrays = tuple(padded(rows) for rows in zip(*(source.readings for source in sources)))
    return arrays if len(arrays) > 1 else arrays[0]
