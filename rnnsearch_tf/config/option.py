"""How an option is declared, and how what is declared of it is looked up."""

from __future__ import annotations

import dataclasses

FACTS = {
    "saved": "part of a saved model; cannot change when its training is resumed",
    "free_of_weights": "of the model or its texts, but neither weights nor ids depend on it",
    "limits_training": "ends the training",
    "limits_lengths": "longer sentences are left out of training",
    "names_training_text": "says which text is the training text",
    "names_development_text": "says which text is the development text",
    "makes_tokens": "decides which tokens a text has",
    "makes_vocabulary": "decides which tokens have an id",
    "is_file": "is the path of a file",
}
"""What a field may say of its option beside its value: {fact: meaning}."""


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
    facts=(),
    flag=None,
):
    """One option: a dataclass field that carries its documentation and its limits.

    Args:
        default, meaning, unit, choices, minimum, maximum, above, pattern: what they say.
        renamed: {former name of a choice: its name}.
        only_with: {other option: the values of it with which this one has an effect, a tuple, or
            GIVEN}; or several such dictionaries, one of which has to hold as a whole. A name
            without a section is of the same section.
        of_evaluations: whether it has an effect only where there is a development text.
        facts: which of FACTS hold.
        flag: of the verbs that search, such as ``--beam-size``; None: it has none that takes a
            value.

    Raises:
        KeyError: a fact is none of FACTS.
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
    effect = dict(renamed=renamed, only_with=only_with, of_evaluations=of_evaluations)
    known = dict(facts=frozenset(fact for fact in facts if FACTS[fact]), flag=flag)
    return dataclasses.field(default=default, metadata=limits | effect | known)


def names_with(section, fact: str) -> tuple[str, ...]:
    """Names of the options of a section of which a fact holds, in order.

    Args:
        section: the section's dataclass, such as TrainingConfig, or an instance of it.
        fact: one of FACTS.

    Raises:
        KeyError: it is none.

    Example:
        >>> from rnnsearch_tf.config import SearchConfig
        >>> names_with(SearchConfig, "is_file")
        ('lexicon', 'shortlist')
    """
    if fact not in FACTS:
        raise KeyError(fact)
    fields = dataclasses.fields(section)
    return tuple(field.name for field in fields if fact in field.metadata["facts"])
