"""How sure a model is of its translations: numbers between 0 and 1 for a sentence and for each
word, calibrated on development text.

    sentence   σ(w · [1, mean log p, least log p, log length]), fitted to the chrF of its
    translation, in 0 … 1 word       σ(w · [1, log p of the word, mean log p of the sentence]),
    fitted to whether the reference has the word

p are the model's probabilities of its own translation, token by token, the end symbol included; a
word is what spaces separate, and its log p the sum over its tokens. Both fits are logistic
regressions.
"""

from __future__ import annotations

import collections
import dataclasses
import json

import numpy as np

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.alignment.links import word_shares
from rnnsearch_tf.evaluation.bleu import sentence_chrf

FEWEST = 50
"""Sentences that a calibration needs."""


@dataclasses.dataclass(frozen=True)
class Confidence:
    """Of one translation: `sentence` float, the chrF to expect; `words` list of (word, probability
    that a reference has it).
    """

    sentence: float
    words: list


@dataclasses.dataclass(frozen=True)
class Calibration:
    """The weights of both regressions, and how many sentences of what they were fitted to."""

    sentence: list
    word: list
    sentences: int
    source: str

    @classmethod
    def fit(cls, translator, sources, translations, references, source: str) -> Calibration:
        """Fit to translated development text.

        Args:
            translator: Translator that made the translations.
            sources, translations, references: list of str each, equally long.
            source: what the text is called in the file.

        Raises:
            UserError: there are too few sentences.
        """
        cls.check_enough(sources, source)
        of_sentences, of_words = zip(*_features(translator, sources, translations))
        chrf = [
            sentence_chrf(text, reference) / 100
            for text, reference in zip(translations, references)
        ]
        hits = [
            hit
            for text, reference in zip(translations, references)
            for hit in _found(text.split(), reference.split())
        ]
        sentence = _logistic_regression(np.stack(of_sentences), np.asarray(chrf))
        word = _logistic_regression(np.concatenate(of_words), np.asarray(hits, np.float64))
        return cls(sentence.tolist(), word.tolist(), len(sources), source)

    @staticmethod
    def check_enough(sources, source: str) -> None:
        """Raise UserError if there are too few sentences to fit to; arguments as of :meth:`fit`."""
        if len(sources) < FEWEST:
            raise UserError(
                f"{source}: expected at least {FEWEST} sentences to calibrate on, got"
                f" {len(sources)}; take the development text"
            )

    @classmethod
    def load(cls, run) -> Calibration:
        """That of a RUN.

        Raises:
            UserError: it has none, or the file is no calibration.
        """
        try:
            calibration = cls(**json.loads(run.confidence.read_text(encoding="utf-8")))
            np.asarray(calibration.sentence + calibration.word, np.float64)
            return calibration
        except FileNotFoundError:
            raise UserError(
                f"{run.confidence}: expected a calibration of the model's confidence, found none;"
                f" make it on development text: rnnsearch evaluate --model {run} --calibrate"
            ) from None
        except (ValueError, TypeError) as error:
            raise UserError(
                f"{run.confidence}: expected what evaluate --calibrate writes, got something else"
                f" ({error}); make it again"
            ) from None

    def save(self, run) -> None:
        """Write it into a RUN."""
        write_file(run.confidence, json.dumps(dataclasses.asdict(self)) + "\n")

    def __call__(self, translator, sources, translations) -> list[Confidence]:
        """The confidence of translations.

        Args:
            translator: Translator that made them.
            sources, translations: list of str each.
        """
        answers = []
        for text, (of_sentence, of_words) in zip(
            translations, _features(translator, sources, translations)
        ):
            words = zip(text.split(), _sigmoid(of_words @ self.word).tolist())
            answers.append(Confidence(float(_sigmoid(of_sentence @ self.sentence)), list(words)))
        return answers


def agreement(confidences, chrf) -> dict:
    """How well confidences, list of float, go with the chrF of the sentences, list of float in 0 …
    1.

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


def _ranks(values):
    """float64 [N]; equal values share the mean of their ranks."""
    _, places, counts = np.unique(values, return_inverse=True, return_counts=True)
    return (np.cumsum(counts) - (counts - 1) / 2)[places]


def _correlation(pairs) -> float:
    """Of two rows; 0 where one of them is constant."""
    return float(np.corrcoef(pairs)[0, 1]) if pairs.std(axis=1).all() else 0.0


def _features(translator, sources, translations) -> list:
    """What the regressions look at: (of the sentence, float64 [4]; of its words, float64 [words,
    3]) of each translation.
    """
    scored = translator.score_targets(sources, translations)
    return [
        _features_of(pair.token_log_probabilities, pair.target_tokens, text)
        for pair, text in zip(scored, translations)
    ]


def _features_of(log_probabilities, tokens, text) -> tuple:
    """Of one translation; `log_probabilities` float64 [tokens + 1]."""
    mean = log_probabilities.mean()
    sentence = np.array([1.0, mean, log_probabilities.min(), np.log(len(log_probabilities))])
    shares = word_shares(tokens, text.split())  # [tokens, words]
    of_words = shares.T @ log_probabilities[: len(tokens)]
    return sentence, np.stack(
        [np.ones_like(of_words), of_words, np.full_like(of_words, mean)], axis=1
    )


def _found(words, reference) -> list:
    """For each word whether the reference has it, as often as it has it."""
    left = collections.Counter(reference)
    hits = []
    for word in words:
        hits.append(left[word] > 0)
        left[word] -= 1
    return hits


def _logistic_regression(features, target, ridge=1e-3, steps=50):
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
        curvature = (features * (p * (1 - p))[:, np.newaxis]).T @ features + ridge * np.eye(
            len(weights)
        )
        change = np.linalg.solve(curvature, gradient)
        weights = weights + change / max(1.0, np.abs(change).max() / 5)  # no step that overshoots
        if np.abs(change).max() < 1e-9:
            break
    return weights


def _sigmoid(x):
    return 1 / (1 + np.exp(-np.clip(x, -500, 500)))
