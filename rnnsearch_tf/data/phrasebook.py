"""The built-in English–French corpus: ``phrasebook.tsv.xz``, drawn from a hand-written grammar.

The file has 40,000 pairs for training, 500 for development and 500 for test, which share no
sentence. Some pairs of words (`red` with `coat`, `buys` with `flower`) are held out: a sentence
that combines such a pair belongs to the development or the test part, all others to training. So
the held-out parts test unseen combinations of words and patterns that the first 2,000 training
pairs have. A line is English tokens, French tokens and gold links, separated by tabs. The grammar
that drew it is in commit ff94a411, ``rnnsearch_tf/data/phrasebook``, seed 1.
"""

from __future__ import annotations

import functools
import lzma
import pathlib

from rnnsearch_tf.alignment import Link
from rnnsearch_tf.errors import UsageError

PARTS = {"train": 40_000, "development": 500, "test": 500}
"""{part: its pairs}, in the order of the file."""


def phrasebook(size: int, part: str) -> tuple[list[str], list[str]]:
    """(English sentences, French sentences) of the first pairs of a part: cased, punctuated, not
    tokenized. Raises UsageError for an unknown part, or more pairs than it has.

    Example:
        >>> phrasebook(1, "train")
        (['You wait for her.'], ["Vous l'attendez."])
    """
    rows = _rows(size, part)
    return (
        [row[0].replace(" 's", "'s").replace(" .", ".").replace(" ?", "?") for row in rows],
        [row[1].replace("' ", "'").replace(" .", ".") for row in rows],
    )


def phrasebook_alignments(size: int, part: str) -> list[tuple[Link, ...]]:
    """Gold word alignments of the pairs of :func:`phrasebook`: sorted (English, French) positions
    of tokens. Words without a counterpart have no link: English do-support, the article of
    `la voiture de mon oncle`.
    """
    return [
        tuple((int(j), int(i)) for j, _, i in (link.partition("-") for link in links.split()))
        for _, _, links in _rows(size, part)
    ]


def _rows(size: int, part: str) -> list[list[str]]:
    """The columns of the first lines of a part."""
    if part not in PARTS or size > PARTS[part]:
        most = ", ".join(f"{count:,} {name}" for name, count in PARTS.items())
        raise UsageError(f"phrasebook: expected at most {most} pairs, got {size:,} {part}")
    names = [*PARTS]
    start = sum(PARTS[name] for name in names[: names.index(part)])
    return [line.split("\t") for line in _lines()[start : start + size]]


@functools.lru_cache
def _lines() -> list[str]:
    path = pathlib.Path(__file__).with_name("phrasebook.tsv.xz")
    return lzma.decompress(path.read_bytes()).decode("utf-8").splitlines()
