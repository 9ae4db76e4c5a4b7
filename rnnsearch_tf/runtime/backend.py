"""Keras on TensorFlow, checked once. Every module that needs Keras imports it from here."""

import os

from rnnsearch_tf.errors import UsageError

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")


def _require_tensorflow(backend: str) -> None:
    if backend != "tensorflow":
        raise UsageError(
            f"rnnsearch_tf: expected Keras on its TensorFlow backend, got {backend!r}; "
            "set KERAS_BACKEND=tensorflow before Python starts"
        )


# before the import: another backend may not even be installed
_require_tensorflow(os.environ["KERAS_BACKEND"])

import keras  # noqa: E402

# Keras may have been imported before, with another setting
_require_tensorflow(keras.backend.backend())

__all__ = ["keras"]
