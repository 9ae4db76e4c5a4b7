"""Options that have an effect only beside certain values of others, as ``only_with`` of their
fields says.

What is not at its default and has no effect is an error, so that nobody believes in a setting that
does nothing.
"""

from __future__ import annotations

import dataclasses

from rnnsearch_tf.errors import UsageError

GIVEN = "any value but null, 0 and false"
"""In ``only_with``: the other option only has to be set."""


def sections_of(config) -> dict:
    """{name: dataclass} of the sections of a Config."""
    values = {field.name: getattr(config, field.name) for field in dataclasses.fields(config)}
    return {name: value for name, value in values.items() if dataclasses.is_dataclass(value)}


def check_effects(sections: dict, named: set | None = None) -> None:
    """Raise UsageError where an option is not at its default and has no effect beside the others.

    Args:
        sections: {name of a section: its dataclass}; what needs an option of another section is
            taken to have its effect.
        named: dotted names of the options that are looked at; None: all.
    """
    for name, field, other, wanted in _without_effect(sections):
        if named is None or name in named:
            value = _words(_value(sections, other))
            raise UsageError(
                f"{name}: has no effect with {other}={value}; {_change(other, wanted)}, or leave"
                f" {name} at its default, {_words(field.default)}"
            )


def with_defaults_where_unnamed(sections: dict, named: set) -> dict:
    """The sections; every option that has no effect, and is not one of the dotted names, is at its
    default.
    """
    while idle := [
        (name, field) for name, field, *_ in _without_effect(sections) if name not in named
    ]:
        for name, field in idle:
            section = name.partition(".")[0]
            changed = dataclasses.replace(sections[section], **{field.name: field.default})
            sections = sections | {section: changed}
    return sections


def evaluation_defaults(training, named: set = frozenset()) -> dict:
    """{name: default} of the options of the evaluations that are not at their defaults, without
    those of the dotted names.

    Args:
        training: TrainingConfig.
        named: such as ``training.patience``.
    """
    fields = [field for field in dataclasses.fields(training) if field.metadata["of_evaluations"]]
    set_ones = [field for field in fields if getattr(training, field.name) != field.default]
    return {
        field.name: field.default for field in set_ones if f"training.{field.name}" not in named
    }


def names_without_effect(sections: dict) -> set:
    """Dotted names of the options that have no effect beside the others, those at their defaults
    too.
    """
    return {name for name, field in _fields(sections) if _missing_company(name, field, sections)}


def _without_effect(sections):
    """Yield (dotted name, field, other option, its values that would do) of what is not at its
    default and has no effect.
    """
    for name, field in _fields(sections):
        if _value(sections, name) != field.default and (
            missing := _missing_company(name, field, sections)
        ):
            yield name, field, *missing


def _fields(sections):
    for section, values in sections.items():
        for field in dataclasses.fields(values):
            yield f"{section}.{field.name}", field


def _missing_company(name, field, sections):
    """(the other option that keeps this one from having an effect, the values of it that would do),
    or None.
    """
    section = name.partition(".")[0]
    most = -1
    missing = None
    for company in field.metadata.get("only_with", ()):
        others = [
            (other if "." in other else f"{section}.{other}", wanted)
            for other, wanted in company.items()
        ]
        failing = [number for number, each in enumerate(others) if not _met(sections, *each)]
        if not failing:
            return None
        # the nearest of several companies is the one that most of holds, from its beginning on
        if failing[0] > most:
            most = failing[0]
            missing = others[failing[0]]
    return missing


def _met(sections, other, wanted):
    if other.partition(".")[0] not in sections:
        return True
    value = _value(sections, other)
    return bool(value) if wanted is GIVEN else value in wanted


def _value(sections, name):
    section, _, key = name.partition(".")
    return getattr(sections[section], key)


def _change(other, wanted):
    """What to do, in words."""
    if wanted is GIVEN:
        return f"set {other}"
    *words, last = map(_words, wanted)
    return f"set {other} to {', '.join(words)} or {last}" if words else f"set {other}={last}"


def _words(value):
    """A value as YAML has it."""
    return (
        {None: "null", True: "true", False: "false"}[value]
        if value is None or isinstance(value, bool)
        else str(value)
    )
