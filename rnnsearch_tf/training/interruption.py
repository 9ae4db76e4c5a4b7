"""Handle Ctrl-C and SIGTERM during training: at once if nothing is lost, otherwise after the
current batch.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from rnnsearch_tf.runtime.backend import keras

if TYPE_CHECKING:
    from rnnsearch_tf.training.callbacks import Logs

SIGNALS = {signal.SIGINT: "Ctrl-C", signal.SIGTERM: "SIGTERM"}


class Interruption(keras.callbacks.Callback):
    """Raises KeyboardInterrupt for the first Ctrl-C or SIGTERM.

    The exception is raised before the next batch: in the middle of an update the weights may be a
    step ahead of the counters, and TensorFlow's data pipeline would replace the exception. Before
    the first update is done, while its graph is traced, and inside :meth:`at_once`, it is raised
    immediately. So is that of a second signal. This callback must be the last in the list. It is
    active inside its ``with`` block, in the main thread only.

    Attributes:
        received: whether there was a signal.

    Example:
        interruption = Interruption()
        with interruption:
            model.fit(dataset, callbacks=[..., interruption])
    """

    def __init__(self) -> None:
        super().__init__()
        self.received = False
        self._in_update = False  # an update may be running
        self._old_handlers: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._old_handlers = {number: signal.signal(number, self._handle) for number in SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        for number, handler in self._old_handlers.items():
            signal.signal(number, handler)

    def on_train_batch_begin(self, batch: int, logs: Logs = None) -> None:
        self.raise_if_stopped()  # the callbacks of the last batch and epoch have run by now

    def on_train_batch_end(self, batch: int, logs: Logs = None) -> None:
        self._in_update = True

    @contextlib.contextmanager
    def at_once(self) -> Iterator[None]:
        """Inside the block, a signal raises immediately; one received before does on entry."""
        self.raise_if_stopped()
        before = self._in_update
        self._in_update = False
        try:
            yield
        finally:
            self._in_update = before

    def raise_if_stopped(self) -> None:
        """Raise KeyboardInterrupt if there was a signal."""
        if self.received:
            raise KeyboardInterrupt

    def _handle(self, number: int, frame: object) -> None:
        repeated = self.received
        self.received = True
        if repeated or not self._in_update:
            raise KeyboardInterrupt
        print(
            f"\n{SIGNALS[signal.Signals(number)]}: stopping after this batch; repeat to stop at"
            " once",
            file=sys.stderr,
            flush=True,
        )
