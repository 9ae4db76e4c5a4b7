"""Build a model from a configuration."""

from __future__ import annotations

from rnnsearch_tf.config import Config
from rnnsearch_tf.models.cslm import CSLM
from rnnsearch_tf.models.encoder_decoder import EncoderDecoder
from rnnsearch_tf.models.layered import DeepLSTM, StackedNetwork
from rnnsearch_tf.models.luong import LuongModel
from rnnsearch_tf.models.rnnsearch import RNNEncDec, RNNSearch
from rnnsearch_tf.models.translation_model import TranslationModel

SYSTEMS = {
    model.system: model
    for model in (RNNSearch, RNNEncDec, EncoderDecoder, DeepLSTM, LuongModel, StackedNetwork, CSLM)
}
"""The class for each value of the option model.system."""


def build_model(
    config: Config, source_vocabulary_size: int, target_vocabulary_size: int
) -> TranslationModel:
    """The model of a configuration, with weights drawn by Keras's random numbers
    (``keras.utils.set_random_seed``).

    Args:
        config: Config.
        source_vocabulary_size, target_vocabulary_size: number of entries, including special tokens.

    Returns:
        TranslationModel, not compiled.
    """
    return SYSTEMS[config.model.system](
        config.model,
        source_vocabulary_size,
        target_vocabulary_size,
        dtype=config.training.precision,
    )
