"""An exported model used as a Translator is: text in, Translations out, by its own signatures."""

from __future__ import annotations

import dataclasses
import json
import logging
import pathlib

import numpy as np

from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.evaluation.confidence import Confidence
from rnnsearch_tf.export.profile import FILE as PROFILE, ROWS_AT_ONCE, read_profile
from rnnsearch_tf.export.lazy_session import LazySession
from rnnsearch_tf.translation import Hypothesis, Translation
from rnnsearch_tf.translation.translator import (
    constraint_lines,
    search_options,
    strings,
    too_many_tokens,
)

log = logging.getLogger("rnnsearch_tf")


class ExportedTranslator:
    """Translates with a SavedModel in a v1 session; its search is that of its profile.

    Args:
        folder: path of the version.

    Attributes:
        lists: bool; True: also one translation a text comes by ``translate_nbest``, with its
            log-probability and no alignment.

    Raises:
        UserError: the folder has no profile (it was not written by this package), or cannot be
            loaded.

    Example:
        ExportedTranslator("served/1").translate(["the red car"])[0].text
    """

    def __init__(self, folder):
        self.folder = folder = pathlib.Path(folder)
        if not (folder / PROFILE).exists():
            raise UserError(
                f"{folder}: expected a SavedModel that `rnnsearch export` wrote, got one without"
                f" {PROFILE}"
            )
        self.profile = read_profile(folder)
        self.lists = False
        try:
            self._model = LazySession(folder)
        except Exception as error:  # TensorFlow's are of many kinds
            reason = " ".join(str(error).split())[:200]
            raise UserError(
                f"{folder}: expected a whole SavedModel, got one that does not load ({reason});"
                " export it again"
            ) from None

    def require(self, signature):
        """Raise a UsageError unless the model has the signature."""
        if signature not in self.profile.signatures:
            raise UsageError(
                f"{self.folder}: expected a model exported with signature {signature}, got one with"
                f" {', '.join(self.profile.signatures)}; export it again with --set signatures=[…]"
            )

    def search_config(self, **changes):
        """The search section of the profile; only how many sentences go together, and fewer
        translations, may change.
        """
        search = dataclasses.replace(self.profile.search, nbest=1)
        for name, value in search_options(changes).items():
            if name == "nbest" and value <= self.profile.search.nbest or name == "batch_size":
                search = dataclasses.replace(search, **{name: value})
            elif value != getattr(search, name):
                fixed = self.profile.search.nbest if name == "nbest" else getattr(search, name)
                raise UsageError(
                    f"search.{name}: expected {fixed}, which {self.folder} was exported with, got"
                    f" {value}; export it again"
                )
        return search

    def translate(self, texts, constraints=None, **search) -> list:
        """list[Translation], in the order of `texts`.

        With one translation a text: tokens and alignment are there if the model has
        ``translate_aligned``; with more, by ``translate_nbest``, tokens but no alignments. With
        constraints, a list of phrases for each
        text: text and score, by ``translate_constrained``. What is not known is None.

        Raises:
            UsageError: an option is unknown or not the one it was exported with, or `texts` are not
                sentences.
        """
        texts = strings(texts, "texts")
        config = self.search_config(**search)
        signatures = self.profile.signatures
        if constraints is not None:
            return self._constrained(texts, constraints, config)
        size = config.batch_size
        if config.nbest == 1 and not self.lists and "translate_aligned" in signatures:
            answer = self._aligned
            size = min(size, ROWS_AT_ONCE)  # more of the longest texts are refused
        elif config.nbest > 1 or "translate_nbest" in signatures:
            answer = self._nbest
        else:
            answer = self._plain
        batches = (texts[start : start + size] for start in range(0, len(texts), size))
        return [each for batch in batches for each in answer(batch, config)]

    def texts(self, texts) -> list:
        """Of each text its translation alone, str, or None if it is longer than the model takes; by
        ``translate``, all as one batch.
        """
        answer = self._ask("translate", text=texts)
        return [
            None if cut else text.decode()
            for text, cut in zip(answer["translation"], answer["source_truncated"])
        ]

    def confidences(self, sources, translations) -> list:
        """list[Confidence] of translations, as a RUN's calibration gives it; by ``confidence``,
        which only a calibrated RUN's export has.
        """
        size = self.profile.search.batch_size
        found = []
        for start in range(0, len(sources), size):
            answer = self._ask(
                "confidence",
                source=sources[start : start + size],
                target=translations[start : start + size],
            )
            for sentence, words, numbers in zip(
                *(answer[key] for key in ("confidence", "words", "word_confidences"))
            ):
                found.append(
                    Confidence(
                        float(sentence), list(zip(words.decode().split(), json.loads(numbers)))
                    )
                )
        return found

    def _plain(self, texts, _):
        return _with_scores(self._translations("translate", text=texts))

    def _constrained(self, texts, constraints, config):
        if config.nbest > 1:
            raise UsageError(
                f"search.nbest: expected 1 with constraints, with which {self.folder} gives the"
                f" best translation only; got {config.nbest}"
            )
        lines = constraint_lines(constraints, texts)
        found = []
        for start in range(0, len(texts), config.batch_size):
            here = slice(start, start + config.batch_size)
            answer = self._translations(
                "translate_constrained", text=texts[here], constraints=lines[here]
            )
            for row, (met, text) in enumerate(
                zip(answer["constraints_met"], answer["translation"])
            ):
                if text and not met:  # an empty one is that of a text without words
                    raise too_many_tokens(start + row, lines[start + row])
            found += _with_scores(answer)
        return found

    def _aligned(self, texts, config):
        answer = self._translations("translate_aligned", text=texts)
        for text, score, tokens, source, matrix in zip(
            *(
                answer[key]
                for key in ("translation", "score", "target_tokens", "source_tokens", "alignment")
            )
        ):
            source = source.decode().split()
            tokens = tokens.decode().split()
            rows = json.loads(matrix)
            length = max(len(rows), 1)
            # else it is in the score
            log_probability = (
                None if config.coverage_penalty else float(score) * length**config.length_penalty
            )
            alignment = np.array(rows, np.float32).reshape(
                len(rows), len(source) + 1 if rows else 0
            )
            best = Hypothesis(text.decode(), float(score), log_probability, tokens, alignment)
            yield Translation(**vars(best), source_tokens=source, nbest=[best])

    def _nbest(self, texts, config):
        answer = self._translations("translate_nbest", text=texts)
        for row in range(len(texts)):
            fields = [
                answer[key][row]
                for key in ("translation", "score", "log_probability", "tokens", "length")
            ]
            hypotheses = [
                Hypothesis(
                    text.decode(), float(score), float(log_probability), tokens.decode().split()
                )
                for text, score, log_probability, tokens, length in zip(*fields)
                if length
            ][: config.nbest]
            yield Translation(**vars(hypotheses[0]), nbest=hypotheses)

    def _translations(self, signature, **inputs):
        """As :meth:`_ask`; what is too long is said."""
        answer = self._ask(signature, **inputs)
        if cut := int(np.sum(answer["source_truncated"])):
            log.warning(
                "warning: %d source sentence(s) were cut to %d tokens, the most that %s takes",
                cut,
                self.profile.maximum_source_length,
                self.folder,
            )
        return answer

    def _ask(self, signature, **inputs):
        """{output: array} for inputs that are lists of str or bytes."""
        self.require(signature)
        texts = {
            name: [text if isinstance(text, bytes) else text.encode() for text in texts]
            for name, texts in inputs.items()
        }
        return self._model(
            signature, **{name: np.array(texts, object) for name, texts in texts.items()}
        )


def _with_scores(answer):
    """list[Translation] of an answer that has no more than texts and scores."""
    best = [
        Hypothesis(text.decode(), float(score))
        for text, score in zip(answer["translation"], answer["score"])
    ]
    return [Translation(**vars(one), nbest=[one]) for one in best]
