"""One version of a model through its life: START, LOADING, AVAILABLE, UNLOADING, END."""

from __future__ import annotations

import logging
import threading
import time

from tensorflow_serving.apis import get_model_status_pb2

from rnnsearch_tf.extras.server.servable import as_serving_error

log = logging.getLogger("rnnsearch_tf")
State = get_model_status_pb2.ModelVersionStatus.State


class Version:
    """A version, whether it has been loaded or not.

    Args:
        name, number, path: which.
        load: function of (name, number, path) that returns a Servable.

    Attributes:
        state: a State.
        error: ServingError of the last attempt to load it, or None.
        attempts: how often loading was tried.
    """

    def __init__(self, name, number, path, load):
        self.name = name
        self.number = number
        self.path = path
        self.state = State.START
        self.error = None
        self.attempts = 0
        self.last_attempt = 0.0
        self._load = load
        self._servable = None
        self._users = 0
        self._unused = threading.Condition()

    def load(self):
        """Load it; whether it answers now. The error of a failure is kept."""
        self.state = State.LOADING
        self.attempts, self.last_attempt = self.attempts + 1, time.monotonic()
        try:
            self._servable = self._load(self.name, self.number, self.path)
        except Exception as error:  # a disk that does not answer, say: it may be tried again
            self.state, self.error = State.END, as_serving_error(error)
            log.error(
                "error: model %s version %d did not load: %s",
                self.name,
                self.number,
                self.error.message,
            )
            return False
        self.state = State.AVAILABLE
        self.error = None
        log.info("model %s version %d is available", self.name, self.number)
        return True

    def acquire(self):
        """Its Servable, to be given back by `release`; None if it does not answer any more."""
        with self._unused:
            if self.state != State.AVAILABLE:
                return None
            self._users += 1
            return self._servable

    def release(self):
        with self._unused:
            self._users -= 1
            self._unused.notify_all()

    def unload(self, timeout=None):
        """Take no new request; end when the last one has ended, or else after `timeout` seconds
        (None: however long). Waits for it.

        Returns:
            bool, whether all requests ended by themselves: those that had not were broken off.
        """
        with self._unused:
            if self.state not in (State.AVAILABLE, State.UNLOADING):
                return True
            self.state = State.UNLOADING
            unused = self._unused.wait_for(lambda: not self._users, timeout)
            servable = self._servable
            self._servable = None
        if servable is not None:  # else another thread was faster
            servable.close()
            self.state = State.END
            log.info("model %s version %d is unloaded", self.name, self.number)
        return unused
