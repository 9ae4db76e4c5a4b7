"""How many rows a request may have, and how many the graph runs at once: what a call of the graph
takes grows with them.
"""

from __future__ import annotations

import collections
import contextlib
import threading
import time

import numpy as np

from rnnsearch_tf.extras.server.errors import cancelled_error, deadline_exceeded, invalid_argument

LOOK = 0.5  # seconds between looks whether the caller of a waiting request has gone


class Rows:
    """The rows of one server; safe to use from many threads.

    Args:
        limit: most rows of one request, and of all that are running.

    Example:
        rows.check(rows.count(request.inputs))
        with rows.running(count, deadline, cancelled):
            …run the graph…
    """

    def __init__(self, limit):
        self.limit = limit
        self._free = limit
        # the first of them is let in first, so that large requests are not passed by for ever
        self._waiting = collections.deque()
        self._changed = threading.Condition()

    def check(self, count: int):
        """Refuse a request of too many rows: INVALID_ARGUMENT."""
        if count > self.limit:
            raise invalid_argument(
                f"expected at most {self.limit} rows in a request, got {count}; "
                "send fewer at once, or start the server with a larger --max_request_rows"
            )

    @contextlib.contextmanager
    def running(self, count, deadline=None, cancelled=None):
        """Keep `count` rows for a run, as soon as they are free.

        Args:
            count: rows, at most the limit.
            deadline: time.monotonic() value after which nobody waits, or None.
            cancelled: threading.Event that is set when the caller has gone, or None.

        Raises:
            ServingError: DEADLINE_EXCEEDED or CANCELLED before they were free.
        """
        self._take(count, deadline, cancelled)
        try:
            yield
        finally:
            with self._changed:
                self._free += count
                self._changed.notify_all()

    def _take(self, count, deadline, cancelled):
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            try:
                while self._waiting[0] is not ticket or self._free < count:
                    self._changed.wait(_time_to_wait(deadline, cancelled))
                self._free -= count
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()


def count(inputs) -> int:
    """Rows of a request: the largest dimension 0 of its inputs, TensorProto or np.ndarray, read
    from their shapes alone.
    """
    return max([1, *(shape[0] for shape in map(_shape, inputs.values()) if shape)])


def _shape(value):
    return (
        value.shape
        if isinstance(value, np.ndarray)
        else [dimension.size for dimension in value.tensor_shape.dim[:1]]
    )


def _time_to_wait(deadline, cancelled):
    if cancelled is not None and cancelled.is_set():
        raise cancelled_error()
    if deadline is None:
        return LOOK
    left = deadline - time.monotonic()
    if left <= 0:
        raise deadline_exceeded()
    return min(left, LOOK)
