"""The built-in English–French corpus: sentences of a hand-written grammar, no download.

The parts never share a sentence. Some pairs of words (`red` with `coat`, `buys`
with `flower`) are held out: a sentence in which such a pair meets belongs to the
development or the test part, all others to training. So the held-out parts ask
for unseen combinations, of words and patterns that training has seen.
"""

import functools
import random
import zlib

from rnnsearch_tf.data.phrasebook import grammar, sentences
from rnnsearch_tf.errors import UsageError

PARTS = ("train", "development", "test")
LENGTHS = range(3, 13)
"""Tokens a sentence may have on either side, the end of the sentence included."""

SEEN_WITHIN = 2_000
"""Held-out sentences use only words and patterns that this many first training sentences show
twice.
"""

_OUT_OF = 10  # one pair of lemmas in so many goes to development, as many to test


def phrasebook(size, seed, part) -> tuple[list[str], list[str]]:
    """Draw `size` different sentence pairs of the built-in corpus.

    The same arguments give the same sentences on every machine; a larger size
    begins with the sentences of a smaller one. The three parts are disjoint,
    whatever their seeds. Every word of the held-out parts occurs in the training
    part of the same seed when that has 2,000 pairs or more.

    Args:
        size: number of pairs, up to some 100,000 (training) or 20,000 (held out).
        seed: whole number.
        part: "train", "development" or "test".

    Returns:
        (English sentences, French sentences): cased, punctuated, not tokenized.

    Raises:
        UsageError: unknown part, or more pairs than the grammar has been able to make.

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


def phrasebook_alignments(size, seed, part) -> list[tuple[tuple[int, int], ...]]:
    """Gold word alignments of the pairs that :func:`phrasebook` gives for the same arguments.

    Each is a sorted tuple of (source position, target position), from 0, over
    the Moses tokens of the two sentences. Words without a counterpart have no
    link: English do-support, the article of `la voiture de mon oncle`.
    """
    return [each.links for each in _draw(size, seed, part)]


def phrasebook_tokens(size, seed, part) -> tuple[list[tuple[str, ...]], list[tuple[str, ...]]]:
    """The tokens that :func:`phrasebook_alignments` counts, English and French."""
    drawn = _draw(size, seed, part)
    return [each.source for each in drawn], [each.target for each in drawn]


def part_of(combinations) -> str | None:
    """The part of a sentence in which these pairs of lemmas meet; None if two parts claim it."""
    claimed = {_holdout(pair) for pair in combinations} - {"train"}
    return claimed.pop() if len(claimed) == 1 else None if claimed else "train"


def _holdout(pair) -> str:
    """The part that owns a pair of lemmas; a checksum, the same on every machine."""
    number = zlib.crc32("|".join(pair).encode()) % _OUT_OF
    return {0: "development", 1: "test"}.get(number, "train")


@functools.lru_cache(maxsize=8)
def _draw(size, seed, part):
    if part not in PARTS:
        raise UsageError(f"phrasebook: expected part train, development or test, got {part!r}")
    known = None if part == "train" else _known(_draw(SEEN_WITHIN, seed, "train"))
    rng = random.Random(f"phrasebook {part} {seed}")
    drawn = {}  # English sentence: Sentence, in the order drawn
    misses = 0
    while len(drawn) < size:
        sentence = sentences.sentence(rng)
        fits = len(sentence.source) in LENGTHS and len(sentence.target) in LENGTHS
        if (
            fits
            and sentence.source not in drawn
            and part_of(sentence.combinations) == part
            and _only(sentence, known)
        ):
            drawn[sentence.source] = sentence
            misses = 0
        else:
            misses += 1
        if misses > 5_000:
            raise UsageError(
                f"phrasebook: expected a size that the grammar can make, got {size}; the {part}"
                f" part ends near {len(drawn)}"
            )
    return tuple(drawn.values())


def _symbols(sentence):
    """What a held-out sentence may only use if training has it."""
    source = {("source", token.lower()) for token in sentence.source}
    return (
        source
        | {("target", token.lower()) for token in sentence.target}
        | {("pattern", sentence.pattern)}
    )


def _known(training):
    counts = {}
    for sentence in training:
        for symbol in _symbols(sentence):
            counts[symbol] = counts.get(symbol, 0) + 1
    return frozenset(symbol for symbol, count in counts.items() if count >= 2)


def _only(sentence, known) -> bool:
    return known is None or _symbols(sentence) <= known
