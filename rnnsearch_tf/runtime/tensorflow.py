"""Import TensorFlow quietly.

What this changes for the whole process (modules, garbage collector, standard error) is changed
during the import only, except for frozen garbage and TensorFlow's log level. Tried with TensorFlow
2.21.0 and Keras 3.15.1; ``tests/house/test_quiet_imports.py`` tests each.
"""

from __future__ import annotations

import contextlib
import gc
import logging
import os
import sys
import tempfile
from collections.abc import Iterable, Iterator
from typing import TextIO

from rnnsearch_tf.runtime.progress import announced

GC_THRESHOLDS = 50_000, 50, 50
"""Thresholds of the garbage collector during the import; with Python's default of 700 it takes a
fifth of the import time (benchmarks/RESULTS.md).
"""

OPTIONAL = "IPython", "matplotlib", "sklearn"
"""Packages that Keras imports if they are installed, for functions that no command uses; they take
a third of the import time (benchmarks/RESULTS.md).
"""


def import_tensorflow() -> None:
    """Import TensorFlow and Keras; show their messages only if the import fails or RNNSEARCH_DEBUG
    is set.

    TensorFlow writes some messages before it reads the log level, so the file descriptor of
    standard error is redirected.
    """
    if os.environ.get("RNNSEARCH_DEBUG"):
        import tensorflow

        return
    if "tensorflow" not in sys.modules:
        os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
        with (
            _standard_error_redirected() as terminal,
            announced("loading TensorFlow", terminal),
            _rare_garbage_collection(),
            _without(OPTIONAL),
        ):
            import tensorflow  # noqa: F401
            import tensorflow_text  # noqa: F401

            import rnnsearch_tf.runtime.backend  # noqa: F401  Keras
    # its deprecation warnings are for developers
    logging.getLogger("tensorflow").setLevel(logging.ERROR)


@contextlib.contextmanager
def _without(names: Iterable[str]) -> Iterator[None]:
    """Make these packages fail to import inside the block, unless they are imported already."""
    hidden = [name for name in names if name not in sys.modules]
    for name in hidden:
        # None makes the import fail; ignored: typeshed declares modules only
        sys.modules[name] = None  # type: ignore[assignment]
    try:
        yield
    finally:
        for name in hidden:
            del sys.modules[name]


@contextlib.contextmanager
def _rare_garbage_collection() -> Iterator[None]:
    """Collect garbage rarely inside the block, then exempt from collection what was allocated."""
    before = gc.get_threshold()
    gc.set_threshold(*GC_THRESHOLDS)
    try:
        yield
    finally:
        gc.freeze()
        gc.set_threshold(*before)


@contextlib.contextmanager
def _standard_error_redirected() -> Iterator[TextIO]:
    """Redirect standard error to a file, which is shown if the block fails; yield the original."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as file, os.fdopen(os.dup(2), "w", encoding="utf-8") as original:
        os.dup2(file.fileno(), 2)
        try:
            yield original
        except BaseException:
            file.seek(0)
            original.buffer.write(file.read())
            raise
        finally:
            os.dup2(original.fileno(), 2)
