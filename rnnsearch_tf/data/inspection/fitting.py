"""A configuration that suits a text: the engine of `rnnsearch init`, and of Python's
:func:`config_for_pairs`.
"""

from __future__ import annotations

import collections
import dataclasses
import math
import pathlib
import re
import unicodedata
from collections.abc import Sequence
from typing import Any, TypeVar

import yaml

from rnnsearch_tf.config import Config, check_value, load_config
from rnnsearch_tf.config.yaml_files import read_value
from rnnsearch_tf.data.pairs import Pairs, Report, as_pairs
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.runtime.progress import progress
from rnnsearch_tf.text import languages

UNKNOWN_LANGUAGE = "und"
"""ISO 639 code of an undetermined language."""

LOST_SHARE = {"train": 0.5, "development": 0.1}
"""Share of lost pairs above which it is an error: training would be scored on another
development text than intended.
"""

MINIMUM_PAIRS = 100
"""Pairs that a training text must have."""

LIMIT_QUANTILE = 0.99
"""Share of the sentences that the length limits keep."""

LARGEST_LIMIT = 200
"""Tokens; longer sentences cost more time and memory than they are worth."""

VOCABULARIES = (
    (1000, 500),
    (3000, 1000),
    (10_000, 2000),
    (100_000, 4000),
    (1_000_000, 8000),
    (math.inf, 16_000),
)
"""Subwords of a side, for fewer pairs than the first number; see benchmarks/RESULTS.md for results
on small corpora. Below 3,000 pairs, texts of Tanaka had no more of them. Every character is a
subword, so that a side of many characters has more.
"""

PIECES = ((1000, 3.0), (3000, 2.5), (10_000, 2.0), (math.inf, 1.5))
"""Subwords for a word of the length limits, for fewer pairs than the first number.

Measured with VOCABULARIES: the limit that keeps LIMIT_QUANTILE of the sentences, as a multiple of
that in words. It was 1.8 to 3.1, 1.6 to 2.4, 1.4 to 2.0, and 1.3 to 1.5 for a side of Multi30k
(English, German, French; also captions joined by twos and threes), of Python's documentation and of
Tatoeba (English, French).
"""

BEYOND_CHARACTERS = 100
"""Subwords of several characters that a side has at least."""

SIZES = (
    (300_000, dict(embedding=256, hidden=320, batch=40)),
    (3_000_000, dict(embedding=384, hidden=512, batch=80)),
    (math.inf, dict(embedding=620, hidden=1000, batch=80)),  # the paper's
)
"""Sizes of the model and the batch, for fewer pairs than the first number."""

DROPOUT = ((50_000, (0.3, 0.4, 0.3)), (300_000, (0.2, 0.3, 0.2)), (math.inf, (0.1, 0.1, 0.1)))
"""Dropout of embeddings, states and readout, for fewer pairs than the first number."""

UPDATES_A_MINUTE = 300
"""Rough speed of a small model on one core; only sets how often a training is evaluated."""

EVALUATIONS = 10

Lengths = collections.Counter[int]

Value = TypeVar("Value")

TEMPLATE = """\
# Written by `rnnsearch init` for {pairs:,} pairs of {source} and {target}.
# `rnnsearch options` explains these options and lists all others.
source: {{language: {source_language}, tokenization: sentencepiece,\
 vocabulary_size: {source_vocabulary}}}
target: {{language: {target_language}, tokenization: sentencepiece,\
 vocabulary_size: {target_vocabulary}}}
data:
  train_source: {source_path}
  train_target: {target_path}
  held_out: {held_out}  # pairs held out of the training text to select the best weights
  maximum_source_length: {source_limit}  # subwords; longer sentences are left out of training
  maximum_target_length: {target_limit}
  on_bad_line: {on_bad_line}{bad}
  batching: bucketed
  batch_size: {batch}
  bucket_width: 2
model:  # RNNsearch; beyond the paper: dropout, tied target embeddings
  system: rnnsearch
  embedding_size: {embedding}
  hidden_size: {hidden}
  alignment_size: {embedding}
  maxout_size: {embedding}
  output_rank: null
  tie_target_embeddings: true
  initialization: variance_preserving
  scale_embeddings: true
  embedding_dropout: {dropout[0]}  # more for less text
  hidden_dropout: {dropout[1]}
  readout_dropout: {dropout[2]}
training:
  optimizer: adam
  learning_rate: 1.0e-3
  loss_reduction: token_mean
  label_smoothing: 0.1
  schedule: cosine  # decays to 0 at the end, so set the time before you start
  warmup_updates: 200
  precision: mixed_bfloat16
  epochs: 1000
  maximum_minutes: {minutes}  # or maximum_updates: N, for the same training on\
 every machine
  evaluate_every: {evaluate_every}  # updates
  evaluate_sentences: {evaluate_sentences}
"""


