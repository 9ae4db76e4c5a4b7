"""Options that have an effect only with certain values of others: ``only_with`` of their fields.

An option that is not at its default but has no effect is an error, so that nobody relies on a
setting that does nothing.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from rnnsearch_tf.config.option import Section
from rnnsearch_tf.errors import UsageError

GIVEN = "any value but null, 0 and false"
"""In ``only_with``: the other option must be set, to any value."""

_Field = dataclasses.Field[Any]
_Wanted = str | tuple[Any, ...]  # GIVEN, or the values that would do


def sections_of(config: Section) -> dict[str, Section]:
    """{name: dataclass} of the sections of a Config."""
    values = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    return {name: value for name, value in values.items() if dataclasses.is_dataclass(value)}


def check_effects(sections: Mapping[str, Section], named: Collection[str] | None = None) -> None:
    """Raise UsageError if an option is not at its default and has no effect.

    Args:
        sections: {name of a section: its dataclass}; conditions on a missing section count as met.
        named: dotted names of the options to check; None: all.
    """
    for name, field, other, wanted in _without_effect(sections):
        if named is None or name in named:
            value = _as_yaml(_value(sections, other))
            raise UsageError(
                f"{name}: has no effect with {other}={value}; {_advice(other, wanted)}, or leave"
                f" {name} at its default, {_as_yaml(field.default)}"
            )


def with_defaults_where_unnamed(
    sections: dict[str, Section], named: Collection[str]
) -> dict[str, Section]:
    """The sections, with options that have no effect reset to their defaults, except those whose
    dotted names are given.
    """
    while idle := [
        (name, field) for name, field, *_ in _without_effect(sections) if name not in named
    ]:
        for name, field in idle:
            section = name.partition(".")[0]
            changed = dataclasses.replace(sections[section], **{field.name: field.default})
            sections = sections | {section: changed}
    return sections


def evaluation_defaults(training: Section, named: Collection[str] = ()) -> dict[str, Any]:
    """{name: default} of the evaluation options that are not at their defaults, except those whose
    dotted names are given.

    Args:
        training: TrainingConfig.
        named: such as ``training.patience``.
    """
    fields = [field for field in dataclasses.fields(training) if field.metadata["of_evaluations"]]
    set_ones = [field for field in fields if getattr(training, field.name) != field.default]
    return {
        field.name: field.default for field in set_ones if f"training.{field.name}" not in named
    }


def names_without_effect(sections: Mapping[str, Section]) -> set[str]:
    """Dotted names of the options that have no effect, including those at their defaults."""
    return {name for name, field in _fields(sections) if _unmet_condition(name, field, sections)}


def _without_effect(
    sections: Mapping[str, Section],
) -> Iterator[tuple[str, _Field, str, _Wanted]]:
    """Yield (dotted name, field, other option, values of it that would do) of every option that is
    not at its default and has no effect.
    """
    for name, field in _fields(sections):
        if _value(sections, name) != field.default and (
            unmet := _unmet_condition(name, field, sections)
        ):
            yield name, field, *unmet


def _fields(sections: Mapping[str, Section]) -> Iterator[tuple[str, _Field]]:
    for section, values in sections.items():
        for field in dataclasses.fields(values):
            yield f"{section}.{field.name}", field


def _unmet_condition(
    name: str, field: _Field, sections: Mapping[str, Section]
) -> tuple[str, _Wanted] | None:
    """(other option without which this one has no effect, values of it that would do), or None."""
    section = name.partition(".")[0]
    most = -1
    unmet = None
    for conditions in field.metadata.get("only_with", ()):
        others = [
            (other if "." in other else f"{section}.{other}", wanted)
            for other, wanted in conditions.items()
        ]
        failing = [number for number, each in enumerate(others) if not _is_met(sections, *each)]
        if not failing:
            return None
        # report the alternative whose first unmet condition comes last
        if failing[0] > most:
            most = failing[0]
            unmet = others[failing[0]]
    return unmet


def _is_met(sections: Mapping[str, Section], other: str, wanted: _Wanted) -> bool:
    if other.partition(".")[0] not in sections:
        return True
    value = _value(sections, other)
    return bool(value) if wanted is GIVEN else value in wanted


def _value(sections: Mapping[str, Section], name: str) -> Any:
    section, _, key = name.partition(".")
    return getattr(sections[section], key)


def _advice(other: str, wanted: _Wanted) -> str:
    """The change that gives the option an effect, in words."""
    if wanted is GIVEN:
        return f"set {other}"
    *words, last = map(_as_yaml, wanted)
    return f"set {other} to {', '.join(words)} or {last}" if words else f"set {other}={last}"


def _as_yaml(value: Any) -> str:
    return (
        {None: "null", True: "true", False: "false"}[value]
        if value is None or isinstance(value, bool)
        else str(value)
    )
