"""How an option is declared."""

from __future__ import annotations

import dataclasses


def option(
    default,
    meaning,
    *,
    unit=None,
    choices=None,
    minimum=None,
    maximum=None,
    above=None,
    pattern=None,
    renamed=(),
    only_with=(),
    of_evaluations=False,
):
    """One option: a dataclass field that carries its documentation and its limits.

    Args:
        default, meaning, unit, choices, minimum, maximum, above, pattern: what they say.
        renamed: {former name of a choice: its name}.
        only_with: {other option: the values of it with which this one has an effect, a tuple, or
            GIVEN}; or several such dictionaries, one of which has to hold as a whole. A name
            without a section is of the same section.
        of_evaluations: whether it has an effect only where there is a development text.
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
    facts = dict(renamed=renamed, only_with=only_with, of_evaluations=of_evaluations)
    return dataclasses.field(default=default, metadata=limits | facts)
