"""Write a cleaned training text: the engine of `rnnsearch doctor --fix`."""

from __future__ import annotations

import collections
import dataclasses
import os
import pathlib
import re
from collections.abc import Iterator, Sequence

from rnnsearch_tf.config import Config
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.inspection.foreign import side_languages
from rnnsearch_tf.data.inspection.rules import (
    PAIRS,
    REMEMBERED_PAIRS,
    changes,
    detokenizing,
    is_tokenized,
    looks_tokenized,
    unequal,
    words,
)
from rnnsearch_tf.data.inspection.swapped import swapped
from rnnsearch_tf.data.pairs import SIDES, LinePair, Pairs
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.files.atomic import make_folder
from rnnsearch_tf.files.writing import whole_files
from rnnsearch_tf.runtime.progress import progress
from rnnsearch_tf.text.vocabulary import batches

CHANGES_FILE = "changes.tsv"
"""The list of what was left out or changed."""

COLUMNS = ("file", "line", "kind", "done", "text")
"""Of the list. A text of both sides is separated by ``|||``."""

_PACKED = (".gz", ".xz", ".bz2", ".zst")
_PAIRS_AT_ONCE = 512


@dataclasses.dataclass(frozen=True)
class Cleaned:
    """What :func:`clean_text` wrote.

    Attributes:
        files: the paths of the source, the target and the list.
        read, written: pairs, lines without a partner included.
        left_out: {what such pairs are: their number}.
        changed: {what such pairs or lines were, and what was done: their number}, of the pairs that
            were written.
    """

    files: tuple[pathlib.Path, ...]
    read: int
    written: int
    left_out: dict[str, int]
    changed: dict[str, int]


def refusal(config: Config) -> str | None:
    """The option for which the training text of a configuration cannot be cleaned, or None."""
    if config.data.corpus != "files":
        return f"data.corpus={config.data.corpus}"
    if config.training.guided_alignment_weight:
        return "training.guided_alignment_weight, whose links belong to the lines as they are"
    names = ("corpora", "prepared")
    return next((f"data.{name}" for name in names if getattr(config.data, name)), None)


def clean_text(config: Config, folder: AnyPath) -> Cleaned:
    """Write the training text of a configuration without what is wrong with it, and a list of every
    line that was left out or changed.

    A pair is left out if it is not UTF-8, empty, without partner, a copy (the same text on both
    sides), of very unequal lengths, in another language (needs the extra `languages`) or a
    duplicate. Swapped sides are put right. Lines lose their markup, HTML entities, invisible
    characters and white space other than single spaces, and get the Unicode normal form of their
    side. The lines of a side that is tokenized, against its configuration, are detokenized. The
    pairs that data.held_out takes out for development are cleaned with the others.

    Args:
        config: the configuration; its text must be in files.
        folder: where to write; it may exist. The two texts have the names of the files, or
            train.LANGUAGE; CHANGES_FILE is the list. They appear when they are complete.

    Returns:
        The files and the counts. Memory does not grow with the text, but for two numbers for each
        of the first REMEMBERED_PAIRS pairs.

    Raises:
        UsageError: the text is not in files, or is a mixture.
        UserError: one of the files to write exists, or no pair is left.
    """
    if reason := refusal(config):
        raise UsageError(
            f"--fix: expected one training text in files, got {reason}; name files with --set"
            " data.train_source=F --set data.train_target=F, and take that option out"
        )
    whole = dataclasses.replace(config, data=dataclasses.replace(config.data, held_out=0))
    pairs = open_corpus(whole)
    files = _new_files(pairs, config, folder)
    cleaning = _Cleaning(config, pairs)
    with whole_files(files) as (*sides, listed):
        listed.write(_row(COLUMNS))
        for texts, rows in cleaning.pairs():
            for side, text in zip(sides, texts):
                side.write(f"{text}\n".encode())
            listed.writelines(map(_row, rows))
        if not cleaning.written:
            raise UserError(
                f"{pairs.name('source')}, {pairs.name('target')}: expected good pairs, got"
                f" {cleaning.read:,} of which none is left; look at them with rnnsearch doctor"
                " without --fix"
            )
    left_out = cleaning.left_out
    return Cleaned(
        files,
        cleaning.read,
        cleaning.written,
        {found: left_out[kind] for kind, found in PAIRS.items() if left_out[kind]},
        dict(cleaning.changed),
    )


def _new_files(pairs: Pairs, config: Config, folder: AnyPath) -> tuple[pathlib.Path, ...]:
    """The paths to write, none of which exists."""
    paths = [pathlib.PurePath(pairs.name(side)) for side in SIDES]
    names = [path.stem if path.suffix in _PACKED else path.name for path in paths]
    if not all(map(os.path.isfile, paths)) or len({*names, CHANGES_FILE}) < 3:
        codes = [config.source.language, config.target.language]
        names = [f"train.{word}" for word in (SIDES if codes[0] == codes[1] else codes)]
    files = tuple(pathlib.Path(folder, name) for name in (*names, CHANGES_FILE))
    for file in files:
        if os.path.lexists(file):
            raise UserError(
                f"{file}: expected a new file, as --fix overwrites none, found one; name another"
                " folder"
            )
    make_folder(folder)
    return files


@dataclasses.dataclass
class _Item:
    """A pair on its way.

    Attributes:
        names: the file from which each side's text comes.
        pair: as it was read.
        texts: as they will be written.
        languages: for each side, the other language that it has.
        changes: (what the pair or line was, and what was done; its row of the list) of each change.
    """

    names: list[str]
    pair: LinePair
    texts: list[str]
    languages: Sequence[str | None] = (None, None)
    changes: list[tuple[str, tuple[str, ...]]] = dataclasses.field(default_factory=list)

    def row(self, side: int, kind: str, done: str, text: str) -> tuple[str, ...]:
        return self.names[side], str(self.pair.number), kind, done, text

    def both(self) -> str:
        """The lines as they were read."""
        lines = (self.pair.source, self.pair.target)
        return " ||| ".join(line.decode("utf-8", "backslashreplace") for line in lines)


