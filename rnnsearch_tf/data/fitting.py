"""A configuration that suits a text: the engine of `rnnsearch init`, and of Python's
:func:`config_for_pairs`.
"""

from __future__ import annotations

import array
import math
import pathlib
import re
import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
import yaml

from rnnsearch_tf.config import Config, check_value, load_config
from rnnsearch_tf.data.pairs import Pair, Pairs, Report, as_pairs
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files import AnyPath
from rnnsearch_tf.runtime.progress import progress
from rnnsearch_tf.text import languages

UNKNOWN_LANGUAGE = "und"
"""ISO 639 code of an undetermined language."""

MINIMUM_PAIRS = 100
"""Pairs that a training text must have."""

SIZES = (
    # pairs below, subwords, of a word, embedding, hidden, batch, dropout
    (1000, 500, 3.0, 256, 320, 40, (0.3, 0.4, 0.3)),
    (3000, 1000, 2.5, 256, 320, 40, (0.3, 0.4, 0.3)),
    (10_000, 2000, 2.0, 256, 320, 40, (0.3, 0.4, 0.3)),
    (50_000, 4000, 1.5, 256, 320, 40, (0.3, 0.4, 0.3)),
    (100_000, 4000, 1.5, 256, 320, 40, (0.2, 0.3, 0.2)),
    (300_000, 8000, 1.5, 256, 320, 40, (0.2, 0.3, 0.2)),
    (1_000_000, 8000, 1.5, 384, 512, 80, (0.1, 0.1, 0.1)),
    (3_000_000, 16_000, 1.5, 384, 512, 80, (0.1, 0.1, 0.1)),
    (math.inf, 16_000, 1.5, 620, 1000, 80, (0.1, 0.1, 0.1)),  # the paper's sizes
)
"""Sizes of the vocabularies, of the model and of the batch by the number of pairs, and dropout of
embeddings, states and readout. Every character is a subword, so that a side of many characters has
more subwords. Subwords of a word: the length that keeps 99 % of the sentences, in subwords by that
in words, as measured on Multi30k, Tatoeba and Python's documentation.
"""

UPDATES_A_MINUTE = 300
"""Rough speed of a small model on one core; it only sets how often a training is evaluated."""


def config_for_pairs(
    pairs: Any,
    source_language: str,
    target_language: str,
    minutes: float = 60.0,
    overrides: Sequence[str] = (),
) -> Config:
    """The configuration that ``rnnsearch init`` would write, for pairs held in Python: its sizes,
    limits and dropout fit their number and their lengths.

    Args:
        pairs: Pairs, or what ``Pairs(pairs)`` takes; a generator is read to its end, so make Pairs
            of it first.
        source_language, target_language: codes, such as "en" or "pt-BR".
        minutes: duration of the training.
        overrides: options to change, such as ``["model.hidden_size=256"]``.

    Raises:
        UsageError: a language code is malformed, or `minutes` is not a number above 0.
        UserError: there are too few pairs.

    Example::

        config = rt.config_for_pairs(pairs, "en", "fr", minutes=20)
        rt.train(config, "mine/run", pairs=pairs)
    """
    check_value("source.language", source_language, "source_language")
    check_value("target.language", target_language, "target_language")
    minutes = check_value("training.maximum_minutes", minutes, "minutes")
    options = fitting_options(as_pairs(pairs), (source_language, target_language), minutes)
    options["data"] |= {"train_source": None, "train_target": None}
    return load_config("your-own-text", overrides=overrides, values=options)


def configuration(
    source: pathlib.Path, target: pathlib.Path, codes: tuple[str, str], minutes: float
) -> tuple[str, Report, Pair]:
    """(the text of a YAML configuration for two files, what was left out of them, the first pair);
    codes and minutes as of :func:`fitting_options`.
    """
    pairs = Pairs(source, target)
    options = fitting_options(pairs, codes, minutes)
    files = {"train_source": str(source.absolute()), "train_target": str(target.absolute())}
    options["data"] = files | options["data"]
    lines = [
        f"# Written by `rnnsearch init` for {pairs.report.kept:,} pairs of {source.name} and"
        f" {target.name}; `rnnsearch options` explains all options.",
        "base: your-own-text",
    ]
    for section, values in options.items():
        text = yaml.safe_dump(
            values, default_flow_style=True, sort_keys=False, allow_unicode=True, width=math.inf
        )
        lines.append(f"{section}: {text.strip()}")
    return "\n".join(lines) + "\n", pairs.report, next(iter(pairs))


def fitting_options(
    pairs: Pairs, codes: tuple[str, str], minutes: float
) -> dict[str, dict[str, Any]]:
    """Read a text once; return {section: {option: value}} of what suits it and a training of so
    many minutes, on top of configs/your-own-text.yaml. `codes` are the languages of both sides.

    Raises:
        UserError: a file cannot be read, or there are too few pairs.
    """
    unsegmented = [languages.base(code) in languages.UNSEGMENTED for code in codes]
    lengths = array.array("I"), array.array("I")  # in words, or in characters without spaces
    characters: tuple[set[str], set[str]] = (set(), set())
    for texts in progress(iter(pairs), doing="reading the text", unit="pairs"):
        for side, text in enumerate(texts):
            text = unicodedata.normalize("NFC", text)  # as training does
            lengths[side].append(len(text) if unsegmented[side] else len(text.split()))
            characters[side].update(text)
    count = pairs.report.kept
    if count < MINIMUM_PAIRS:
        raise UserError(
            f"{pairs.name}: expected at least {MINIMUM_PAIRS} pairs of sentences, got"
            f" {pairs.report}; check the text"
        )
    longest = max(np.quantile(side, 0.99, method="inverted_cdf") for side in lengths)
    _, subwords, of_a_word, embedding, hidden, batch, dropout = next(
        row for row in SIZES if count < row[0]
    )
    evaluated = 200 if minutes < 10 else 1000
    every = max(100, 100 * round(minutes * UPDATES_A_MINUTE / 1000))
    sides = {
        side: {
            "language": code,
            "tokenization": "sentencepiece",  # written, since other texts need another
            # at least one for each character, and 100 more
            "vocabulary_size": max(subwords, 100 * math.ceil((len(letters) + 100) / 100)),
        }
        for side, code, letters in zip(("source", "target"), codes, characters)
    }
    return sides | {
        "data": {
            "held_out": min(evaluated, max(20, count // 20), count // 2),
            "maximum_length": min(200, max(50, 10 * math.ceil(of_a_word * longest / 10))),
            "batch_size": batch,
        },
        "model": {
            "embedding_size": embedding,
            "hidden_size": hidden,
            "alignment_size": embedding,
            "maxout_size": embedding,
            "embedding_dropout": dropout[0],
            "hidden_dropout": dropout[1],
            "readout_dropout": dropout[2],
        },
        "training": {
            "precision": "mixed_bfloat16" if has_bfloat16() else "float32",
            "maximum_updates": None,
            "maximum_minutes": minutes,
            "evaluate_every": min(every, 2000),
            "evaluate_sentences": evaluated,
        },
    }


def has_bfloat16(path: AnyPath = "/proc/cpuinfo") -> bool:
    """Whether the processor has instructions for bfloat16, which is slower without them."""
    try:
        flags = pathlib.Path(path).read_text(encoding="utf-8")
    except OSError:  # not Linux
        return False
    return "avx512_bf16" in flags or "amx_bf16" in flags


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
