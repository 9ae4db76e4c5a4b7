"""Learned vectors of words, phrases and sentences, and their projection to two dimensions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import SPECIAL_TOKENS
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.text.pipeline import Text
from rnnsearch_tf.text.vocabulary import padded

FEWEST = 4
"""Smallest number of points for t-SNE."""

PERPLEXITY = 30.0
"""Perplexity of t-SNE (van der Maaten and Hinton 2008); for few points, a third of their number."""


def word_vectors(
    model: TranslationModel, text: Text, side: str, number: int
) -> tuple[list[str], np.ndarray]:
    """Rows of a word embedding E.

    Args:
        text: Text of that side.
        side: "source" or "target".
        number: number of words, at most: the first of the vocabulary, which are the most frequent.

    Returns:
        (words, vectors float [words, m]).

    Raises:
        UsageError: the model does not read the source.
    """
    if side == "source":
        _require_source(model)
    words = text.vocabulary.tokens[len(SPECIAL_TOKENS) :][:number]
    ids = np.arange(len(words)) + len(SPECIAL_TOKENS)
    return words, tf.gather(getattr(model, f"{side}_embedding").E.value, ids).numpy()


def sentence_vectors(
    model: TranslationModel, text: Text, lines: Sequence[str], batch_size: int = 64
) -> np.ndarray:
    """Encode sentences as vectors with the model's ``source_vectors``.

    Systems with attention: the mean of the annotations. RNNencdec and the RNN Encoder-Decoder: the
    context c (Cho et al. 2014a, Figure 5). Deep LSTM and stacked networks: the states of all
    layers after the last word (Sutskever et al. 2014, Figure 2).

    Args:
        text: Text of the source.
        lines: sentences.
        batch_size: sentences in a batch.

    Returns:
        float [lines, size].

    Raises:
        UsageError: the model does not read the source.
    """
    _require_source(model)
    found = []
    for start in range(0, len(lines), batch_size):
        ids = padded(text.encode(lines[start : start + batch_size]).to_list())
        found.append(model.source_vectors(tf.constant(ids)).numpy())
    return np.concatenate(found)


def project(vectors: np.ndarray, method: str = "tsne") -> np.ndarray:
    """Project vectors to two dimensions with scikit-learn.

    Args:
        vectors: float [N, size], N at least FEWEST.
        method: ``tsne``: keeps neighbours close, but not distances; ``pca``: the two directions of
            largest variance. t-SNE is initialized with the latter, and so is reproducible.

    Returns:
        float64 [N, 2].

    Raises:
        UsageError: another method.
        UserError: scikit-learn is missing, or there are too few vectors.
    """
    if method not in ("tsne", "pca"):
        raise UsageError(f"method: expected tsne or pca, got {method!r}; choose one of them")
    require("plots of vectors", "sklearn")
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    if len(vectors) < FEWEST:
        raise UserError(
            f"expected at least {FEWEST} words or sentences to plot, got {len(vectors)}; give more"
        )
    vectors = np.asarray(vectors, np.float64)
    if not np.ptp(vectors, axis=0).any():  # both methods would divide by the variance
        return np.zeros((len(vectors), 2))
    if method == "pca":
        return PCA(2, svd_solver="full").fit_transform(vectors)
    # random_state: for more than 500 dimensions, scikit-learn's PCA is randomized
    projection = TSNE(
        2, perplexity=min(PERPLEXITY, (len(vectors) - 1) / 3), init="pca", random_state=1
    )
    # beside other programs, its threads would mostly wait for each other
    with threadpool_limits(1):
        return projection.fit_transform(vectors).astype(np.float64)


def _require_source(model: TranslationModel) -> None:
    if not getattr(model, "reads_source", True):
        raise UsageError(
            f"expected a model that reads the source, got {type(model).__name__}; its words are"
            " --side target"
        )