@dataclasses.dataclass(frozen=True)
class Inspection:
    """Results of one pass over two files.

    Attributes:
        report: pairs kept and left out.
        lengths: for each side, how many sentences have each length in words separated by spaces; in
            characters if the language has no spaces.
        characters: for each side, how many different ones there are.
        languages: language code of each side.
    """

    report: Report
    lengths: tuple[Lengths, Lengths]
    characters: tuple[int, int]
    languages: tuple[str, str]


def inspect(
    source: AnyPath,
    target: AnyPath,
    source_language: str | None = None,
    target_language: str | None = None,
) -> Inspection:
    """Read two files once and count their pairs and lengths.

    Args:
        source, target: paths.
        source_language, target_language: codes; None: taken from the file names.

    Raises:
        UserError: a file cannot be read, both paths name the same file, or there are too few good
            pairs, or more bad lines than good ones.
    """
    if pathlib.Path(source).resolve() == pathlib.Path(target).resolve():
        raise UserError(
            f"{source}: expected two files, a text and its translation, got one file twice; name"
            " the other one, or, if it is a table of both, --pairs"
        )
    codes = (source_language or language_of(source), target_language or language_of(target))
    return _inspected(Pairs(str(source), str(target), on_bad_line="skip"), codes)


def config_for_pairs(
    pairs: Any, source_language: str, target_language: str, minutes: float = 60.0
) -> Config:
    """The configuration that ``rnnsearch init`` would write, for pairs held in Python: its sizes,
    limits and dropout fit their number and their lengths.

    Args:
        pairs: Pairs, or what ``Pairs(pairs)`` takes; a generator is read to its end, so make Pairs
            of it first.
        source_language, target_language: codes, such as "en" or "pt-BR".
        minutes: duration of the training.

    Raises:
        UsageError: a language code is malformed, or `minutes` is not a number above 0.
        UserError: there are too few pairs, or more bad ones than good ones.

    Example::

        config = rt.config_for_pairs(pairs, "en", "fr", minutes=20)
        rt.train(config, "mine/run", pairs=pairs)
    """
    check_value("source.language", source_language, "source_language")
    check_value("target.language", target_language, "target_language")
    minutes = check_value("training.maximum_minutes", minutes, "minutes")
    found = _inspected(as_pairs(pairs, "skip"), (source_language, target_language))
    values = yaml.safe_load(configuration(found, "source", "target", minutes))
    del values["data"]["train_source"], values["data"]["train_target"]
    return load_config(values=values)


def _inspected(pairs: Pairs, codes: tuple[str, str]) -> Inspection:
    """Read the pairs once."""
    source, target = pairs.name("source"), pairs.name("target")
    unsegmented = [languages.base(code) in languages.UNSEGMENTED for code in codes]
    lengths: tuple[Lengths, Lengths] = (Lengths(), Lengths())
    characters: tuple[set[str], set[str]] = (set(), set())
    for texts in progress(iter(pairs), doing="reading the text", unit="pairs"):
        for side, text in enumerate(texts):
            text = unicodedata.normalize("NFC", text)  # as training does
            lengths[side][len(text) if unsegmented[side] else len(text.split())] += 1
            characters[side].update(text)
    report = pairs.check()
    if report.kept < MINIMUM_PAIRS:
        raise UserError(
            f"{source}, {target}: expected at least {MINIMUM_PAIRS} pairs of sentences, got"
            f" {report}; check the files"
        )
    if report.skipped > LOST_SHARE["train"] * (report.kept + report.skipped):
        raise UserError(
            f"{source}, {target}: expected a text and its translation, line by line, got"
            f" {report}; correct the files"
        )
    return Inspection(report, lengths, (len(characters[0]), len(characters[1])), codes)


