"""Keras on TensorFlow, checked once. Every module that needs Keras imports it from here."""

import os
import sys
from typing import Any, TypeAlias

from rnnsearch_tf.errors import UsageError

_backend = os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
if "keras" in sys.modules:  # imported before, maybe with another setting
    _backend = sys.modules["keras"].backend.backend()
if _backend != "tensorflow":  # which may not even be installed
    raise UsageError(
        f"rnnsearch_tf: expected Keras on its TensorFlow backend, got {_backend!r}; "
        "set KERAS_BACKEND=tensorflow before Python starts"
    )

import keras  # noqa: E402

__all__ = ["Nest", "keras"]

Nest: TypeAlias = Any
"""A tensor, or a tuple, list or dictionary of nests, as the functions of ``tf.nest`` take it."""
