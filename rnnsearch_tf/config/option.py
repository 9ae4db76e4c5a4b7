"""Declare an option as a dataclass field, and check its values."""

from __future__ import annotations

import contextlib
import dataclasses
import math
import operator
import re
import types
import typing
from collections.abc import Sequence
from typing import Any

from rnnsearch_tf.errors import UsageError, did_you_mean

LIMITS = {
    "minimum": (operator.ge, "at least"),
    "maximum": (operator.le, "at most"),
    "above": (operator.gt, "more than"),
}
"""{limit of a number: (whether a value is within, words)}."""

KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def option(
    default: Any,
    meaning: str,
    *,
    unit: str | None = None,
    choices: Sequence[str] | None = None,
    minimum: float | None = None,
    maximum: float | None = None,
    above: float | None = None,
    pattern: str | None = None,
    systems: Sequence[str] | None = None,
) -> Any:
    """Declare an option: a dataclass field that carries its documentation and its limits.

    Args:
        minimum, maximum, above: limits of a number, the last one exclusive.
        pattern: regular expression of a language code.
        systems: values of ``model.system`` that have this option; None: all.
    """
    kinds = dict(meaning=meaning, unit=unit, choices=choices, pattern=pattern, systems=systems)
    limits = dict(minimum=minimum, maximum=maximum, above=above)
    return dataclasses.field(default=default, metadata={**kinds, **limits})


def check_field(value: Any, hint: Any, field: dataclasses.Field[Any], where: str) -> Any:
    """The value of an option in its declared type, `hint`: a list becomes a tuple; a whole number,
    or text such as 1e-3, as YAML reads it, a float. Messages call the option `where`.

    Raises:
        UsageError: the value has another type or is out of range.
    """
    kinds = typing.get_args(hint) if isinstance(hint, types.UnionType) else (hint,)
    if value is None and type(None) in kinds:
        return None
    for kind in kinds:
        if typing.get_origin(kind) is tuple and isinstance(value, (list, tuple)):
            entry_hint, _ = typing.get_args(kind)
            return tuple(check_field(entry, entry_hint, field, where) for entry in value)
    kind = kinds[0]
    meta = field.metadata
    value = value.item() if hasattr(value, "item") else value  # a number of NumPy
    if kind is float and type(value) in (int, str):
        with contextlib.suppress(ValueError, OverflowError):
            value = float(value)
    if meta["pattern"] and value is False:
        value = "no"  # YAML reads no, Norwegian, as false
    if meta["choices"] and value not in meta["choices"]:
        raise UsageError(
            f"{where}: expected one of {', '.join(meta['choices'])}, got {value!r}"
            f"{did_you_mean(str(value), meta['choices'])}"
        )
    if type(value) is not kind or kind is float and not math.isfinite(value):
        raise UsageError(f"{where}: expected {KINDS.get(kind, 'a list')}, got {value!r}")
    if meta["pattern"] and not re.fullmatch(meta["pattern"], value):
        raise UsageError(
            f"{where}: expected a language code such as es, tdt or pt-BR, got {value!r}"
        )
    for name, (is_within, words) in LIMITS.items():
        if meta[name] is not None and not is_within(value, meta[name]):
            raise UsageError(f"{where}: expected {words} {meta[name]}, got {value}")
    return value
