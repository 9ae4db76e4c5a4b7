"""Check the arguments of translators: search options, lengths, numbers of samples."""

from __future__ import annotations

import dataclasses
import difflib
import numbers
from collections.abc import Mapping
from typing import Any

from rnnsearch_tf.config import Config, SearchConfig, check_value
from rnnsearch_tf.errors import UsageError

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
    """The search section of a configuration with some options changed, checked as in a file."""
    return dataclasses.replace(config.search, **search_options(changes))


def checked_lengths(config: Config, lengths: Mapping[str, int] | None) -> dict[str, int]:
    """The most tokens of a sentence of each side: those that are given, otherwise OVERLONG times
    the longest training sentence.

    Raises:
        UsageError: a name is no side, or a number below 1.
    """
    checked = {side: OVERLONG * config.data.maximum_length for side in ("source", "target")}
    for side, length in (lengths or {}).items():
        if side not in checked:
            raise UsageError(
                f"maximum_lengths: expected 'source' and 'target', got {side!r}; correct the name"
            )
        checked[side] = check_value("data.maximum_length", length, f"maximum_lengths[{side!r}]")
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
