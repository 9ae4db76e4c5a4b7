"""Subword regularization (Kudo 2018): a sentence is cut into other pieces every time it is read.

    P(x) ∝ p(x)^α        p: the unigram model's probability of a segmentation x, α: the sharpness

Pieces do not cross spaces, so that the words of a sentence are independent of one another: every
word's segmentation is drawn by itself, from its likeliest ones. (Kudo draws from the likeliest of
the whole sentence, or of all; a word seldom has more than a few that matter.)
"""

import numpy as np

from rnnsearch_tf.config import END_ID
from rnnsearch_tf.errors import UserError

SEGMENTATIONS = 16
"""Segmentations of a word that are drawn from."""

_REMEMBERED = 200_000  # words whose segmentations are kept; the others are cut anew each time


class SubwordSampler:
    """Draws segmentations.

    Args:
        model: bytes of a SentencePiece unigram model.
        alpha: α; 0 makes all segmentations of a word equally likely, a large one gives the
            likeliest alone.

    Raises:
        UserError: the package sentencepiece is missing.
    """

    def __init__(self, model, alpha):
        try:
            import sentencepiece
        except ImportError:
            raise UserError(
                "sampling: expected the package sentencepiece for drawing subwords, found none; pip"
                ' install "rnnsearch-tf[subwords]"'
            ) from None
        self._processor = sentencepiece.SentencePieceProcessor(model_proto=model)
        self.alpha = alpha
        self._known = {}

    def encode(self, line, generator):
        """Ids of one sentence, the end symbol last.

        Args:
            line: str, as :meth:`Text.prepared` gives it.
            generator: numpy.random.Generator, which alone decides.

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

    def _segmentations(self, word):
        """(list of int32 ids, likeliest first; up to what number in [0, 1) each but the last is
        drawn).
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
        if len(self._known) < _REMEMBERED:
            self._known[word] = segmentations
        return segmentations
