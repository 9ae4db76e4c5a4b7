"""Translator: opens a model file once, then translates text."""

from __future__ import annotations

import dataclasses
import math
import os
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, overload

from rnnsearch_runtime.errors import ModelError
from rnnsearch_runtime.model import open_model, shipped
from rnnsearch_runtime.text import PAD_ID, SPECIAL_TOKENS, UNKNOWN_ID, Text

if TYPE_CHECKING:
    import numpy as np

Line = str | bytes


@dataclasses.dataclass(frozen=True)
class Hypothesis:
    """One translation of a sentence. Its repr has text and score only.

    Attributes:
        text: detokenized.
        score: by which hypotheses are ranked, normalized by length as the model's search says;
            higher is better.
        log_probability: natural logarithm of p(target | source), including the end symbol.
        tokens: without the end symbol.
        alignment: float32 [target tokens + 1, source tokens + 1]; the last row and column belong
            to the end symbols.
    """

    text: str
    score: float
    log_probability: float = dataclasses.field(repr=False)
    tokens: list[str] = dataclasses.field(repr=False)
    alignment: np.ndarray = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True)
class Translation(Hypothesis):
    """The best hypothesis of a sentence, with its source tokens and the n-best list, best first."""

    source_tokens: list[str] = dataclasses.field(repr=False)
    nbest: list[Hypothesis] = dataclasses.field(repr=False)


@dataclasses.dataclass(frozen=True)
class _Source:
    """A source sentence and its index in the input; the ids include the end symbol."""

    index: int
    tokens: list[str]
    ids: list[int]


class Translator:
    """Translates with a model file; may be used by several threads at once.

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

    Example:
        translator = Translator("model.onnx", threads=2)
        translator.translate(["She is reading."])[0].text
    """

    def __init__(self, model: str | os.PathLike[str] | None = None, threads: int = 1) -> None:
        if threads < 1:
            raise ValueError(f"threads: expected at least 1, got {threads}")
        path = shipped() if model is None else model
        self._session, about = open_model(path, threads)
        self._input = self._session.get_inputs()[0].name
        self._path = path
        self._lexicon: dict[str, str] = about["lexicon"] or {}
        self.name: str = about["name"]
        self.search: dict[str, Any] = about["search"]
        self.has_attention: bool = about["has_attention"]
        self.maximum_source_length: int = about["maximum_source_length"]
        self.source = Text(about["source"], f"{path}: source")
        self.target = Text(about["target"], f"{path}: target")

    @overload
    def translate(self, texts: Line, batch_size: int = 64) -> Translation: ...

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
        sources = [self._encode(index, text) for index, text in enumerate(texts)]
        results: list[Translation | None] = [None] * len(sources)
        by_length = sorted(filter(lambda s: s.tokens, sources), key=lambda s: len(s.ids))
        for start in range(0, len(by_length), batch_size):
            batch = by_length[start : start + batch_size]
            for source, translation in zip(batch, self._translate(batch)):
                results[source.index] = translation
        return [_empty() if result is None else result for result in results]

    def _encode(self, index: int, text: Line) -> _Source:
        if not isinstance(text, (str, bytes)):
            raise TypeError(
                f"texts[{index}]: expected a sentence as str, got {type(text).__name__}"
            )
        tokens = self.source.tokenize(text)
        limit = self.maximum_source_length
        if len(tokens) > limit:
            print(
                f"warning: a source sentence of {len(tokens)} tokens was cut to {limit}, the"
                f" maximum length: {' '.join(tokens[:6])[:60]} …",
                file=sys.stderr,
            )
        return _Source(index, tokens[:limit], self.source.ids(tokens[:limit]))

    def _translate(self, batch: Sequence[_Source]) -> list[Translation]:
        import numpy as np

        ids = np.full((len(batch), max(len(source.ids) for source in batch)), PAD_ID, np.int32)
        for row, source in zip(ids, batch):
            row[: len(source.ids)] = source.ids
        # by position: ids [B, N, I], lengths, log_probabilities and scores [B, N],
        # alignments [B, N, I, J]
        found = self._session.run(None, {self._input: ids})[:5]
        return [self._translation(source, *row) for source, *row in zip(batch, *found)]

    def _translation(
        self,
        source: _Source,
        ids: np.ndarray,
        lengths: np.ndarray,
        log_probabilities: np.ndarray,
        scores: np.ndarray,
        alignments: np.ndarray,
    ) -> Translation:
        nbest = []
        # unused places of an n-best list have length 0
        for n in [n for n, length in enumerate(lengths.tolist()) if length]:
            tokens = self.target.tokens(ids[n].tolist())
            alignment = _rows(alignments[n], len(tokens) + 1)[:, : len(source.ids)]
            if self.search.get("replace_unknown"):
                tokens = self._replaced(tokens, alignment, source.tokens)
            text = self.target.detokenize(tokens)
            score, log_probability = float(scores[n]), float(log_probabilities[n])
            nbest.append(Hypothesis(text, score, log_probability, tokens, alignment))
        if not nbest or not math.isfinite(nbest[0].score):
            raise ModelError(
                f"{self._path}: expected finite probabilities, got none for the sentence"
                f" {' '.join(source.tokens)[:60]!r}; the weights contain NaN or Inf: export another"
                " model"
            )
        return Translation(**vars(nbest[0]), source_tokens=source.tokens, nbest=nbest)

    def _replaced(
        self, tokens: list[str], alignment: np.ndarray, source_tokens: list[str]
    ) -> list[str]:
        """Replace each unknown word by the source word with the largest attention weight, or by
        its translation in the lexicon. The end symbol is never copied.
        """
        best = alignment[:, :-1].argmax(axis=1)
        words = (source_tokens[place] for place in best)
        return [
            (self._lexicon.get(word) or word) if token == SPECIAL_TOKENS[UNKNOWN_ID] else token
            for token, word in zip(tokens, words)
        ]


def _empty() -> Translation:
    """The translation of a sentence without words."""
    import numpy as np

    nothing = Hypothesis("", 0.0, 0.0, [], np.zeros((0, 0), np.float32))
    return Translation(**vars(nothing), source_tokens=[], nbest=[nothing])


def _rows(alignment: np.ndarray, count: int) -> np.ndarray:
    """The first `count` rows; the end symbol's row is zero if the search was cut off before it."""
    import numpy as np

    return np.pad(alignment[:count], [(0, max(count - len(alignment), 0)), (0, 0)])
