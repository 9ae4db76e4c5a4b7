"""Check the arguments of translators: constraints and search options."""

from __future__ import annotations

import dataclasses
import difflib
import numbers
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import tensorflow as tf

from rnnsearch_tf.config import Config, SearchConfig, check_value
from rnnsearch_tf.config.effects import check_effects
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.text.counting import Line
from rnnsearch_tf.text.phrases import MOST_BYTES, MOST_TOKENS
from rnnsearch_tf.text.pipeline import list_of_texts

OVERLONG = 10
"""Input longer than this many times the longest training sentence is cut."""


def search_options(changes: Mapping[str, Any]) -> dict[str, Any]:
    """Options of the search section, each checked as in a file.

    Raises:
        UsageError: one is unknown or out of range.
    """
    known = [field.name for field in dataclasses.fields(SearchConfig)]
    for name in changes.keys() - known:
        close = difflib.get_close_matches(name, known, n=1)
        hint = f"did you mean {close[0]}?" if close else f"they are {', '.join(sorted(known))}"
        raise UsageError(f"search: expected options of this section, got {name!r}; {hint}")
    return {name: check_value(f"search.{name}", value) for name, value in changes.items()}


def changed_search(config: Config, changes: Mapping[str, Any]) -> SearchConfig:
    """The search section of a configuration with some options changed, checked as in a file. A
    smaller beam shortens the n-best list of the configuration.
    """
    old = config.search
    changes = search_options(changes)
    nbest = min(old.nbest, changes.get("beam_size", old.beam_size))
    search = dataclasses.replace(old, **{"nbest": nbest, **changes})
    new = {f"search.{name}" for name, value in changes.items() if value != getattr(old, name)}
    check_effects({"search": search, "source": config.source}, new)
    return search


def checked_lengths(config: Config, lengths: Mapping[str, int] | None) -> dict[str, int]:
    """The most tokens of a sentence of each side: those that are given, otherwise OVERLONG times
    the longest training sentence.

    Raises:
        UsageError: a name is no side, or a number below 1.
    """
    checked = {
        side: OVERLONG * getattr(config.data, f"maximum_{side}_length")
        for side in ("source", "target")
    }
    for side, length in (lengths or {}).items():
        if side not in checked:
            raise UsageError(
                f"maximum_lengths: expected 'source' and 'target', got {side!r}; correct the name"
            )
        option = f"data.maximum_{side}_length"
        checked[side] = check_value(option, length, f"maximum_lengths[{side!r}]")
    return checked


def samples_and_seed(number: int, seed: int) -> tuple[int, int]:
    """Check the number of samples of a sentence and their seed.

    Raises:
        UsageError: one is no whole number, or out of range.
    """
    if not (isinstance(number, numbers.Integral) and number >= 1):
        raise UsageError(f"number: expected a whole number of samples, at least 1, got {number!r}")
    if not (isinstance(seed, numbers.Integral) and 0 <= seed < 2**31):
        raise UsageError(f"seed: expected a whole number from 0 to {2**31 - 1}, got {seed!r}")
    return int(number), int(seed)


def constraint_lines(constraints: Iterable[Iterable[Line]], texts: Sequence[Line]) -> list[bytes]:
    """For each text, its phrases separated by tabs.

    Raises:
        UsageError: `constraints` has another type, or another length than `texts`.
    """
    if isinstance(constraints, (str, bytes)) or not isinstance(constraints, Iterable):
        raise UsageError(
            "constraints: expected a list of phrases for each text, got"
            f" {type(constraints).__name__} {constraints!r}; give a list of lists, such as"
            " [['red car'], []], [] for a text without phrases"
        )
    constraints = [
        list_of_texts(phrases, f"constraints[{number}]", "phrase")
        for number, phrases in enumerate(constraints)
    ]
    if len(constraints) != len(texts):
        raise UsageError(
            f"constraints: expected a list of phrases for each of {len(texts)} texts, got"
            f" {len(constraints)} lists; give [] for a text without phrases"
        )
    return [
        b"\t".join(tf.compat.as_bytes(phrase).replace(b"\t", b" ") for phrase in phrases)
        for phrases in constraints
    ]


def too_many_tokens(number: int, line: bytes) -> UserError:
    """The error for a text whose phrases have too many tokens.

    Args:
        number: index of the text.
        line: its phrases, separated by tabs.
    """
    start = line[:60].decode("utf-8", "replace")
    return UserError(
        f"constraints[{number}] ({start!r}): expected phrases of at most {MOST_TOKENS} tokens and"
        f" {MOST_BYTES:,} bytes together, got more; leave some out"
    )
