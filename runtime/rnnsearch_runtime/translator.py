"""Translator: opens a model file once, then translates text."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np

from rnnsearch_runtime.model import ModelError, open_model, shipped
from rnnsearch_runtime.text import PAD_ID, SPECIAL_TOKENS, UNKNOWN_ID, Text

Line = str | bytes


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence; two of equal text, score and log-probability are equal.

    Attributes:
        text: detokenized.
        score: ranks the hypotheses; higher is better.
        log_probability: natural logarithm of p(target | source), including the end symbol.
        tokens: without the end symbol.
        alignment: float32 [target tokens + 1, source tokens + 1]; the last row and column belong
            to the end symbols.
    """

    text: str
    score: float
    log_probability: float = dataclasses.field(repr=False)
    tokens: list[str] = dataclasses.field(repr=False, compare=False)
    alignment: np.ndarray = dataclasses.field(repr=False, compare=False)

    @property
    def probability(self) -> float:
        """The geometric mean of the tokens' probabilities, the end symbol's included."""
        return math.exp(self.log_probability / (len(self.tokens) + 1))


@dataclasses.dataclass(frozen=True)
class Translation(Hypothesis):
    """The best hypothesis of a sentence, with its source tokens and the n-best list, best first."""

    source_tokens: list[str] = dataclasses.field(repr=False, compare=False)
    nbest: list[Hypothesis] = dataclasses.field(repr=False, compare=False)


class Translator:
    """Translates with a model file; several threads may use it at once.

    Args:
        model: path of an .onnx file that ``rnnsearch export --format onnx`` wrote; None: the model
            in this package.
        threads: threads of one operation; a small model gains nothing from more than one.

    Attributes:
        name: of the model.
        source, target: Text of each side.
        search: options of the beam search, which are fixed in the model.
        has_attention: whether alignments are meaningful.
        maximum_source_length: in tokens; longer sentences are cut, with a warning.

    Raises:
        ModelError: the model cannot be used here.
        ValueError: `threads` is below 1.
    """

    def __init__(self, model: str | os.PathLike[str] | None = None, threads: int = 1) -> None:
        if threads < 1:
            raise ValueError(f"threads: expected at least 1, got {threads}")
        self._path = shipped() if model is None else model
        self._session, about = open_model(self._path, threads)
        self._input = self._session.get_inputs()[0].name
        self.name: str = about["name"]
        self.search: dict[str, Any] = about["search"]
        self.has_attention: bool = about["has_attention"]
        self.maximum_source_length: int = about["maximum_source_length"]
        self.source = Text(about["source"], f"{self._path}: source")
        self.target = Text(about["target"], f"{self._path}: target")

    @overload
    def translate(  # type: ignore[overload-overlap]
        self, texts: Line, batch_size: int = 64
    ) -> Translation: ...

    @overload
    def translate(self, texts: Iterable[Line], batch_size: int = 64) -> list[Translation]: ...

    def translate(self, texts: Any, batch_size: int = 64) -> Any:
        """Translate sentences.

        Args:
            texts: sentences as str, or bytes in UTF-8, or one of them; an empty one has an empty
                translation.
            batch_size: sentences in a batch, at least 1.

        Returns:
            list[Translation], in the order of `texts`; for a single text, its Translation.

        Raises:
            TypeError: `texts` are not sentences.
            ValueError: `batch_size` is below 1.
            ModelError: the model's probabilities are not finite.
        """
        if isinstance(texts, (str, bytes)):
            return self.translate([texts], batch_size)[0]
        if batch_size < 1:
            raise ValueError(f"batch_size: expected at least 1, got {batch_size}")
        sources = [self._encode(text) for text in texts]
        results = [self._translation([], []) for _ in sources]
        with_words = filter(sources.__getitem__, range(len(sources)))
        order = sorted(with_words, key=lambda place: len(sources[place]))
        for start in range(0, len(order), batch_size):
            places = order[start : start + batch_size]
            for place, translation in zip(places, self._search([sources[k] for k in places])):
                results[place] = translation
        return results

    def _encode(self, text: Line) -> list[str]:
        """The tokens of a source sentence, cut if it is overlong."""
        if not isinstance(text, (str, bytes)):
            raise TypeError(f"texts: expected sentences as str, got one as {type(text).__name__}")
        tokens = self.source.tokenize(text)
        limit = self.maximum_source_length
        if len(tokens) > limit:
            logging.getLogger("rnnsearch_runtime").warning(
                f"warning: a source sentence of {len(tokens)} tokens was cut to {limit}, the"
                f" maximum length: {' '.join(tokens[:6])[:60]} …"
            )
        return tokens[:limit]

    def _search(self, sources: Sequence[list[str]]) -> list[Translation]:
        ids = np.full((len(sources), max(map(len, sources)) + 1), PAD_ID, np.int32)
        for row, tokens in zip(ids, sources):
            row[: len(tokens) + 1] = self.source.ids(tokens)
        # ids [B, N, I]; lengths, log-probabilities, scores [B, N]; alignments [B, N, I, J]
        found = zip(sources, *self._session.run(None, {self._input: ids})[:5])
        return [self._translation(tokens, self._nbest(tokens, *row)) for tokens, *row in found]

    def _nbest(self, source: list[str], *row: np.ndarray) -> list[Hypothesis]:
        """The n-best list of a sentence, from its row of the graph's outputs."""
        ids, lengths, log_probabilities, scores, alignments = row
        if not lengths[0] or not math.isfinite(scores[0]):
            raise ModelError(
                f"{self._path}: expected finite probabilities, got none for the sentence"
                f" {' '.join(source)[:60]!r}; the weights contain NaN or Inf: export another model"
            )
        nbest = []
        for n in lengths.nonzero()[0]:  # unused places have length 0
            tokens = self.target.tokens(ids[n].tolist())
            alignment = alignments[n, : len(tokens) + 1, : len(source) + 1]
            # no row of the end symbol if the search was cut off before it
            alignment = np.pad(alignment, [(0, len(tokens) + 1 - len(alignment)), (0, 0)])
            if self.search.get("replace_unknown"):
                tokens = self._replaced(tokens, alignment, source)
            text = self.target.detokenize(tokens)
            score, log_probability = float(scores[n]), float(log_probabilities[n])
            nbest.append(Hypothesis(text, score, log_probability, tokens, alignment))
        return nbest

    def _replaced(self, tokens: list[str], alignment: np.ndarray, source: list[str]) -> list[str]:
        """Replace each unknown word by the source word with the largest attention weight; the
        end symbol is never copied.
        """
        best = (source[place] for place in alignment[:, :-1].argmax(axis=1))
        return [
            word if token == SPECIAL_TOKENS[UNKNOWN_ID] else token
            for token, word in zip(tokens, best)
        ]

    def _translation(self, source: list[str], nbest: list[Hypothesis]) -> Translation:
        """The translation of a sentence; without an n-best list, that of one without words."""
        nbest = nbest or [Hypothesis("", 0.0, 0.0, [], np.zeros((0, 0), np.float32))]
        return Translation(**vars(nbest[0]), source_tokens=source, nbest=nbest)
