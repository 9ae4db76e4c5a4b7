"""The type of a nest of tensors, for annotations."""

from typing import Any, TypeAlias

Nest: TypeAlias = Any
"""A tensor, or a tuple, list or dictionary of nests, as the functions of ``tf.nest`` take it."""
