"""Import TensorFlow quietly."""

from __future__ import annotations

import logging
import os


def import_tensorflow() -> None:
    """Import TensorFlow and Keras without their messages, unless RNNSEARCH_DEBUG is set."""
    if not os.environ.get("RNNSEARCH_DEBUG"):
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        # its deprecation warnings are for developers
        logging.getLogger("tensorflow").setLevel(logging.ERROR)
    import tensorflow  # noqa: F401
    import tensorflow_text  # noqa: F401

    import rnnsearch_tf.runtime.backend  # noqa: F401  Keras
