"""Ctrl-C and SIGTERM while a model is trained: at once where nothing is lost by it, else between
two batches.
"""

import contextlib
import signal
import sys
import threading

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.errors import Terminated

ERRORS = {signal.SIGINT: KeyboardInterrupt, signal.SIGTERM: Terminated}
"""What each signal becomes."""


class Interruption(keras.callbacks.Callback):
    """Turns the first Ctrl-C into a KeyboardInterrupt, and the first SIGTERM into
    :class:`~rnnsearch_tf.errors.Terminated`.

    In the middle of an update the weights may be a step ahead of the counters, and TensorFlow's
    data pipeline turns the exception into an error of its own: it is raised before the next batch.
    Before the first update is done, which takes the time to trace its graph, and inside
    :meth:`at_once`, it is raised at once. A second signal always stops at once. Goes last in the
    list of callbacks, and holds while its ``with`` block runs; outside the main thread it does
    nothing.

    Attributes:
        asked: the signal that came, or None.
        agreed: the signal at which training stops; of several workers they stop at one that came to
            any of them, all after the same batch.

    Example:
        interruption = Interruption()
        with interruption:
            model.fit(dataset, callbacks=[..., interruption])
    """

    def __init__(self, workers=None):
        super().__init__()
        self.alone = workers is None or workers.count == 1
        self.asked = self.agreed = None
        self._wait = False  # whether an update may be under way
        self._before = {}

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in ERRORS}
        return self

    def __exit__(self, *error):
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def on_train_batch_begin(
        self, batch, logs=None
    ):  # what ends a batch or an epoch is done by now
        self.stop_if_asked()

    def on_train_batch_end(self, batch, logs=None):
        self._wait = True

    @contextlib.contextmanager
    def at_once(self):
        """Inside, a signal is not kept waiting; nor is one that has come already."""
        self.stop_if_asked()
        before = self._wait
        self._wait = False
        try:
            yield
        finally:
            self._wait = before

    def stop_if_asked(self):
        """Raise what a signal that has come becomes."""
        if self.agreed is not None:
            raise ERRORS[self.agreed]

    def _note(self, number, frame):
        again = self.asked is not None
        self.asked = number
        self.agreed = number if self.alone else self.agreed
        if again or not self._wait:
            raise ERRORS[number]
        name = "Ctrl-C" if number == signal.SIGINT else "SIGTERM"
        print(f"\n{name}: stopping after this batch; again: at once", file=sys.stderr, flush=True)
