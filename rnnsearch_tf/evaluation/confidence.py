"""Confidence of translations: numbers between 0 and 1 for a sentence and for each word, calibrated
on development text.

    sentence   σ(w · [1, mean log p, least log p, log length])
               fitted to the chrF of its translation, in 0 … 1
    total      σ(w · [1, mean log p, log length])
               the same for a program that knows only the sum of the log p, such as
               rnnsearch-runtime
    word       σ(w · [1, log p of the word, mean log p of the sentence])
               fitted to whether the reference has the word

p are the model's token probabilities of its own translation, including the end symbol. Words are
separated by spaces; the log p of a word is the sum over its tokens. All fits are logistic
regressions.
"""

from __future__ import annotations

import collections
import dataclasses
import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.alignment.links import word_shares
from rnnsearch_tf.evaluation.bleu import sentence_chrf
from rnnsearch_tf.text.characters import PIECE_JOINT

if TYPE_CHECKING:
    from rnnsearch_tf.runs.folder import Run

MINIMUM_SENTENCES = 50
"""Sentences that a calibration needs."""

LEAST = 2
"""Place of the least log p among the features of a sentence."""


@dataclasses.dataclass(frozen=True)
class Confidence:
    """Confidence of one translation.

    Attributes:
        sentence: expected chrF, in 0 … 1.
        words: (word, probability that a reference has it) of each word.
    """

    sentence: float
    words: list[tuple[str, float]]


@dataclasses.dataclass(frozen=True)
class Calibration:
    """Weights of the regressions, with the number of sentences and the name of the text that they
    were fitted to. `total` is empty in files of older versions.
    """

    sentence: list[float]
    word: list[float]
    sentences: int
    source: str
    total: list[float] = dataclasses.field(default_factory=list)

    @classmethod
    def fit(
        cls,
        translator: Any,
        sources: Sequence[str],
        translations: Sequence[str],
        references: Sequence[str],
        source: str,
        lowercase: bool = False,
    ) -> Calibration:
        """Fit to translated development text.

        Args:
            translator: Translator that made the translations.
            sources, translations, references: one line for each sentence.
            source: name of the text, stored with the weights.
            lowercase: whether case is ignored, as it always is for a model that writes lower case.

        Raises:
            UserError: there are too few sentences.
        """
        cls.check_enough(sources, source)
        sentence_features, word_features = zip(*_features(translator, sources, translations))
        if lowercase or translator.target_text.config.lowercase:
            translations, references = (
                [line.lower() for line in lines] for lines in (translations, references)
            )
        chrf = [score / 100 for score in map(sentence_chrf, translations, references)]
        hits = [
            hit
            for text, reference in zip(translations, references)
            for hit in _found(text.split(), reference.split())
        ]
        features, quality = np.stack(sentence_features), np.asarray(chrf)
        sentence = _logistic_regression(features, quality)
        total = _logistic_regression(np.delete(features, LEAST, axis=1), quality)
        word = _logistic_regression(np.concatenate(word_features), np.asarray(hits, np.float64))
        return cls(sentence.tolist(), word.tolist(), len(sources), source, total.tolist())

    @staticmethod
    def check_enough(sources: Sequence[str], source: str) -> None:
        """Raise UserError if there are too few sentences for :meth:`fit`."""
        if len(sources) < MINIMUM_SENTENCES:
            raise UserError(
                f"{source}: expected at least {MINIMUM_SENTENCES} sentences to calibrate on, got"
                f" {len(sources)}; use the development text"
            )

    @classmethod
    def load(cls, run: Run) -> Calibration:
        """Load the calibration of a RUN.

        Raises:
            UserError: it has none, or the file is not a calibration.
        """
        try:
            calibration = cls(**json.loads(run.confidence.read_text(encoding="utf-8")))
            lists = calibration.sentence, calibration.word, calibration.total
            sizes = tuple(map(len, lists))
            if sizes not in ((4, 3, 3), (4, 3, 0)) or not np.isfinite(sum(lists, [])).all():
                raise ValueError(f"{' + '.join(map(str, sizes))} weights, or some not finite")
            return calibration
        except FileNotFoundError:
            raise UserError(
                f"{run.confidence}: expected a calibration of the model's confidence, found none;"
                f" create it with development text: rnnsearch evaluate --model {run} --calibrate"
            ) from None
        except (ValueError, TypeError, RecursionError) as error:
            raise UserError(
                f"{run.confidence}: expected a file of evaluate --calibrate, got something else"
                f" ({error}); create it again"
            ) from None

    def save(self, run: Run) -> None:
        """Write the calibration into a RUN."""
        write_file(run.confidence, json.dumps(dataclasses.asdict(self)) + "\n")

    def __call__(
        self, translator: Any, sources: Sequence[str | bytes], translations: Sequence[str]
    ) -> list[Confidence]:
        """The confidence of translations.

        Args:
            translator: Translator that made the translations.
            sources, translations: one line for each sentence.
        """
        confidences = []
        for text, (sentence_features, word_features) in zip(
            translations, _features(translator, sources, translations)
        ):
            sentence = float(_sigmoid(sentence_features @ self.sentence))
            words = zip(text.split(), _sigmoid(word_features @ self.word).tolist())
            confidences.append(Confidence(sentence, list(words)))
        return confidences


