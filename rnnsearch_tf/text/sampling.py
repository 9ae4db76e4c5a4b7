"""Subword regularization (Kudo 2018): the segmentation of a sentence is sampled anew at each use.

    P(x) ∝ p(x)^α        p: the unigram model's probability of a segmentation x, α: the sharpness

Pieces do not cross spaces, so the words of a sentence are independent, and the segmentation of each
word is sampled separately from its most probable ones. (Kudo samples from the most probable ones of
the whole sentence, or from all; a word rarely has more than a few that matter.)
"""

from __future__ import annotations

import numpy as np

from rnnsearch_tf.config import END_ID
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.text.subwords import unigram

SEGMENTATIONS = 16
"""Number of segmentations of a word to sample from."""

_CACHED = 200_000  # words whose segmentations are kept


class SubwordSampler:
    """Samples segmentations.

    Args:
        model: bytes of a SentencePiece unigram model; None is refused.
        alpha: α; with 0 all segmentations of a word are equally likely, with a large value only the
            most probable one is used.

    Raises:
        UsageError: there is no model: the text is not cut into subwords; or it is another one.
        UserError: the package sentencepiece is missing.
    """

    def __init__(self, model: bytes | None, alpha: float) -> None:
        if model is None:
            raise UsageError(
                "sampling: expected tokenization=sentencepiece with it, got a text without"
                " subwords; leave it out, or set the tokenization"
            )
        unigram(model, "sampling")
        import sentencepiece

        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.alpha = alpha
        self._known: dict[str, tuple[list[np.ndarray], np.ndarray]] = {}

    def encode(self, line: str, generator: np.random.Generator) -> np.ndarray:
        """Sample the ids of a sentence, followed by the end symbol.

        Args:
            line: the sentence, from :meth:`Text.prepared`.
            generator: the only source of randomness.

        Returns:
            int32 [pieces + 1].
        """
        words = [self._segmentations(word) for word in line.split(" ") if word]
        draws = generator.random(len(words))
        chosen = [
            ids[np.searchsorted(until, draw, side="right")]
            for (ids, until), draw in zip(words, draws)
        ]
        return np.concatenate([*chosen, [END_ID]]).astype(np.int32)

    def _segmentations(self, word: str) -> tuple[list[np.ndarray], np.ndarray]:
        """(int32 ids of each segmentation, most probable first; their cumulative probabilities
        without the last, which is 1).
        """
        if word in self._known:
            return self._known[word]
        found = self._processor.nbest_encode(
            word, nbest_size=SEGMENTATIONS, return_type="proto"
        ).nbests
        logarithms = self.alpha * np.array([segmentation.score for segmentation in found])
        weights = np.exp(logarithms - logarithms.max())
        until = np.cumsum(weights / weights.sum())[:-1]
        segmentations = (
            [np.array([piece.id for piece in one.pieces], np.int32) for one in found],
            until,
        )
        if len(self._known) < _CACHED:
            self._known[word] = segmentations
        return segmentations
