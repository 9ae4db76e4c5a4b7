"""A time that several waits share."""

from __future__ import annotations

import time


class Grace:
    """So many seconds from now, or without end.

    Args:
        seconds: float, at least 0; None: however long.

    Example:
        >>> Grace(None).left() is None, Grace(0).left()
        (True, 0.0)
    """

    def __init__(self, seconds):
        self._end = None if seconds is None else time.monotonic() + seconds

    def left(self) -> float | None:
        """Seconds that are left, 0.0 when there are none; None: however long."""
        return None if self._end is None else max(0.0, self._end - time.monotonic())
