"""ExportedTranslator: an exported model with the interface of a Translator."""

from __future__ import annotations

import dataclasses
import functools
import json
import logging
import numbers
import os
import pathlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, overload

import numpy as np

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.errors import UsageError, UserError, one_line
from rnnsearch_tf.export.profile import FILE as PROFILE, read_profile
from rnnsearch_tf.export.lazy_session import LazySession
from rnnsearch_tf.search.beam import exists
from rnnsearch_tf.text.counting import Line
from rnnsearch_tf.text.pipeline import list_of_texts
from rnnsearch_tf.text.vocabulary import batches
from rnnsearch_tf.translation import Hypothesis, Translation
from rnnsearch_tf.translation.arguments import search_options

log = logging.getLogger("rnnsearch_tf")


class ScoredTarget(NamedTuple):
    """Scores of a given translation, as of a ScoredPair."""

    log_probability: float
    target_tokens: list[str]
    token_log_probabilities: np.ndarray


class ExportedTranslator:
    """Translates with a SavedModel in a TF1 session; the search options are those of its profile.

    Args:
        folder: path of the version.

    Attributes:
        prefer_nbest: bool; True: a single translation of a text also comes from
            ``translate_nbest``, with its log-probability and without alignment.

    Raises:
        UserError: the folder has no profile (this package did not write it), or cannot be loaded.

    Example:
        ExportedTranslator("served/1").translate(["the red car"])[0].text
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = folder = pathlib.Path(folder)
        if not (folder / PROFILE).exists():
            raise UserError(
                f"{folder}: expected a SavedModel that `rnnsearch export` wrote, got one without"
                f" {PROFILE}; name a folder that has one, or export the RUN again"
            )
        self.profile = read_profile(folder)
        self.prefer_nbest = False
        try:
            self._model = LazySession(folder)
        except Exception as error:  # TensorFlow raises many types
            reason = one_line(error)
            raise UserError(
                f"{folder}: expected a complete SavedModel, got one that does not load ({reason});"
                " export it again"
            ) from None

    def require(self, signature: str) -> None:
        """Raise a UsageError if the model lacks a signature."""
        if signature not in self.profile.signatures:
            raise UsageError(
                f"{self.folder}: expected a model exported with signature {signature}, got one with"
                f" {', '.join(self.profile.signatures)}; export it again with --set signatures=[…]"
            )

    def search_config(self, **changes: Any) -> SearchConfig:
        """The search section of the profile. Only ``batch_size`` may change."""
        search = self.profile.search
        for name, value in search_options(changes).items():
            if name == "batch_size":
                search = dataclasses.replace(search, batch_size=value)
            elif value != getattr(search, name):
                raise UsageError(
                    f"search.{name}: expected {getattr(search, name)}, which {self.folder} was"
                    f" exported with, got {value}; export it again"
                )
        return search

    @overload
    def translate(self, texts: Line, nbest: int = 1, **search: Any) -> Translation: ...

    @overload
    def translate(
        self, texts: Iterable[Line], nbest: int = 1, **search: Any
    ) -> list[Translation]: ...

    def translate(self, texts: Any, nbest: int = 1, **search: Any) -> Any:
        """Translate sentences; the translations are in the order of `texts`. A single str or bytes
        has a single Translation.

        A single translation of a text has tokens and alignment if the model has the signature
        ``translate_aligned``. Those of an n-best list, from ``translate_nbest``, have tokens but no
        alignments. Missing fields are None.

        Raises:
            UsageError: an option is unknown or differs from the export's, `nbest` is larger, or
                `texts` are not sentences.
        """
        if isinstance(texts, (str, bytes)):
            return self.translate([texts], nbest, **search)[0]
        texts = list_of_texts(texts, "texts")
        config = self.search_config(**search)
        if not (isinstance(nbest, numbers.Integral) and 1 <= nbest <= self.profile.nbest):
            raise UsageError(
                f"nbest: expected a whole number from 1 to {self.profile.nbest}, which"
                f" {self.folder} was exported with, got {nbest!r}; export it again"
            )
        signatures = self.profile.signatures
        translate: Callable[[Sequence[Line]], Iterable[Translation]]
        if nbest == 1 and not self.prefer_nbest and "translate_aligned" in signatures:
            translate = self._aligned
        elif nbest > 1 or "translate_nbest" in signatures:
            translate = functools.partial(self._nbest, nbest=nbest)
        else:
            translate = self._plain
        parts = batches(texts, config.batch_size)
        return [each for part in parts for each in translate(part)]

    def score_targets(self, sources: Sequence[Line], targets: Sequence[Line]) -> list[ScoredTarget]:
        """Score given translations with the signature ``score``."""
        size = self.profile.search.batch_size
        scored = []
        for start in range(0, len(sources), size):
            here = slice(start, start + size)
            answer = self._request("score", source=sources[here], target=targets[here])
            scored += [
                ScoredTarget(float(log_probability), _tokens(tokens), np.array(json.loads(numbers)))
                for log_probability, tokens, numbers in zip(
                    *(
                        answer[key]
                        for key in ("log_probability", "target_tokens", "token_log_probabilities")
                    )
                )
            ]
        return scored

    def _plain(self, texts: Sequence[Line]) -> list[Translation]:
        return _with_scores(self._found(self._translations("translate", text=texts)))

    def _aligned(self, texts: Sequence[Line]) -> Iterator[Translation]:
        answer = self._found(self._translations("translate_aligned", text=texts))
        names = ("translation", "score", "target_tokens", "source_tokens", "alignment")
        rows = zip(*(answer[key] for key in (*names, "token_log_probabilities")))
        for text, score, tokens, source, matrix, logs in rows:
            source = _tokens(source)
            tokens = _tokens(tokens)
            weights = json.loads(matrix)
            length = max(len(weights), 1)
            log_probability = float(score) * length**self.profile.search.length_penalty
            alignment = np.array(weights, np.float32).reshape(
                len(weights), len(source) + 1 if weights else 0
            )
            is_cut = len(weights) == len(tokens) > 0  # before the end symbol
            if is_cut:
                alignment = np.pad(alignment, [(0, 1), (0, 0)])
            best = Hypothesis(
                text.decode(),
                float(score),
                log_probability,
                tokens,
                alignment,
                np.array(json.loads(logs), np.float32),
                not is_cut,
            )
            yield Translation(**vars(best), source_tokens=source, nbest=[best])

    def _nbest(self, texts: Sequence[Line], nbest: int) -> Iterator[Translation]:
        answer = self._found(self._translations("translate_nbest", text=texts))
        for row in range(len(texts)):
            fields = [
                answer[key][row]
                for key in ("translation", "score", "log_probability", "tokens", "length")
            ]
            hypotheses = [
                Hypothesis(
                    text.decode(),
                    float(score),
                    float(log_probability),
                    _tokens(tokens),
                    finished=bool(length != len(_tokens(tokens))),
                )
                for text, score, log_probability, tokens, length in zip(*fields)
                if length
            ][:nbest]
            yield Translation(**vars(hypotheses[0]), nbest=hypotheses)

    def _found(self, answer: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
        """The answer; UserError if the search found no translation of a sentence."""
        for row, scores in enumerate(answer["score"]):
            if not exists(np.ravel(scores)[0]):
                raise UserError(
                    f"{self.folder}: expected a translation of sentence {row + 1} of a batch, got"
                    " none; the model's weights contain NaN or Inf: export another model"
                )
        return answer

    def _translations(self, signature: str, **inputs: Sequence[Line]) -> dict[str, np.ndarray]:
        """Like :meth:`_request`; warns about texts that were cut."""
        answer = self._request(signature, **inputs)
        if cut := int(np.sum(answer["source_truncated"])):
            log.warning(
                "warning: %d source sentence(s) were cut to %d tokens, the maximum length of %s",
                cut,
                self.profile.maximum_source_length,
                self.folder,
            )
        return answer

    def _request(self, signature: str, **inputs: Sequence[Line]) -> dict[str, np.ndarray]:
        """Call a signature: {output: array}."""
        self.require(signature)
        texts = {
            name: [text if isinstance(text, bytes) else text.encode() for text in texts]
            for name, texts in inputs.items()
        }
        return self._model(
            signature, **{name: np.array(texts, object) for name, texts in texts.items()}
        )


def _tokens(joined: bytes) -> list[str]:
    """The tokens of an answer, with spaces between; a token may have other white space in it."""
    return joined.decode().split(" ") if joined else []


def _with_scores(answer: Mapping[str, np.ndarray]) -> list[Translation]:
    """The translations of an answer with texts and scores only."""
    best = [
        Hypothesis(text.decode(), float(score), finished=None)
        for text, score in zip(answer["translation"], answer["score"])
    ]
    return [Translation(**vars(one), nbest=[one]) for one in best]
