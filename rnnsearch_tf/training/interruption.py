"""Ctrl-C between two batches, never inside one."""

import signal
import sys
import threading

from rnnsearch_tf.backend import keras


class Interruption(keras.callbacks.Callback):
    """Turns the first Ctrl-C into a KeyboardInterrupt before the next batch.

    In the middle of a batch the weights may be a step ahead of the counters, and
    TensorFlow's data pipeline turns the exception into an error of its own. A
    second Ctrl-C stops at once. Goes last in the list of callbacks, and holds
    while its ``with`` block runs; outside the main thread it does nothing.

    Example:
        interruption = Interruption()
        with interruption:
            model.fit(dataset, callbacks=[..., interruption])
    """

    def __init__(self):
        super().__init__()
        self.asked = False
        self._before = None

    def __enter__(self):
        if threading.current_thread() is threading.main_thread():
            self._before = signal.signal(signal.SIGINT, self._note)
        return self

    def __exit__(self, *error):
        if self._before is not None:
            signal.signal(signal.SIGINT, self._before)

    def on_train_batch_begin(self, batch, logs=None):  # what ends a batch or an epoch is done by now
        if self.asked:
            raise KeyboardInterrupt

    def _note(self, *_):
        if self.asked:
            raise KeyboardInterrupt
        self.asked = True
        print("\nCtrl-C: stopping after this batch (and its evaluation); again: at once", file=sys.stderr, flush=True)
