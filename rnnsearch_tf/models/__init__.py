"""The systems of the papers, assembled from the layers."""

from rnnsearch_tf.models.build import build_model
from rnnsearch_tf.models.loss import TranslationLoss
from rnnsearch_tf.models.rnnsearch import RNNSearch
from rnnsearch_tf.models.translation_model import TranslationModel

__all__ = ["RNNSearch", "TranslationLoss", "TranslationModel", "build_model"]
