"""Import TensorFlow quietly."""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import sys
from collections.abc import Iterator

UNUSED = "IPython", "matplotlib", "sklearn"
"""What Keras imports if it is installed, for functions that no command uses."""


def import_tensorflow() -> None:
    """Import TensorFlow and Keras without their messages, unless RNNSEARCH_DEBUG is set."""
    quiet = not os.environ.get("RNNSEARCH_DEBUG")
    if quiet:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        # its deprecation warnings are for developers
        logging.getLogger("tensorflow").setLevel(logging.ERROR)
    with _silent() if quiet else contextlib.nullcontext(), _fast():
        import tensorflow  # noqa: F401
        import tensorflow_text  # noqa: F401

        import rnnsearch_tf.runtime.backend  # noqa: F401  Keras


@contextlib.contextmanager
def _fast() -> Iterator[None]:
    """Import no package of UNUSED, and search for no garbage: `translate` of one line takes a
    quarter less processor time.
    """
    hidden = [name for name in UNUSED if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # type: ignore[arg-type]  # None: no such package
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
        for name in hidden:
            del sys.modules[name]


@contextlib.contextmanager
def _silent() -> Iterator[None]:
    """Drop what is written to standard error: TensorFlow 2.21 writes four lines before it reads the
    log level.
    """
    sys.stderr.flush()
    before = os.dup(2)
    with open(os.devnull, "wb") as nowhere:
        os.dup2(nowhere.fileno(), 2)
    try:
        yield
    finally:
        os.dup2(before, 2)
        os.close(before)
