"""Being told to end: SIGTERM as an exception, for verbs that can be gone on with."""

import contextlib
import signal
import threading

from rnnsearch_tf.errors import Terminated


@contextlib.contextmanager
def sigterm_raises():
    """Inside, SIGTERM raises Terminated at once; while a model is fitted, training/interruption.py sees to it."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number, frame):
        raise Terminated

    before = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