def agreement(confidences: Sequence[float], chrf: Sequence[float]) -> dict[str, float]:
    """How well confidences predict chrF, for sentences.

    Args:
        confidences: `Confidence.sentence` of each sentence.
        chrf: chrF of each sentence, in 0 … 1.

    Returns:
        dict: ``correlation`` (Pearson), ``rank_correlation`` (Spearman), ``mean_confidence``,
            ``mean_chrf``.
    """
    pairs = np.array([confidences, chrf], np.float64)
    ranks = np.stack([_ranks(values) for values in pairs])
    return {
        "correlation": _correlation(pairs),
        "rank_correlation": _correlation(ranks),
        "mean_confidence": float(pairs[0].mean()),
        "mean_chrf": float(pairs[1].mean()),
    }


def _ranks(values: np.ndarray) -> np.ndarray:
    """Ranks, float64 [N]; equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def _correlation(pairs: np.ndarray) -> float:
    """The correlation of two rows; 0 if one of them is constant."""
    return float(np.corrcoef(pairs)[0, 1]) if np.ptp(pairs, axis=1).all() else 0.0


def _features(
    translator: Any, sources: Sequence[str | bytes], translations: Sequence[str]
) -> list[tuple[np.ndarray, np.ndarray]]:
    """The features of each translation: of the sentence, float64 [4], and of its words, float64
    [words, 3].
    """
    import tensorflow as tf

    from rnnsearch_tf.text.pipeline import strings

    words = [text.split() for text in translations]
    ragged = tf.ragged.constant(words, tf.string, ragged_rank=1)
    scored = translator.score_targets(sources, translations)
    return [
        _features_of(pair.token_log_probabilities, pair.target_tokens, row)
        for pair, row in zip(scored, strings(translator.target_text.as_in_tokens(ragged)))
    ]


def _features_of(
    log_probabilities: np.ndarray, tokens: Sequence[str], words: Sequence[str]
) -> tuple[np.ndarray, np.ndarray]:
    """The features of one translation; `log_probabilities` float64 [tokens + 1], words with the
    characters of the tokens.
    """
    mean = log_probabilities.mean()
    sentence = np.array([1.0, mean, log_probabilities.min(), np.log(len(log_probabilities))])
    pieces = [token.removesuffix(PIECE_JOINT) for token in tokens]
    shares = word_shares(pieces, words)  # [tokens, words]
    of_words = shares.T @ log_probabilities[: len(tokens)]
    rows = [np.ones_like(of_words), of_words, np.full_like(of_words, mean)]
    return sentence, np.stack(rows, axis=1)


def _found(words: Sequence[str], reference: Sequence[str]) -> list[bool]:
    """Whether the reference has each word; a repeated word must occur there as often."""
    left = collections.Counter(reference)
    hits = []
    for word in words:
        hits.append(left[word] > 0)
        left[word] -= 1
    return hits


def _logistic_regression(
    features: np.ndarray, target: np.ndarray, ridge: float = 1e-3, steps: int = 50
) -> np.ndarray:
    """The weights w that maximize Σ t log σ(w·x) + (1 − t) log(1 − σ(w·x)) − ridge |w|²/2, by
    Newton's method.

    Args:
        features: float64 [N, D].
        target: float64 [N], in 0 … 1.

    Returns:
        float64 [D].
    """
    weights = np.zeros(features.shape[1])
    for _ in range(steps):
        p = _sigmoid(features @ weights)
        gradient = features.T @ (target - p) - ridge * weights
        weighted = features * (p * (1 - p))[:, np.newaxis]
        curvature = weighted.T @ features + ridge * np.eye(len(weights))
        change = np.linalg.solve(curvature, gradient)
        weights = weights + change / max(1.0, np.abs(change).max() / 5)  # limits the step size
        if np.abs(change).max() < 1e-9:
            break
    return weights


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-np.clip(x, -500, 500)))
