"""Attention-based neural machine translation in TensorFlow, after the papers.

The names in ``__all__`` are the public interface, with the modules ``rnnsearch_tf.layers``,
``rnnsearch_tf.models``, ``rnnsearch_tf.search``, ``rnnsearch_tf.evaluation`` and
``rnnsearch_tf.extras.hub``. Everything else is private and may change.

``import rnnsearch_tf`` itself imports neither TensorFlow nor Keras: each name is imported on first
use. ``Config`` and ``load_config`` never need them. The first use of any other name registers this
package's classes with Keras, so that ``keras.models.load_model`` finds them. If Keras has been
imported already, ``import rnnsearch_tf`` and every first use register them.
``rnnsearch_tf.load_model`` does not depend on it.

Example:
    >>> import rnnsearch_tf
    >>> rnnsearch_tf.load_config(values={"model": {"hidden_size": 256}}).model.hidden_size
    256
"""

from __future__ import annotations

import importlib
import sys
from typing import Any

__version__ = "0.1.0"

_MODULE_OF = {
    "CSLM": "models.cslm",
    "Config": "config",
    "DeepLSTM": "models.layered",
    "EncoderDecoder": "models.encoder_decoder",
    "Ensemble": "models.ensemble",
    "LuongModel": "models.luong",
    "Pairs": "data.pairs",
    "RNNEncDec": "models.rnnsearch",
    "RNNSearch": "models.rnnsearch",
    "StackedNetwork": "models.layered",
    "TrainingSchedule": "training.schedule",
    "TranslationLoss": "models.loss",
    "Translator": "translation.translator",
    "build_loss": "training.optimizers",
    "build_model": "models.build",
    "build_optimizer": "training.optimizers",
    "build_text": "text.pipeline",
    "build_texts": "text.pipeline",
    "config_for_pairs": "data.fitting",
    "export_model": "export.writer",
    "load_config": "config",
    "load_model": "translation.loading",
    "open_corpus": "data.corpus",
    "open_translator": "export.opening",
    "split_sentences": "text.sentences",
    "train": "training.fit",
    "training_dataset": "data.batches",
}
"""Where each public name is defined, under rnnsearch_tf."""

_PUBLIC_MODULES = {
    "evaluation": "evaluation",
    "hub": "extras.hub",
    "layers": "layers",
    "models": "models",
    "search": "search",
}
_WITHOUT_TENSORFLOW = ("config",)
"""Modules that import no TensorFlow and register no classes."""

__all__ = sorted(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name in _PUBLIC_MODULES:
        return importlib.import_module(f"{__name__}.{_PUBLIC_MODULES[name]}")
    if name not in _MODULE_OF:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}; its public names are"
            f" {', '.join(__all__)}"
        )
    value = getattr(importlib.import_module(f"{__name__}.{_MODULE_OF[name]}"), name)
    if _MODULE_OF[name] not in _WITHOUT_TENSORFLOW or "keras" in sys.modules:
        _register_with_keras()
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__, *_PUBLIC_MODULES])


def _register_with_keras() -> None:
    """Import every class that a ``.keras`` file of this package may name."""
    importlib.import_module(f"{__name__}.models")


if "keras" in sys.modules:
    _register_with_keras()
