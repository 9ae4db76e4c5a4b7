"""Word embeddings E (Bahdanau et al. 2015, Appendix A.2): one row of m numbers per word.

The authors' program adds a bias vector to every embedding; the paper has none.
"""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.layers.base import PaperLayer, Shape
from rnnsearch_tf.layers.initializers import initializer


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
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
        mask_zero: give the vectors a Keras mask, False at id 0, for the layers that follow.
        biases: ``none`` leaves out the bias vector.

    Call arguments:
        ids: int32 or int64 [...]; other dtypes are cast to int32, as in
            ``keras.layers.Embedding``.

    Returns:
        float [..., m].
    """

    vocabulary_size: int
    embedding_size: int
    tied: bool = False
    scaled: bool = False
    mask_zero: bool = False

    def __post_init__(self) -> None:
        self.autocast = False  # ids given as floats keep all their digits
        self.supports_masking = self.mask_zero
        self.factor = self.embedding_size**0.5 if self.scaled else 1.0

    def build(self, ids_shape: Shape | None = None) -> None:
        self.output_size = self.embedding_size
        role = "small embedding" if self.scaled or self.tied else "embedding"
        draw = initializer(self.initialization, role, self.weight_seed, columns=self.embedding_size)
        self.E = self.matrix("E", (self.vocabulary_size, self.embedding_size), draw)
        self.b_E = self.vector("b_E", self.embedding_size) if self.biased else None
        self.built = True

    def compute_output_shape(self, ids_shape: Shape) -> Shape:
        return *ids_shape, self.embedding_size

    def compute_mask(self, ids: tf.Tensor, mask: tf.Tensor | None = None) -> tf.Tensor | None:
        return keras.ops.not_equal(ids, PAD_ID) if self.mask_zero else None

    def call(self, ids: tf.Tensor) -> tf.Tensor:
        vectors = tf.gather(
            self.E.value, tf.cast(ids, tf.int64 if ids.dtype == tf.int64 else tf.int32)
        )
        vectors = vectors * self.factor if self.scaled else vectors
        vectors = vectors if self.b_E is None else vectors + self.b_E
        return vectors * tf.cast(ids != PAD_ID, vectors.dtype)[..., tf.newaxis]
