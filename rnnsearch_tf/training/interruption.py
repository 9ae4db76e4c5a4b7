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
from rnnsearch_tf.errors import Terminated

if TYPE_CHECKING:
    from rnnsearch_tf.distributed.workers import SingleWorker
    from rnnsearch_tf.training.callbacks import Logs

ERRORS: dict[int, type[BaseException]] = {
    signal.SIGINT: KeyboardInterrupt,
    signal.SIGTERM: Terminated,
}
"""The exception raised for each signal."""


class Interruption(keras.callbacks.Callback):
    """Raises KeyboardInterrupt for the first Ctrl-C, and
    :class:`~rnnsearch_tf.errors.Terminated` for the first SIGTERM.

    The exception is raised before the next batch: in the middle of an update the weights may be a
    step ahead of the counters, and TensorFlow's data pipeline would replace the exception. Before
    the first update is done, while its graph is traced, and inside :meth:`at_once`, it is raised
    immediately. So is that of a second signal. This callback must be the last in the list. It is
    active inside its ``with`` block, in the main thread only.

    Args:
        workers: the workers that train together; None: one process.

    Attributes:
        received: the signal that this process received, or None.
        agreed: the signal at which training stops, or None; with several workers, one that any
            of them received, so that all stop after the same batch.

    Example:
        interruption = Interruption()
        with interruption:
            model.fit(dataset, callbacks=[..., interruption])
    """

    def __init__(self, workers: SingleWorker | None = None) -> None:
        super().__init__()
        self.alone = workers is None or workers.count == 1
        self.received: int | None = None
        self.agreed: int | None = None
        self._in_update = False  # an update may be running
        self._old_handlers: dict[int, Any] = {}

    def __enter__(self) -> Interruption:
        if threading.current_thread() is threading.main_thread():
            self._old_handlers = {number: signal.signal(number, self._handle) for number in ERRORS}
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
        """Raise the exception of the signal at which training stops, if there is one."""
        if self.agreed is not None:
            raise ERRORS[self.agreed]

    def _handle(self, number: int, frame: object) -> None:
        repeated = self.received is not None
        self.received = number
        self.agreed = number if self.alone else self.agreed
        if repeated or not self._in_update:
            raise ERRORS[number]
        name = "Ctrl-C" if number == signal.SIGINT else "SIGTERM"
        print(
            f"\n{name}: stopping after this batch; repeat to stop at once",
            file=sys.stderr,
            flush=True,
        )
