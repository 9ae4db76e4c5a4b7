"""Declare an option as a dataclass field, and look up its facts."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Section = Any
"""A dataclass of options, or an instance of it."""

Tree = dict[str, Any]
"""Options as nested dictionaries, as a YAML file has them."""

Conditions = Mapping[str, str | tuple[Any, ...]]
"""{other option: the values of it with which an option has an effect, or GIVEN}."""

FACTS = {
    "saved": "part of a saved model; cannot change when its training is resumed",
    "free_of_weights": "affects neither weights nor ids, though part of the model or its texts",
}
"""Facts that a field may declare about its option: {fact: meaning}."""


LIMITS = {
    "minimum": (operator.ge, "at least"),
    "maximum": (operator.le, "at most"),
    "above": (operator.gt, "more than"),
}
"""{fact of a number: (whether a value is within, words)}."""


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
    only_with: Conditions | tuple[Conditions, ...] = (),
    of_evaluations: bool = False,
    facts: Iterable[str] = (),
) -> Any:
    """Declare an option: a dataclass field that carries its documentation and its limits.

    Args:
        default: its default.
        meaning: what it does, for the user.
        unit: unit of a number.
        choices: the values that it may have.
        minimum, maximum, above: limits of a number, the last one exclusive.
        pattern: regular expression of a language code.
        only_with: {other option: tuple of its values with which this option has an effect, or
            GIVEN}; or several such dictionaries, one of which has to hold completely. A name
            without a section belongs to the same section.
        of_evaluations: whether it has an effect only if there is a development text.
        facts: keys of FACTS.

    Raises:
        KeyError: a fact is not in FACTS.
    """
    limits = dict(
        meaning=meaning,
        unit=unit,
        choices=choices,
        minimum=minimum,
        maximum=maximum,
        above=above,
        pattern=pattern,
    )
    only_with = (only_with,) if isinstance(only_with, dict) else only_with
    effect = dict(only_with=only_with, of_evaluations=of_evaluations)
    if unknown := {*facts} - FACTS.keys():
        raise KeyError(f"facts: expected some of {', '.join(FACTS)}, got {', '.join(unknown)}")
    metadata = {**limits, **effect, "facts": frozenset(facts)}
    return dataclasses.field(default=default, metadata=metadata)


def names_with(section: Section, fact: str) -> tuple[str, ...]:
    """Names of a section's options that declare a fact, in order.

    Args:
        section: the section's dataclass, such as TrainingConfig, or an instance of it.
        fact: a key of FACTS.

    Raises:
        KeyError: the fact is not in FACTS.
    """
    if fact not in FACTS:
        raise KeyError(fact)
    fields = dataclasses.fields(section)
    return tuple(field.name for field in fields if fact in field.metadata["facts"])
