"""From a configuration to a model, and from a RUN folder to a trained one."""

import pathlib

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.models.cslm import CSLM
from rnnsearch_tf.models.encoder_decoder import EncoderDecoder
from rnnsearch_tf.models.layered import DeepLSTM, StackedNetwork
from rnnsearch_tf.models.luong import LuongModel
from rnnsearch_tf.models.rnnencdec import RNNEncDec
from rnnsearch_tf.models.rnnsearch import RNNSearch
from rnnsearch_tf.run_folder import replace_file

SYSTEMS = {
    "rnnsearch": RNNSearch,
    "rnnencdec": RNNEncDec,
    "encoder_decoder": EncoderDecoder,
    "deep_lstm": DeepLSTM,
    "luong": LuongModel,
    "stacked": StackedNetwork,
    "cslm": CSLM,
}
"""The class of each value of the option model.system."""

BEST_WEIGHTS = pathlib.Path("best") / "model.weights.h5"
"""Where a RUN keeps the weights with the best development BLEU."""

EVALUATED = "evaluated"
"""Folder in which a RUN keeps the weights of its last evaluations, for averaging."""


def build_model(config, source_vocabulary_size, target_vocabulary_size):
    """The model a configuration names, with fresh weights.

    Args:
        config: Config.
        source_vocabulary_size, target_vocabulary_size: entries, special tokens included.

    Returns:
        TranslationModel, not compiled.
    """
    return SYSTEMS[config.model.system](
        config.model,
        source_vocabulary_size,
        target_vocabulary_size,
        seed=config.training.seed,
        dtype=config.training.precision,
    )


def load_model(run, config, source_vocabulary_size, target_vocabulary_size):
    """The best model of a RUN folder.

    Args:
        run: path of the RUN folder.
        config: its Config.
        source_vocabulary_size, target_vocabulary_size: as at training.

    Raises:
        UserError: the weights are missing, or belong to another architecture.
    """
    path = pathlib.Path(run) / BEST_WEIGHTS
    if not path.exists():
        raise UserError(f"{path}: expected the best weights of a training run, found none; train first, or check --model")
    model = build_model(config, source_vocabulary_size, target_vocabulary_size)
    read_weights(model, path)
    return model


def read_weights(model, path):
    """Give a model the weights of a file.

    Raises:
        UserError: the file is damaged, or belongs to another architecture.
    """
    try:
        model.load_weights(path)
    except (ValueError, OSError, KeyError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(
            f"{path}: expected the weights of the model that the RUN's config.yaml describes, got others or a damaged file ({reason})"
        ) from None


def write_weights(model, path):
    """Write a model's weights to RUN/best/… or RUN/evaluated/…, in one move, and their checksum."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name("partial.weights.h5")
    model.save_weights(partial)
    run = path.parent.parent
    replace_file(run, partial, path.relative_to(run).as_posix())
