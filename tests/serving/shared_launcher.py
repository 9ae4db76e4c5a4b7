"""A launcher of models' processes that all servers of a test process share."""

import asyncio
import threading

from rnnsearch_tf.extras.server.process import Launcher


class SharedLauncher(Launcher):
    """A Launcher whose process is started once and stays until `end`; a server that closes it ends
    the models' processes by itself.
    """

    _first = None
    _one_at_a_time = threading.Lock()

    def __init__(self):
        cls = type(self)
        with cls._one_at_a_time:
            if cls._first is None or cls._first._process.poll() is not None:
                cls._first = Launcher()
        self._control, self._process = cls._first._control, cls._first._process
        self._one = asyncio.Lock()
        self._closed = False

    def _fork(self, message, connection):
        with self._one_at_a_time:  # of the servers' loops
            return super()._fork(message, connection)

    def close(self):
        pass

    @classmethod
    def end(cls):
        if cls._first is not None:
            cls._first.close()
            cls._first = None