class _Cleaning:
    """The cleaning of one text, which is read several times."""

    def __init__(self, config: Config, pairs: Pairs):
        self._pairs = pairs
        self._settings = (config.source, config.target)
        self._changes = [changes() for _ in self._settings]
        self._languages = side_languages([settings.language for settings in self._settings])
        self._hashes: set[int] = set()
        self.read = self.written = 0
        self.left_out: collections.Counter[str] = collections.Counter()
        self.changed: collections.Counter[str] = collections.Counter()
        for settings, made, share in zip(self._settings, self._changes, self._tokenized_shares()):
            if is_tokenized(share, settings):
                made.append(detokenizing(settings.language))
        self._swapped = set(swapped(self._good, REMEMBERED_PAIRS))

    def pairs(self) -> Iterator[tuple[Sequence[str], list[tuple[str, ...]]]]:
        """Yield (texts to write, none if the pair is left out; rows of the list) of each pair."""
        lines = progress(self._pairs.scan(), doing="cleaning the pairs", unit="lines")
        number = 0
        for group in batches(lines, _PAIRS_AT_ONCE):
            items = [_Item(list(pair.names), pair, list(pair.texts)) for pair in group]
            good = [item for item in items if item.pair.kind is None]
            for item in good:
                self._turn(item, number in self._swapped)
                number += 1
            for side in range(2):
                self._change(good, side)
            for item in items:
                yield self._judged(item)

    def _good(self) -> Iterator[tuple[int, str, str]]:
        """Yield (number from 0, source, target) of the good pairs."""
        texts = (pair.texts for pair in self._pairs.scan() if pair.kind is None)
        return ((number, *sides) for number, sides in enumerate(texts))

    def _tokenized_shares(self) -> list[float]:
        """The share of each side's lines that look tokenized."""
        counts = [0, 0, 0]
        for _, *texts in progress(self._good(), doing="looking at the pairs", unit="lines"):
            found = (1, *map(looks_tokenized, texts))
            counts = [total + more for total, more in zip(counts, found)]
        return [count / max(counts[0], 1) for count in counts[1:]]

    def _turn(self, item: _Item, swapped_sides: bool) -> None:
        """Look at the languages of a pair, and put swapped sides right."""
        if self._languages and not swapped_sides and item.texts[0] != item.texts[1]:
            found = self._languages.of(item.texts)
            item.languages = found.others
            swapped_sides = found.crossed
        if swapped_sides:
            row = item.row(0, "swapped", "put right", item.both())
            item.changes.append((f"pairs {PAIRS['swapped']}: put right", row))
            item.languages = (None, None)
            item.names.reverse()
            item.texts.reverse()

    def _change(self, items: Sequence[_Item], side: int) -> None:
        """Make all changes to one side of some pairs."""
        read = [item.texts[side] for item in items]
        for change in self._changes[side]:
            before = [item.texts[side] for item in items]
            for item, line, old, new in zip(items, read, before, change.apply(before)):
                if old != new:
                    row = item.row(side, change.kind, change.done, line)
                    key = f"{SIDES[side]} lines {change.found}: {change.done}"
                    item.changes.append((key, row))
                    item.texts[side] = new

    def _judged(self, item: _Item) -> tuple[Sequence[str], list[tuple[str, ...]]]:
        """Leave a pair out, or keep it, and count it."""
        self.read += item.pair.lines
        fault = self._fault(item)
        if fault:
            kind, words = fault
            self.left_out[kind] += item.pair.lines
            side = int(kind == "unpaired" and item.pair.problem.startswith(f"{item.names[1]}:"))
            return (), [item.row(side, kind, f"left out: {words}", item.both())]
        self.written += 1
        self.changed.update(key for key, _ in item.changes)
        return item.texts, [row for _, row in item.changes]

    def _fault(self, item: _Item) -> tuple[str, str] | None:
        """(kind, words) of what a pair is left out for; None: it is kept."""
        pair = item.pair
        if pair.kind == "unpaired":
            last = pair.number + pair.lines - 1
            return "unpaired", f"lines {pair.number:,} to {last:,} have no partner"
        if pair.kind == "invalid":
            return "invalid", "not UTF-8"
        if not all(item.texts):
            return "empty", "a side has no text"
        if item.texts[0] == item.texts[1]:
            return "copy", "the same text on both sides"
        lengths = [words(text, side.language) for text, side in zip(item.texts, self._settings)]
        if unequal(*lengths):
            return "unequal", f"{lengths[0]:,} and {lengths[1]:,} words"
        for side, code in zip(SIDES, item.languages):
            if code:
                return "language", f"the {side} is in another language, {code}"
        if self._is_duplicate(item.texts):
            return "duplicate", "the pair came before"
        return None

    def _is_duplicate(self, texts: Sequence[str]) -> bool:
        """Whether a pair was kept before; remembers it."""
        pair = hash(tuple(texts))
        if pair in self._hashes:
            return True
        if len(self._hashes) < REMEMBERED_PAIRS:
            self._hashes.add(pair)
        return False


def _row(fields: Sequence[str]) -> bytes:
    line = "\t".join(re.sub(r"[\t\r\n]", " ", field) for field in fields)
    return f"{line}\n".encode("utf-8", "backslashreplace")
