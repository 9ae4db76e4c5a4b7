"""Learned vectors of words, phrases and sentences, and their places in the plane."""

from __future__ import annotations

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import SPECIAL_TOKENS
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.runtime.optional import require
from rnnsearch_tf.text.pipeline import padded

FEWEST = 4
"""Points that t-SNE needs."""

PERPLEXITY = 30.0
"""Of t-SNE, van der Maaten and Hinton 2008; a third of the points where there are few."""


def word_vectors(model, text, side: str, number: int) -> tuple:
    """Rows of a word embedding E.

    Args:
        model: TranslationModel.
        text: Text of that side.
        side: "source" or "target".
        number: how many words at most: the first of the vocabulary, which are the most frequent.

    Returns:
        (list[str] of words, float [words, m]).

    Raises:
        UsageError: the model does not read the source.
    """
    if side == "source":
        _require_source(model)
    words = text.vocabulary.tokens[len(SPECIAL_TOKENS) :][:number]
    ids = np.arange(len(words)) + len(SPECIAL_TOKENS)
    return words, tf.gather(getattr(model, f"{side}_embedding").E.value, ids).numpy()


def sentence_vectors(model, text, lines, batch_size: int = 64) -> np.ndarray:
    """What the encoder makes of sentences: ``source_vectors`` of each system says what.

    Attending systems: the mean of the annotations. RNNencdec and the RNN Encoder-Decoder: the
    context c, as Cho et al. 2014a, Figure 5. Deep LSTM and stacked networks: the states of all
    layers after the last word, as Sutskever et al. 2014, Figure 2.

    Args:
        model: TranslationModel.
        text: Text of the source.
        lines: list[str].
        batch_size: sentences at once.

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


def in_the_plane(vectors, method: str = "tsne") -> np.ndarray:
    """Places of vectors in two dimensions, by scikit-learn.

    Args:
        vectors: float [N, size], N at least FEWEST.
        method: ``tsne``: near vectors stay near, distances mean nothing; ``pca``: the two
            directions of most variance. t-SNE begins with the latter, so that the same vectors have
            the same places.

    Returns:
        float64 [N, 2].

    Raises:
        UserError: scikit-learn is missing, or there are too few vectors.
    """
    require("plots of vectors", "sklearn")
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE
    from threadpoolctl import threadpool_limits

    if len(vectors) < FEWEST:
        raise UserError(
            f"expected at least {FEWEST} words or sentences to place, got {len(vectors)}; give more"
        )
    vectors = np.asarray(vectors, np.float64)
    if method == "pca" or not vectors.std():  # t-SNE begins with a division by the variance
        return PCA(2, svd_solver="full").fit_transform(vectors)
    # of more than 500 dimensions, sklearn's PCA draws
    placing = TSNE(
        2, perplexity=min(PERPLEXITY, (len(vectors) - 1) / 3), init="pca", random_state=1
    )
    # where other programs run, its threads wait for each other most of the time
    with threadpool_limits(1):
        return placing.fit_transform(vectors).astype(np.float64)


def _require_source(model):
    if not getattr(model, "reads_source", True):
        raise UsageError(
            f"expected a model that reads the source, got {type(model).__name__}; its words are"
            " --side target"
        )
