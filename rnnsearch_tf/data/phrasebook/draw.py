"""Draw the built-in English–French corpus from a hand-written grammar.

The parts share no sentence. Some pairs of words (`red` with `coat`, `buys` with `flower`) are held
out: a sentence that combines such a pair belongs to the development or the test part, all others to
training. So the held-out parts test unseen combinations of words and patterns seen in training.
"""

from __future__ import annotations

import collections
import functools
import random
import zlib
from collections.abc import Iterable

from rnnsearch_tf.alignment import Link
from rnnsearch_tf.data.phrasebook import grammar, sentences
from rnnsearch_tf.data.phrasebook.grammar import LemmaPair
from rnnsearch_tf.data.phrasebook.sentences import Sentence
from rnnsearch_tf.errors import UsageError

PARTS = ("train", "development", "test")
LENGTHS = range(3, 13)
"""Allowed numbers of tokens on either side, including the punctuation at the end."""

SEEN_WITHIN = 2_000
"""Held-out sentences only use words and patterns that occur at least twice in this many first
training sentences.
"""

_HOLDOUT_BUCKETS = 10  # one for the lemma pairs of development, one for those of test

Symbol = tuple[str, str]
"""(kind, word or name) of a word or a pattern."""


def phrasebook(size: int, seed: int, part: str) -> tuple[list[str], list[str]]:
    """Draw `size` distinct sentence pairs of the built-in corpus.

    The same arguments give the same sentences on every machine; a larger size begins with the
    sentences of a smaller one. The three parts are disjoint, whatever their seeds. Every word of
    the held-out parts occurs in the training part of the same seed if that has at least 2,000
    pairs.

    Args:
        size: number of pairs, up to about 100,000 (training) or 20,000 (held out).
        seed: seed of the random draws.
        part: "train", "development" or "test".

    Returns:
        (English sentences, French sentences): cased, punctuated, not tokenized.

    Raises:
        UsageError: unknown part, or more pairs than the grammar can produce.

    Example:
        >>> source, target = phrasebook(2, seed=1, part="train")
        >>> len(source), len(target)
        (2, 2)
    """
    drawn = _draw(size, seed, part)
    return (
        [grammar.english_text(each.source) for each in drawn],
        [grammar.french_text(each.target) for each in drawn],
    )


def phrasebook_alignments(size: int, seed: int, part: str) -> list[tuple[Link, ...]]:
    """Gold word alignments of the pairs of :func:`phrasebook` with the same arguments.

    Each is a sorted tuple of links between the Moses tokens of the two sentences. Words without a
    counterpart have no link: English do-support, the article of `la voiture de mon oncle`.
    """
    return [each.links for each in _draw(size, seed, part)]


def phrasebook_tokens(
    size: int, seed: int, part: str
) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The English and French tokens that the links of :func:`phrasebook_alignments` refer to."""
    drawn = _draw(size, seed, part)
    return [each.source for each in drawn], [each.target for each in drawn]


def part_of(combinations: Iterable[LemmaPair]) -> str | None:
    """The part of a sentence with these pairs of lemmas; None if they belong to both held-out
    parts.
    """
    parts = {_holdout(pair) for pair in combinations} - {"train"}
    return parts.pop() if len(parts) == 1 else None if parts else "train"


def _holdout(pair: LemmaPair) -> str:
    """The part of a pair of lemmas, by a checksum that is the same on every machine."""
    number = zlib.crc32("|".join(pair).encode()) % _HOLDOUT_BUCKETS
    return {0: "development", 1: "test"}.get(number, "train")


@functools.lru_cache(maxsize=8)
def _draw(size: int, seed: int, part: str) -> tuple[Sentence, ...]:
    if part not in PARTS:
        raise UsageError(f"phrasebook: expected part train, development or test, got {part!r}")
    known = None if part == "train" else _known(_draw(SEEN_WITHIN, seed, "train"))
    rng = random.Random(f"phrasebook {part} {seed}")
    drawn: dict[tuple[str, ...], Sentence] = {}  # by English tokens, in the order drawn
    misses = 0
    while len(drawn) < size:
        sentence = sentences.sentence(rng)
        fits = len(sentence.source) in LENGTHS and len(sentence.target) in LENGTHS
        if (
            fits
            and sentence.source not in drawn
            and part_of(sentence.combinations) == part
            and (known is None or _symbols(sentence) <= known)
        ):
            drawn[sentence.source] = sentence
            misses = 0
        else:
            misses += 1
        if misses > 5_000:
            raise UsageError(
                f"phrasebook: expected a size that the grammar can produce, got {size}; the {part}"
                f" part has about {len(drawn)} pairs"
            )
    return tuple(drawn.values())


def _symbols(sentence: Sentence) -> set[Symbol]:
    """The words and the pattern of a sentence."""
    return {
        ("pattern", sentence.pattern),
        *(("source", token.lower()) for token in sentence.source),
        *(("target", token.lower()) for token in sentence.target),
    }


def _known(training: Iterable[Sentence]) -> frozenset[Symbol]:
    """The words and patterns that occur at least twice."""
    counts = collections.Counter(symbol for each in training for symbol in _symbols(each))
    return frozenset(symbol for symbol, count in counts.items() if count >= 2)
