"""Check training data for problems: the engine of `rnnsearch doctor`."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator

from rnnsearch_tf.config import Config, DataConfig, TextConfig
from rnnsearch_tf.data.corpus import open_corpus
from rnnsearch_tf.data.inspection.cleaning import refusal
from rnnsearch_tf.data.inspection.counts import LANGUAGE_PAIRS, PLACES, Counts
from rnnsearch_tf.data.inspection.fitting import LOSS, quantile
from rnnsearch_tf.data.inspection.foreign import LIBRARY
from rnnsearch_tf.data.inspection.rules import PAIRS, REMEMBERED_PAIRS, is_tokenized
from rnnsearch_tf.data.inspection.swapped import swapped
from rnnsearch_tf.data.pairs import SIDES, LinePair, Pairs
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.runtime.optional import install
from rnnsearch_tf.text.pipeline import Text

FOREIGN_SHARE = 0.01
"""Share of lines in another language above which they are a warning: among names and code, one of
some hundred right lines is called so.
"""

Messages = Iterator[tuple[str, str]]
"""(severity, message) of each finding."""


@dataclasses.dataclass(frozen=True)
class Finding:
    """One finding.

    Attributes:
        severity: "error" (training would stop, or be useless), "warning" or "note".
        part: "train" or "development".
        message: a sentence.
    """

    severity: str
    part: str
    message: str

    def __str__(self) -> str:
        return f"{self.severity}: {self.part}: {self.message}"


def check_data(
    config: Config,
    source_text: Text | None = None,
    target_text: Text | None = None,
    languages: bool = True,
) -> list[Finding]:
    """Read the training and development pairs of a configuration and report what is unusual.

    Findings: line counts, invalid UTF-8, empty lines, lengths, pairs beyond the length limits,
    pairs of very unequal length, uncorrelated lengths (shifted lines), swapped sides, copies,
    duplicates, markup, HTML entities, invisible characters, lines in another Unicode normal form,
    tokenized text, lines in another language, development sentences in the training text, and, if
    the Texts are given, the size and the coverage of the vocabularies.

    Args:
        config: the configuration.
        source_text, target_text: Text of each side; None: lengths are in words separated by spaces,
            and vocabularies are not checked.
        languages: whether to look for lines in another language, among the first LANGUAGE_PAIRS
            pairs; needs the extra `languages`.

    Returns:
        The findings, training first. Memory does not grow with the training text.

    Example:
        >>> from rnnsearch_tf.config import load_config
        >>> config = load_config(overrides=["data.corpus=phrasebook", "data.phrasebook_size=100"])
        >>> check_data(config)[0].message
        '100 lines on both sides'
    """
    findings: dict[str, list[Finding]] = {"train": [], "development": []}
    sources: set[int] = set()  # hashes of the development sentences, looked for in the other text
    for part in ("development", "train"):
        try:
            pairs = open_corpus(config, part)
            if pairs is None:
                message = (
                    "no development files are named: no BLEU while training, no best checkpoint"
                )
                findings[part].append(Finding("warning", part, message))
                continue
            listed = part == "train" and refusal(config) is None
            looked_for = sources if part == "train" else None
            counts = Counts(config, source_text, target_text, languages, listed, looked_for)
            counts.read(pairs)
        except UserError as error:
            findings[part].append(Finding("error", part, str(error)))
            continue
        findings[part] += [
            Finding(severity, part, message)
            for severity, message in _findings(counts, pairs, config, part)
        ]
        if languages and part == "train":
            findings[part] += [Finding("note", part, message) for message in _unchecked(counts)]
        if part == "development":
            sources = counts.source_hashes
        else:
            findings["development"] += _leaks(len(counts.source_hashes), len(sources))
    return findings["train"] + findings["development"]


def _held_out(data: DataConfig, part: str) -> str:
    """An explanation why there are fewer lines than in the files."""
    if not data.held_out:
        return ""
    return (
        ", without the pairs that data.held_out takes out for development"
        if part == "train"
        else ", held out of the training text"
    )


def _findings(counts: Counts, pairs: Pairs, config: Config, part: str) -> Messages:
    """All findings about one part."""
    data = config.data
    bad_line = "error" if data.on_bad_line == "error" else "warning"
    if counts.found["unpaired"]:
        for place in counts.places["unpaired"]:
            yield bad_line, place
    else:
        yield "note", f"{counts.lines:,} lines on both sides{_held_out(data, part)}"
    for kind in ("invalid", "empty", "malformed"):
        if counts.found[kind]:
            yield bad_line, _of_the_pairs(kind, counts, counts.lines)
    lost = sum(counts.found[kind] for kind in ("invalid", "empty", "unpaired", "malformed"))
    if data.on_bad_line == "skip" and lost > LOSS[part] * (counts.good + lost):
        share = _share(lost, counts.good + lost)
        yield "error", f"{share} of the pairs are lost to bad lines: correct the files"
    if not counts.good:
        names = f"{pairs.name('source')}, {pairs.name('target')}"
        yield "error", f"{names}: expected at least one sentence pair, got none"
        return
    for side, lengths in zip(SIDES, counts.lengths):
        median, long = (quantile(lengths, share) for share in (0.5, 0.95))
        found = f"median {median}, 95 % within {long}, longest {max(lengths)}"
        yield "note", f"{side} lengths in {counts.unit}: {found}"
    if part == "train" and counts.dropped:
        severity = "warning" if counts.dropped > 0.05 * counts.good else "note"
        if counts.dropped == counts.good:
            severity = "error"
        source, target = counts.limits
        limits = f"data.maximum_source_length={source} and data.maximum_target_length={target}"
        share = _share(counts.dropped, counts.good)
        longer = f"{share} of the pairs are longer than {limits}, in {counts.unit}"
        yield severity, f"{longer}, and left out of training"
    yield from _oddities(counts)
    yield from _lines(counts)
    yield from _swapped_sides(pairs, counts)
    for side, text, unknown, tokens in zip(SIDES, counts.texts, counts.unknown, counts.tokens):
        if text is not None:
            severity = "warning" if unknown > 0.1 * tokens else "note"
            found = f"{_share(unknown, tokens)} of the tokens are unknown"
            yield severity, f"{side} vocabulary of {text.vocabulary.size:,}: {found}"


def _swapped_sides(pairs: Pairs, counts: Counts) -> Messages:
    """A finding about pairs whose sides are swapped."""

    def good() -> Iterator[LinePair]:
        return (pair for pair in pairs.scan() if pair.kind is None)

    def numbered() -> Iterator[tuple[int, str, str]]:
        return ((number, *pair.texts) for number, pair in enumerate(good()))

    numbers = sorted({*swapped(numbered, REMEMBERED_PAIRS), *counts.crossed})
    if numbers:
        counts.found["swapped"] = len(numbers)
        first = numbers[:PLACES]
        lines = itertools.islice(good(), first[-1] + 1)
        counts.places["swapped"] = [pair.places[0] for k, pair in enumerate(lines) if k in first]
        yield "warning", _of_the_pairs("swapped", counts, min(counts.good, REMEMBERED_PAIRS))


def _oddities(counts: Counts) -> Messages:
    """Findings about pairs that are well-formed but look wrong."""
    if counts.found["unequal"]:
        yield "warning", _of_the_pairs("unequal", counts, counts.good)
    correlation = counts.correlation()
    if counts.good >= 100 and correlation is not None and correlation < 0.3:
        message = (
            f"lengths of the two sides hardly correlate (correlation {correlation:.2f}): the lines"
            " may be shifted or shuffled"
        )
        yield "warning", message
    for kind, many in (("copy", 0.01), ("duplicate", 0.05)):
        if counts.found[kind]:
            pairs = min(counts.good, REMEMBERED_PAIRS) if kind == "duplicate" else counts.good
            severity = "warning" if counts.found[kind] > many * pairs else "note"
            yield severity, _of_the_pairs(kind, counts, pairs)
    if counts.found["line ends"]:
        contain = "contain a character that some programs treat as a line end"
        places = "; ".join(counts.places["line ends"])
        yield "note", f"{counts.found['line ends']:,} pairs {contain}: {places}"


def _lines(counts: Counts) -> Messages:
    """Findings about the lines of each side."""
    for side, settings in counts.sides.items():
        kinds = {change.kind: change.found for change in counts.changes[side]}
        kinds["tokenized"] = "look tokenized"
        kinds["language"] = f"are in another language than {settings.language}"
        for kind, words in kinds.items():
            count = counts.found[f"{kind} {side}"]
            total = min(counts.good, LANGUAGE_PAIRS) if kind == "language" else counts.good
            share = count / total
            if not count or kind == "tokenized" and not is_tokenized(share, settings):
                continue
            severity, aside, advice = _advice(kind, side, settings, share)
            found = f"{_share(count, total)} of the {side} lines{_among(total, counts)}"
            places = _places(f"{kind} {side}", counts)
            yield severity, f"{found} {words}{aside}: {places}{advice}"


def _advice(kind: str, side: str, settings: TextConfig, share: float) -> tuple[str, str, str]:
    """(severity, what becomes of such lines, what to do) for lines of a kind."""
    match kind:
        case "markup" | "entities":
            them = "it" if kind == "markup" else "them"
            return "warning", f", and translations will have {them} too", ""
        case "spaces":
            return "note", ", which is read as one space", ""
        case "invisible":
            return "note", ", which are removed", ""
        case "form":
            scored = "but other programs may score them differently"
            return "note", "", f"; they are converted, {scored}"
        case "tokenized":
            spaced = f"{side}.tokenization=space"
            return "warning", "", f"; --fix DIR detokenizes the training text; or set {spaced}"
        case _:
            return "warning" if share > FOREIGN_SHARE else "note", "", ""


def _unchecked(counts: Counts) -> Iterator[str]:
    """Why the languages of lines were not looked at."""
    if counts.languages is None:
        yield (
            "the languages of the lines were not checked, which needs the package"
            f" {LIBRARY}: {install(LIBRARY)}"
        )
    elif counts.languages.unchecked:
        yield (
            f"lines in another language than {', '.join(counts.languages.unchecked)} were not"
            f" looked for, as {LIBRARY} does not know it"
        )


def _of_the_pairs(kind: str, counts: Counts, total: int) -> str:
    """How many pairs are of a kind, and where."""
    share = _share(counts.found[kind], total)
    return f"{share} of the pairs{_among(total, counts)} {PAIRS[kind]}: {_places(kind, counts)}"


def _among(total: int, counts: Counts) -> str:
    return f" among the first {total:,}" if total < counts.good else ""


def _places(kind: str, counts: Counts) -> str:
    """The first places of a kind, and how to see the others."""
    more = "; --fix DIR lists all" if counts.listed and counts.found[kind] > PLACES else ""
    return "; ".join(counts.places[kind]) + more


def _leaks(both: int, different: int) -> Iterator[Finding]:
    """A finding about development sentences that also occur in the training text."""
    if both:
        severity = "warning" if both > 0.02 * different else "note"
        sentences = f"{_share(both, different)} of the distinct source sentences"
        yield Finding(severity, "development", f"{sentences} also occur in the training text")


def _share(count: int, total: int) -> str:
    percent = 100 * count / max(total, 1)
    return f"{count:,} of {total:,} ({percent:{'.0f' if percent >= 10 else '.2g'}} %)"
