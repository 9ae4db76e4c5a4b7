"""Translator: opens a model file once, then translates text."""

from __future__ import annotations

import dataclasses
import logging
import math
import os
from collections.abc import Iterable, Sequence
from typing import Any, overload

import numpy as np

from rnnsearch_runtime.model import SHIPPED, ModelError, open_model
from rnnsearch_runtime.text import PAD_ID, SPECIAL_TOKENS, UNKNOWN_ID, Text

Line = str | bytes

OUTPUTS = (
    "ids",  # int32 [B, N, I]
    "lengths",  # int32 [B, N]
    "log_probabilities",  # float32 [B, N]
    "scores",  # float32 [B, N]
    "alignments",  # float32 [B, N, I, J]
    "finished",  # bool [B, N]
    "token_log_probabilities",  # float32 [B, N, I]
)
"""What is taken of the graph: n-best lists of B sentences, best first."""


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence; two of equal text, score and log-probability are equal. The
    fields are those of ``rnnsearch_tf``.

    Attributes:
        text: detokenized.
        score: ranks the hypotheses; higher is better.
        log_probability: natural logarithm of p(target | source), including the end symbol.
        tokens: without the end symbol.
        alignment: float32 [target tokens + 1, source tokens + 1]; the last row and column belong
            to the end symbols.
        token_log_probabilities: float32 [target tokens + 1], natural logarithm of each token's
            probability, the end symbol last; of a translation that was cut, without it.
        probability: the geometric mean of the tokens' probabilities, the end symbol's included.
        finished: False if the translation was cut at the maximum length.
    """

    text: str
    score: float
    log_probability: float = dataclasses.field(repr=False)
    tokens: list[str] = dataclasses.field(repr=False, compare=False)
    alignment: np.ndarray = dataclasses.field(repr=False, compare=False)
    token_log_probabilities: np.ndarray = dataclasses.field(repr=False, compare=False)
    probability: float = dataclasses.field(repr=False, compare=False)
    finished: bool = dataclasses.field(repr=False, compare=False)


@dataclasses.dataclass(frozen=True)
class Translation(Hypothesis):
    """The best hypothesis of a sentence, with its source tokens and the n-best list, best first."""

    source_tokens: list[str] = dataclasses.field(repr=False, compare=False)
    nbest: list[Hypothesis] = dataclasses.field(repr=False, compare=False)


class Translator:
    """Translates with a model file; several threads may use it at once.

    Args:
        model: path of an .onnx file that ``rnnsearch export --format onnx`` wrote; by default, the
            model in this package.
        threads: threads of one operation; a small model gains nothing from more than one.

    Attributes:
        name: of the model.
        source, target: Text of each side.
        search: options of the beam search, which are fixed in the model.
        has_attention: whether alignments are meaningful.
        maximum_source_length: in tokens; longer sentences are cut, with a warning.

    Raises:
        ModelError: the model cannot be used here.
    """

    def __init__(self, model: str | os.PathLike[str] = SHIPPED, threads: int = 1) -> None:
        self._path = model
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
            ModelError: the model's probabilities are not finite.
        """
        if isinstance(texts, (str, bytes)):
            return self.translate([texts], batch_size)[0]
        sources = [self._encode(text) for text in texts]
        zeros = np.zeros(1, np.float32)
        empty = Hypothesis("", 0.0, 0.0, [], zeros[:, np.newaxis], zeros, 1.0, True)
        results = [_translation([], [empty]) for _ in sources]
        with_words = (place for place, source in enumerate(sources) if source)
        order = sorted(with_words, key=lambda place: len(sources[place]))
        while order:
            places, order = order[:batch_size], order[batch_size:]
            for place, translation in zip(places, self._search([sources[k] for k in places])):
                results[place] = translation
        return results

    def _encode(self, text: Line) -> list[str]:
        """The tokens of a source sentence, cut if it is overlong."""
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
        answer = self._session.run(OUTPUTS, {self._input: ids})
        return [
            _translation(tokens, self._nbest(tokens, dict(zip(OUTPUTS, row))))
            for tokens, *row in zip(sources, *answer)
        ]

    def _nbest(self, source: list[str], row: dict[str, np.ndarray]) -> list[Hypothesis]:
        """The n-best list of a sentence, from its row of the graph's outputs."""
        if not row["lengths"][0] or not math.isfinite(row["scores"][0]):
            raise ModelError(
                f"{self._path}: expected finite probabilities, got none for the sentence"
                f" {' '.join(source)[:60]!r}; the weights contain NaN or Inf: export another model"
            )
        used = np.flatnonzero(row["lengths"])
        return [self._hypothesis(source, row, n) for n in used]

    def _hypothesis(self, source: list[str], row: dict[str, np.ndarray], n: int) -> Hypothesis:
        """Place n of an n-best list."""
        tokens = self.target.tokens(row["ids"][n].tolist())
        alignment = row["alignments"][n, : len(tokens) + 1, : len(source) + 1]
        # no row of the end symbol if the search was cut off before it
        alignment = np.pad(alignment, [(0, len(tokens) + 1 - len(alignment)), (0, 0)])
        if self.search["replace_unknown"]:
            tokens = self._replaced(tokens, alignment, source)
        length, log_probability = int(row["lengths"][n]), float(row["log_probabilities"][n])
        return Hypothesis(
            self.target.detokenize(tokens),
            float(row["scores"][n]),
            log_probability,
            tokens,
            alignment,
            row["token_log_probabilities"][n, :length],
            math.exp(log_probability / length),
            bool(row["finished"][n]),
        )

    def _replaced(self, tokens: list[str], alignment: np.ndarray, source: list[str]) -> list[str]:
        """Replace each unknown word by the source word with the largest attention weight; the
        end symbol is never copied.
        """
        best = (source[place] for place in alignment[:, :-1].argmax(axis=1))
        return [
            word if token == SPECIAL_TOKENS[UNKNOWN_ID] else token
            for token, word in zip(tokens, best)
        ]


def _translation(source: list[str], nbest: list[Hypothesis]) -> Translation:
    return Translation(**vars(nbest[0]), source_tokens=source, nbest=nbest)
