"""Memory that Python has freed, given back to the system."""

from __future__ import annotations

import ctypes

LARGE = 1 << 20
"""Bytes of a request or an answer, after which it is worth the time."""


def give_back() -> None:
    """Have glibc return to the system what is free; other C libraries do so by themselves."""
    try:
        ctypes.CDLL(None).malloc_trim(0)
    except AttributeError:
        pass
