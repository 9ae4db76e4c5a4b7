"""The error of a model that cannot be used."""

from __future__ import annotations


class ModelError(ValueError):
    """A model file cannot be used here.

    The message says what was expected, what was found, and what to do.
    """
