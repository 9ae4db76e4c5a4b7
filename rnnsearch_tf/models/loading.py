"""One function for whatever a model was saved as."""

import pathlib

from rnnsearch_tf.backend import keras
from rnnsearch_tf.config import load_config
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.models.build import load_model as load_best
from rnnsearch_tf.run_folder import check_run, verify
from rnnsearch_tf.text.pipeline import load_text


def load_model(path):
    """A trained model, from ids to logits; for text in and text out see ``Translator.load``.

    Args:
        path: a RUN folder, whose best weights are taken, or a ``.keras`` file that ``model.save`` wrote.

    Returns:
        SequenceModel; of a ``.keras`` file compiled as it was saved.

    Raises:
        UserError: there is neither at this path, or it is damaged.
    """
    path = pathlib.Path(path)
    if path.suffix != ".keras":
        run = check_run(path)
        verify(run)
        config = load_config(run / "config.yaml")
        sizes = (load_text(run, side, getattr(config, side)).vocabulary.size for side in ("source", "target"))
        return load_best(run, config, *sizes)
    try:
        return keras.models.load_model(path)
    except (ValueError, OSError, KeyError, TypeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise UserError(f"{path}: expected a model that model.save wrote, got a damaged or other file ({reason})") from None