def language_of(path: AnyPath) -> str:
    """The language code in the name of a file: its last part that is a code.

    Example:
        >>> [language_of(name) for name in ("corpus/train.en.gz", "train.pt-BR", "fr.txt", "a.tsv")]
        ['en', 'pt-BR', 'fr', 'und']
    """
    for word in reversed(pathlib.PurePath(path).name.split(".")):
        if re.fullmatch("[a-z]{2}([-_][A-Za-z]{2,4})?", word) and word != "gz":
            return word
    return UNKNOWN_LANGUAGE


def configuration(inspection: Inspection, source: AnyPath, target: AnyPath, minutes: float) -> str:
    """The text of a YAML configuration for a corpus.

    Args:
        inspection: result of :func:`inspect` for the two files.
        source, target: paths of the files.
        minutes: duration of the training.
    """
    pairs = inspection.report.kept
    report = inspection.report
    sizes = _for_size(pairs, SIZES)
    dropout = _for_size(pairs, DROPOUT)
    limits = [_limit(pairs, lengths) for lengths in inspection.lengths]
    every = max(100, 100 * round(minutes * UPDATES_A_MINUTE / EVALUATIONS / 100))
    return TEMPLATE.format(
        pairs=pairs,
        source=pathlib.PurePath(source).name,
        target=pathlib.PurePath(target).name,
        source_language=_quoted(inspection.languages[0]),
        target_language=_quoted(inspection.languages[1]),
        source_vocabulary=_vocabulary(pairs, inspection.characters[0]),
        target_vocabulary=_vocabulary(pairs, inspection.characters[1]),
        source_path=_quoted(pathlib.Path(source).absolute()),
        target_path=_quoted(pathlib.Path(target).absolute()),
        held_out=held_out_size(pairs),
        source_limit=limits[0],
        target_limit=limits[1],
        on_bad_line="skip" if report.skipped else "error",
        bad=(
            f"  # bad lines: {report.skipped:,}, such as {report.examples[0]}"
            if report.skipped
            else ""
        ),
        dropout=dropout,
        minutes=minutes,
        evaluate_every=min(every, 2000),
        evaluate_sentences=200 if minutes < 10 else 1000,
        **sizes,
    )


def quantile(lengths: Lengths, share: float) -> int:
    """The length that a share of the sentences do not exceed.

    Args:
        lengths: {length: number of sentences}, not empty.
        share: between 0 and 1.
    """
    left = share * lengths.total()
    longest = 0
    for longest in sorted(lengths):
        left -= lengths[longest]
        if left <= 0:
            break
    return longest


def held_out_size(pairs: int) -> int:
    """The default number of pairs to hold out for development: a twentieth of the pairs, from 20 to
    1,000, but no more than half.
    """
    return min(1000, max(20, pairs // 20), pairs // 2)


def _for_size(pairs: int, table: Sequence[tuple[float, Value]]) -> Value:
    """The value of a table for this number of pairs."""
    return next(value for most, value in table if pairs < most)


def _vocabulary(pairs: int, characters: int) -> int:
    """Subwords of a side with this number of different characters; a multiple of 100."""
    least = 100 * math.ceil((characters + BEYOND_CHARACTERS) / 100)
    return max(_for_size(pairs, VOCABULARIES), least)


def _limit(pairs: int, lengths: Lengths) -> int:
    """A length limit in subwords for nearly all sentences, by their words; at least 50."""
    limit = _for_size(pairs, PIECES) * quantile(lengths, LIMIT_QUANTILE)
    return min(LARGEST_LIMIT, max(50, 10 * math.ceil(limit / 10)))


def _quoted(value: AnyPath) -> str:
    """A path or a code as a YAML string."""
    text = str(value)
    plain = re.fullmatch(r"[\w/.-]+", text) and read_value(text) == text
    return text if plain else "'" + text.replace("'", "''") + "'"
