"""TensorFlow imported without its remarks about the machine on standard error."""

import contextlib
import gc
import logging
import os
import sys
import tempfile

from rnnsearch_tf.runtime.progress import announced

SELDOM = 50_000, 50, 50
"""Objects made between two searches for garbage while modules are imported; Python's own 700 cost a
fifth of that time (RESULTS.md).
"""

OPTIONAL = "IPython", "matplotlib", "sklearn"
"""Packages that Keras imports where they are installed, for what no command uses; a third of the
time (RESULTS.md).
"""


def import_tensorflow():
    """Import TensorFlow and Keras; what it writes meanwhile is shown only if the import fails, or
    under RNNSEARCH_DEBUG.

    Some of those lines come before any log level is heeded, so the file
    descriptor itself is turned aside.
    """
    if os.environ.get("RNNSEARCH_DEBUG"):
        import tensorflow  # noqa: F401

        return
    if "tensorflow" not in sys.modules:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        with (
            _standard_error_aside() as shown,
            announced("loading TensorFlow", shown),
            _garbage_left_alone(),
            _without(OPTIONAL),
        ):
            import tensorflow  # noqa: F401
            import tensorflow_text  # noqa: F401

            import rnnsearch_tf.runtime.backend  # noqa: F401  Keras
    # its warnings (deprecations) are for developers
    logging.getLogger("tensorflow").setLevel(logging.ERROR)


@contextlib.contextmanager
def _without(names):
    """Inside, these packages cannot be imported, unless they are already; afterwards they can."""
    hidden = [name for name in names if name not in sys.modules]
    sys.modules.update(dict.fromkeys(hidden))  # None: ImportError
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


@contextlib.contextmanager
def _garbage_left_alone():
    """Inside, garbage is seldom searched for. What is there at the end stays: no later search looks
    at it, and those come as often as ever.
    """
    before = gc.get_threshold()
    gc.set_threshold(*SELDOM)
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*before)


@contextlib.contextmanager
def _standard_error_aside():
    sys.stderr.flush()
    with tempfile.TemporaryFile() as aside, os.fdopen(os.dup(2), "w", encoding="utf-8") as real:
        os.dup2(aside.fileno(), 2)
        try:
            yield real
        except BaseException:
            aside.seek(0)
            real.buffer.write(aside.read())
            raise
        finally:
            os.dup2(real.fileno(), 2)
