"""Keras on TensorFlow, checked once. Every module that needs Keras imports it from here."""

import ctypes
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

# Let the C library keep freed memory for the next tensors. glibc returns blocks above 32 MB, such
# as the logits of a batch, to the system; on some virtual machines, getting them anew took half of
# the time of an update. One arena takes 5 % less memory, but threads wait for each other in it.
if _mallopt := getattr(ctypes.CDLL(None), "mallopt", None):  # only glibc has it
    _mallopt(-1, 2**31 - 1)  # M_TRIM_THRESHOLD
    _mallopt(-4, 0)  # M_MMAP_MAX
    _mallopt(-8, 2)  # M_ARENA_MAX

import keras  # noqa: E402

__all__ = ["Nest", "keras"]

Nest: TypeAlias = Any
"""A tensor, or a tuple, list or dictionary of nests, as the functions of ``tf.nest`` take it."""
