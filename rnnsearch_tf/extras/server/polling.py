"""Something done again and again until it is stopped."""

from __future__ import annotations

import logging
import threading

log = logging.getLogger("rnnsearch_tf")


class Poller:
    """Calls a function every so many seconds in a thread; what it raises is logged, once while it
    stays the same.

    Args:
        name: what it looks for, for the log.
        seconds: between the end of a call and the next.
        function: without arguments.
    """

    def __init__(self, name, seconds, function):
        self._name = name
        self._seconds = seconds
        self._function = function
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"poll-{name}", daemon=True)
        self._thread.start()

    def stop(self, timeout=None):
        """Ends after the call that is running, and waits for it, but no longer than `timeout`
        seconds (None: however long).
        """
        self._stopped.set()
        self._thread.join(timeout)

    def _run(self):
        logged = None
        while not self._stopped.wait(self._seconds):
            try:
                self._function()
                logged = None
            except Exception as error:  # the server goes on with what it has
                if str(error) != logged:
                    log.error("error: looking for new %s: %s", self._name, error)
                logged = str(error)
