"""What speaks against translations where there is no reference: loops in them, and sources unlike
the text that the model was trained on.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Collection, Iterable, Sequence
from typing import Any, NamedTuple

from rnnsearch_tf.errors import UserError, one_line
from rnnsearch_tf.files.atomic import write_file
from rnnsearch_tf.runs.folder import Run

LONGEST_PHRASE = 6
"""Tokens of the longest phrase whose repetition is looked for."""

TIMES = 3
"""A phrase that occurs so many times running is a loop."""

SHARE_BELOW = 0.95
"""Share of the training sentences that are no longer than ``TrainingText.source_length``."""

MANY = 4
"""Long sources are reported if their share is more than this many times that in the training text,
where 1 − SHARE_BELOW of the sentences are as long.
"""

WORD_START = "▁"
"""SentencePiece's sign of a word's beginning; alone, it is not a word."""


def has_loop(tokens: Sequence[str]) -> bool:
    """Whether a phrase of 1 to LONGEST_PHRASE tokens occurs TIMES times running. A phrase without a
    letter, such as … or 000, does not count.

    Example:
        >>> has_loop("the cat of the age of the age of the age".split())
        True
        >>> has_loop("no , no . Wait ! ! !".split())
        False
    """
    return any(
        _is_repeated(tokens, start, size)
        for size in range(1, min(LONGEST_PHRASE, len(tokens) // TIMES) + 1)
        for start in range(len(tokens) - TIMES * size + 1)
    )


def _is_repeated(tokens: Sequence[str], start: int, size: int) -> bool:
    phrase = tokens[start : start + size]
    return all(
        tokens[start + turn * size : start + (turn + 1) * size] == phrase
        for turn in range(1, TIMES)
    ) and any(character.isalpha() for token in phrase for character in token)


@dataclasses.dataclass(frozen=True)
class TrainingText:
    """What a RUN records of its training text, in training_text.json.

    Attributes:
        source_length: SHARE_BELOW of the source sentences have at most so many tokens, without the
            end symbol.
        pairs: number of pairs that were measured.
    """

    source_length: int
    pairs: int

    @classmethod
    def of(cls, lengths: Iterable[int]) -> TrainingText:
        """The record of source sentences with these numbers of tokens, at least one.

        Example:
            >>> TrainingText.of(range(1, 101))
            TrainingText(source_length=95, pairs=100)
        """
        ordered = sorted(lengths)
        return cls(ordered[math.ceil(SHARE_BELOW * len(ordered)) - 1], len(ordered))

    @classmethod
    def of_values(cls, values: Any) -> TrainingText:
        """The record from values of JSON; ValueError, TypeError or KeyError: they are none."""
        try:
            return cls(int(values["source_length"]), int(values["pairs"]))
        except OverflowError as error:  # of Infinity
            raise ValueError(error) from None

    def save(self, run: Run) -> None:
        """Write it to a RUN."""
        write_file(run.training_text, json.dumps(dataclasses.asdict(self)) + "\n")

    @classmethod
    def load(cls, run: Run) -> TrainingText | None:
        """That of a RUN; None: an earlier version trained it.

        Raises:
            UserError: the file is not such a record.
        """
        if not run.training_text.exists():
            return None
        try:
            return cls.of_values(json.loads(run.training_text.read_text(encoding="utf-8")))
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise UserError(
                f"{run.training_text}: expected the record of a training text, got something else"
                f" ({one_line(error, 100)}); delete it, or copy the RUN again"
            ) from None


class Source(NamedTuple):
    """A source sentence as the model reads it.

    Attributes:
        tokens: without the end symbol.
        unknown: number of tokens that the model does not know.
    """

    tokens: Sequence[str]
    unknown: int


class WarningSigns:
    """Counts the translations that repeat themselves and the sources unlike the training text.

    Args:
        training_text: TrainingText; None: unknown.
        limit: longest source of the training in tokens, where `training_text` is unknown; None:
            unknown too.
        known: tokens that the model knows; None: unknown.
    """

    def __init__(
        self,
        training_text: TrainingText | None = None,
        limit: int | None = None,
        known: Collection[str] | None = None,
    ) -> None:
        self.training_text = training_text
        self.limit = limit
        self.known = known
        self.lines = self.loops = self.long = self.unknown = 0

    def add(self, translations: Sequence[Any], sources: Iterable[Source] | None = None) -> None:
        """Count Translations.

        Args:
            translations: Translations; those of an export may lack their tokens.
            sources: the Source of each; None: as the translations have it.
        """
        for translation, source in zip(translations, sources or map(self._source, translations)):
            tokens = translation.tokens
            self.lines += 1
            self.loops += has_loop(
                translation.text.split() if tokens is None else tokens
            ) and not has_loop(source.tokens)
            self.long += len(source.tokens) > (self._longest() or math.inf)
            words = sum(token != WORD_START for token in source.tokens)
            self.unknown += 2 * (words - source.unknown) < words

    def _longest(self) -> int | None:
        return self.training_text.source_length if self.training_text else self.limit

    def _source(self, translation: Any) -> Source:
        tokens = translation.source_tokens or []
        if self.known is None:
            return Source(tokens, 0)
        return Source(tokens, sum(token not in self.known for token in tokens))

    def summary(self) -> str | None:
        """What was found, in a sentence; None: nothing."""
        usual = MANY * (1 - SHARE_BELOW) * self.lines if self.training_text else 0
        longer = "the longest sentences of the training"
        if self.training_text:
            longer = f"{100 * SHARE_BELOW:.0f} % of the training text"
        said = []
        if self.loops:
            repeat = "repeats" if self.loops == 1 else "repeat"
            loops = f"{self.loops:,} of {self.lines:,} translations {repeat} a phrase"
            said.append(f"{loops} {TIMES} times or more")
        if self.long > usual:
            said.append(f"{_lines(self.long)} longer than {longer} ({self._longest()} tokens)")
        if self.unknown:
            said.append(f"{_lines(self.unknown)} mostly unknown words")
        return f"{'; '.join(said)}: the model does not know such text" if said else None


def _lines(count: int) -> str:
    return f"{count:,} {'line is' if count == 1 else 'lines are'}"
