"""Word embeddings E (Bahdanau et al. 2015, Appendix A.2): one row of m numbers per word.

The authors' program adds a bias vector to every embedding; the paper's formulas leave out biases.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.layers.base import PaperLayer, Shape


class WordEmbedding(PaperLayer):
    """Maps ids to vectors; the vector of id 0 is zero, bias included.

    Id 0 is padding, and "no word" before the first target word, whose term the authors'
    program leaves out of every sum. A scaled embedding multiplies the stored vectors by √m
    (Vaswani et al. 2017, §3.4). Under Adam, whose steps have the same size for all weights, words
    then learn √m times as fast, and a matrix that is also the output matrix has the right scale for
    both uses.

    Args:
        vocabulary_size: V.
        embedding_size: m.
        tied: the matrix is also the output matrix of the model.
        scaled: multiply the stored vectors by √m.
        keywords: see :class:`PaperLayer`.

    Call arguments:
        ids: int32 [...].

    Returns:
        float [..., m].
    """

    def __init__(
        self,
        vocabulary_size: int,
        embedding_size: int,
        tied: bool = False,
        scaled: bool = False,
        **keywords: Any,
    ) -> None:
        super().__init__(**keywords)
        self.vocabulary_size = vocabulary_size
        self.embedding_size = embedding_size
        self.tied = tied
        self.scaled = scaled
        self.factor = embedding_size**0.5 if scaled else 1.0

    def build(self, ids_shape: Shape | None = None) -> None:
        role = "small embedding" if self.scaled or self.tied else "embedding"
        self.E = self.matrix("E", self.vocabulary_size, self.embedding_size, role)
        self.b_E = self.bias("b_E", self.embedding_size)

    def call(self, ids: tf.Tensor) -> tf.Tensor:
        vectors = tf.gather(self.E.value, ids)
        vectors = vectors * self.factor if self.scaled else vectors
        vectors = vectors if self.b_E is None else vectors + tf.convert_to_tensor(self.b_E)
        return vectors * tf.cast(ids != PAD_ID, vectors.dtype)[..., tf.newaxis]
