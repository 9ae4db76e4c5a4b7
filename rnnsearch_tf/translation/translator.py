"""Translator: loads a model once, then translates, scores, aligns and samples text."""

from __future__ import annotations

import dataclasses
import functools
import logging
import numbers
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, overload

import tensorflow as tf

from rnnsearch_tf.config import ATTENDING, Config, SearchConfig, load_section
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files.reading import batches
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.search.beam import check_nbest
from rnnsearch_tf.search.graphs import constants
from rnnsearch_tf.text.counting import Line
from rnnsearch_tf.text.pipeline import Text, list_of_texts
from rnnsearch_tf.translation.functions import INPUTS, TextFunctions
from rnnsearch_tf.translation.loading import Paths, load_runs
from rnnsearch_tf.translation.results import (
    Answer,
    Sample,
    ScoredPair,
    Translation,
    sample_of,
    scored_pair_of,
    translation_of,
)
from rnnsearch_tf.translation.saving import save_model

log = logging.getLogger("rnnsearch_tf")

OVERLONG = 10
"""Input longer than this many times the longest training sentence is cut."""


class Translator:
    """Translates, scores, aligns and samples with a trained model or an ensemble.

    Args:
        model: TranslationModel or Ensemble.
        source_text, target_text: Text of each side.
        config: Config; for an ensemble, that of the first member.

    Attributes:
        maximum_length: tokens; longer sentences are cut, with a warning. Ten times the longest
            training sentence.
        has_attention: whether the alignments are meaningful.
        reads_source: False for a language model, which only scores.

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
    ) -> None:
        self.model = model
        self.source_text = source_text
        self.target_text = target_text
        self.config = config
        self.maximum_length = OVERLONG * config.data.maximum_length
        self.has_attention = model.has_attention
        self.reads_source = model.reads_source
        self._weights: Callable[[], list[tf.Tensor]] | None = None
        self._functions: dict[tuple[SearchConfig, int], TextFunctions] = {}

    @classmethod
    def load(cls, runs: Paths, overrides: Sequence[str] = ()) -> Translator:
        """Load a run folder, or an ensemble from several.

        Its weights are not trainable, and the functions keep the values of their first call: a
        sentence takes less time. To train them further, see ``load_model``.

        Args:
            runs: path of the folder, or a list of them: the members of an ensemble may be of any
                system, but share both vocabularies and text settings.
            overrides: options that replace the run's own, such as ``search.beam_size=5``.

        Raises:
            UserError: a folder is missing or incomplete, or the members' texts differ.
            UsageError: an override is unknown or out of range.
        """
        translator = cls(*load_runs(runs, overrides))
        weights = translator.model.weights
        for weight in weights:
            weight.trainable = False
        translator._weights = functools.partial(constants, weights)
        return translator

    def save(self, run: str | os.PathLike[str]) -> None:
        """Write the model, without the state of its optimizer, as a new run folder.

        Raises:
            UsageError: the model is an ensemble, or the Translator's configuration or texts are not
                those that the model was built with.
            UserError: the folder has files, or cannot be written.
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
        self.require_translations("translate")
        texts = list_of_texts(texts, "texts")
        config = self.search_config(**search)
        check_nbest(nbest, config)
        rows = self._rows("nbest", config, nbest, text=texts)
        return [translation_of(row, nbest) for row in rows]

    def score_targets(
        self, sources: Iterable[Line], targets: Iterable[Line], tokenized: bool = False
    ) -> list[ScoredPair]:
        """Score and align given pairs, as many targets as sources.

        Args:
            tokenized: the lines are Moses tokens already; see ``Text.text_of_moses``.

        Raises:
            UsageError: `sources` or `targets` are not sentences, or not as many.
        """
        source = list_of_texts(sources, "sources")
        target = list_of_texts(targets, "targets")
        if len(source) != len(target):
            raise UsageError(
                f"score_targets: expected as many targets as sources, {len(source)}, got"
                f" {len(target)}; give one target for each source"
            )
        if tokenized and source:
            source = self.source_text.text_of_moses(source).numpy().tolist()
            target = self.target_text.text_of_moses(target).numpy().tolist()
        rows = self._rows("score", self.config.search, 1, source=source, target=target)
        return [scored_pair_of(row) for row in rows]

    def score(
        self, sources: Iterable[Line], targets: Iterable[Line], tokenized: bool = False
    ) -> list[float]:
        """The `log_probability` of each pair, see :meth:`score_targets`."""
        return [pair.log_probability for pair in self.score_targets(sources, targets, tokenized)]

    def sample(
        self, texts: Iterable[Line], number: int, temperature: float = 1.0, seed: int = 1
    ) -> list[list[Sample]]:
        """Draw `number` translations of each sentence at random; those of a sentence without words
        are empty and have log-probability 0.

        Args:
            temperature: the logits are divided by it before drawing.
            seed: from 0 to 2^31 − 1; the samples do not depend on the other sentences.

        Raises:
            UsageError: `texts` are not sentences, or a number is out of range.
        """
        self.require_translations("sample")
        texts = list_of_texts(texts, "texts")
        _check_temperature(temperature)
        _check_whole_number("number", number, 1, 2**31)
        _check_whole_number("seed", seed, 0, 2**31 - 1)
        seeds = [(int(seed) << 32) + k for k in range(number)]
        inputs: dict[str, Any] = {"seed": seeds, "temperature": [temperature] * number}

        def samples(text: Line) -> list[Sample]:
            rows = self._rows("sample", self.config.search, 1, text=[text] * number, **inputs)
            return [sample_of(row) for row in rows]

        return [samples(text) for text in texts]

    def search_config(self, **changes: Any) -> SearchConfig:
        """The run's search section with some options changed, checked as in a file."""
        return load_section(self.config, values={"search": changes}).search

    def require_attention(self, purpose: str) -> None:
        """Raise a UsageError that names the purpose unless the model has attention."""
        if not self.has_attention:
            raise UsageError(
                f"{purpose}: expected a model with attention, got one that aligns nothing; use a"
                f" model of a system with attention: {', '.join(ATTENDING)}"
            )

    def require_translations(self, purpose: str) -> None:
        """Raise a UsageError that names the purpose if the model is a language model."""
        if not self.reads_source:
            raise UsageError(
                f"{purpose}: expected a translation model, got a language model, which reads no"
                " source; it serves to score and rescore"
            )

    @property
    def has_pieces(self) -> tuple[bool, bool]:
        """Whether the tokens of the source and of the target are SentencePiece pieces."""
        source, target = self.config.source, self.config.target
        return source.tokenization == "sentencepiece", target.tokenization == "sentencepiece"

    def _rows(
        self, name: str, search: SearchConfig, nbest: int, **inputs: Sequence[Any]
    ) -> list[Answer]:
        """The answer of a function to each row of its inputs, in their order. Rows of similar
        length are computed together; what was cut is said once.
        """
        encoded = {
            key: [v.encode(errors="surrogatepass") if isinstance(v, str) else v for v in values]
            for key, values in inputs.items()
        }
        texts = [values for key, values in encoded.items() if INPUTS[name][key] == "string"]
        lengths = [sum(map(len, row)) for row in zip(*texts)]
        by_length = sorted(range(len(lengths)), key=lengths.__getitem__)
        rows: dict[int, Answer] = {}
        for batch in batches(by_length, search.batch_size):
            values = {key: [values[k] for k in batch] for key, values in encoded.items()}
            answer = self._answer(name, search, nbest, values)
            for row, k in enumerate(batch):
                rows[k] = {key: value[row] for key, value in answer.items()}
        for side in ("source", "target"):
            lines = encoded.get(side, encoded.get("text", []))
            cut = [lines[k] for k in range(len(lengths)) if rows[k].get(f"{side}_truncated")]
            if cut:
                log.warning(
                    f"warning: {len(set(cut))} {side} sentence(s) were cut to"
                    f" {self.maximum_length} tokens, the maximum length:"
                    f" {cut[0].decode(errors='replace')[:60]} …"
                )
        return [rows[k] for k in range(len(lengths))]

    def _answer(
        self, name: str, search: SearchConfig, nbest: int, inputs: Mapping[str, Sequence[Any]]
    ) -> Answer:
        """Call a function of text."""
        key = dataclasses.replace(search, batch_size=1), nbest
        if key not in self._functions:
            texts = self.source_text, self.target_text
            self._functions[key] = TextFunctions(
                self.model, *texts, *key, self.maximum_length, self._weights
            )
        return self._functions[key](name, **inputs)


def _check_temperature(temperature: float) -> None:
    if not (isinstance(temperature, numbers.Real) and 0 < temperature < float("inf")):
        raise UsageError(
            f"temperature: expected a finite number above 0, got {temperature!r}; 1.0 draws from"
            " the model's own probabilities"
        )


def _check_whole_number(name: str, value: Any, least: int, most: int) -> None:
    if not (isinstance(value, numbers.Integral) and least <= int(value) <= most):
        raise UsageError(f"{name}: expected a whole number from {least} to {most}, got {value!r}")
