"""Keras on TensorFlow, checked once: every module that computes imports Keras from here."""

import os

from rnnsearch_tf.errors import UsageError

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import keras  # noqa: E402  the variables above are read at import

if keras.backend.backend() != "tensorflow":
    raise UsageError(
        f"rnnsearch_tf: expected Keras on its TensorFlow backend, got {keras.backend.backend()!r}; "
        "set KERAS_BACKEND=tensorflow before Python starts"
    )

__all__ = ["keras"]
