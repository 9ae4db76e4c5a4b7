"""Corpus selection by cross-entropy difference on both sides (Moore and Lewis 2010; Axelrod, He and
Gao 2011).

    score(s, t) = H_in(s) − H_out(s) + H_in(t) − H_out(t)

H is the cross-entropy of a sentence by an n-gram model, in nats a token, the end symbol among them:
of one learned from text of the domain, and of one learned from as many pairs drawn from all there
are to choose from. The lower, the more a pair looks like the domain. As Moore and Lewis have it,
both models know the words that the domain's text has twice or more; every other word is one unknown
word.
"""

from __future__ import annotations

import array
import contextlib
import dataclasses
import random

import numpy as np

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import count_lines, read_pairs, read_raw
from rnnsearch_tf.files.writing import whole_file
from rnnsearch_tf.runtime.progress import announced, progress
from rnnsearch_tf.text.ngrams import NgramModel
from rnnsearch_tf.text.pipeline import text_of_counts, token_counts
from rnnsearch_tf.text.vocabulary import batches
from rnnsearch_tf.files.untrusted import MOST_TOKENS

PAIRS_AT_ONCE = 4096
ROUND_PAIRS = 20_000
"""Pairs that a further round takes from what the one before kept, at most."""

LEFT_OUT = np.inf
"""The score of a pair that is never kept."""


@dataclasses.dataclass(frozen=True)
class Selection:
    """What is kept: `scores` float64 [pairs], LEFT_OUT where a side is empty or too long; `kept`
    bool [pairs], the lowest of them.
    """

    scores: np.ndarray
    kept: np.ndarray

    @property
    def left_out(self) -> int:
        """Pairs that could not be kept."""
        return int(np.isinf(self.scores).sum())

    @property
    def cut_off(self) -> float:
        """The score of the last pair that is kept; NaN where none is."""
        return (
            float(self.scores[self.kept].max(initial=-np.inf)) if self.kept.any() else float("nan")
        )


class Side:
    """H_in − H_out of the sentences of one side.

    Args:
        in_domain: list[str], text of the domain.
        drawn: list[str], sentences drawn from all that there are.
        config: TextConfig; how text becomes tokens.
        where: name of the domain's text in errors.
        order: words of the longest n-grams.

    Raises:
        UserError: no word of the domain's text comes twice.
    """

    def __init__(self, in_domain, drawn, config: TextConfig, where: str, order: int):
        config = dataclasses.replace(config, minimum_count=2, vocabulary_size=MOST_TOKENS)
        counts = token_counts(config)
        for lines in batches(in_domain):
            counts.add(lines)
        self._text = text_of_counts(config, counts, where)
        size = self._text.vocabulary.size
        # PAD_ID never comes
        self._models = [
            NgramModel(*self._ids(lines), size, size - 1, order) for lines in (in_domain, drawn)
        ]

    def __call__(self, lines):
        """(H_in − H_out, tokens) of list[str]: float64 [B], int64 [B] without the end symbol."""
        ids, lengths = self._ids(lines)
        # log p_out − log p_in
        difference = np.subtract(
            *(model.log_probabilities(ids, lengths) for model in reversed(self._models))
        )
        return np.add.reduceat(difference, np.cumsum(lengths) - lengths) / lengths, lengths - 1

    def _ids(self, lines):
        """(ids of all lines, end symbols among them; how many each line has)."""
        encoded = [self._text.encode(batch) for batch in batches(lines)]
        return np.concatenate([ids.values for ids in encoded]), np.concatenate(
            [ids.row_lengths() for ids in encoded]
        )


def select(
    in_domain,
    files,
    keep: float,
    configs,
    order: int = 2,
    longest: int | None = None,
    seed: int = 1,
    rounds: int = 1,
    target_words: int | None = None,
) -> Selection:
    """Choose the pairs of a corpus that are most like those of a domain.

    The files are read several times, some thousand pairs at a time: memory holds the text of the
    domain, as many pairs more, and some twenty bytes for each pair of the corpus.

    Args:
        in_domain: (source file, target file), text of the domain; a thousand pairs do.
        files: (source file, target file), the pairs to choose from.
        keep: share of the pairs to keep, above 0 and at most 1; of equal scores the first. Fewer
            are kept where fewer can be.
        configs: (TextConfig of the source, of the target).
        order: words of the longest n-grams. The papers take 4; learned from a thousand pairs, 2
            choose better (RESULTS.md).
        longest: pairs with more tokens on a side are left out; None: any length.
        seed: of the draws.
        rounds: 1 is the papers' way. Each further round takes for the domain its text and pairs of
            the better half of what was kept, at most ROUND_PAIRS of them; that helps where the
            corpus has as much of the domain as is kept, and may harm where it has less.
        target_words: tokens that the target side of what is kept may have, at most; None: any
            number.

    Returns:
        Selection.

    Raises:
        UserError: files of unequal or no lines, a file that cannot be read twice, or text of the
            domain in which no word comes twice.
    """
    pairs = count_lines(files)
    if pairs is None:
        raise UserError(
            f"{' and '.join(map(str, files))}: expected files, which are read several times, got a"
            " pipe; write it to a file first"
        )
    domain = list(_pairs(in_domain))
    generator = random.Random(seed)
    if not domain or not pairs:
        raise UserError(
            f"{(files if domain else in_domain)[0]}: expected sentences, got an empty file"
        )
    known = domain
    selection = None
    for _ in range(rounds):
        if selection is not None:
            better = selection.scores <= np.median(selection.scores[selection.kept])
            best = (pair for pair, chosen in zip(_pairs(files), better & selection.kept) if chosen)
            known = domain + _drawn(best, ROUND_PAIRS, generator)
        drawn = _drawn(
            progress(_pairs(files), doing="drawing pairs", total=pairs // 2, unit="pairs"),
            len(known),
            generator,
        )
        with announced("learning the n-gram models"):
            sides = [
                Side(*texts, *more, order)
                for *texts, more in zip(zip(*known), zip(*drawn), zip(configs, in_domain))
            ]
        selection = _selection(*_scores(sides, files, pairs // 2, longest), keep, target_words)
        if not selection.kept.any():
            break
    return selection


def kept_pairs(files, kept):
    """Yield (source, target), bytes, of each pair that is kept; a tab inside becomes a space.
    Arguments as of :func:`write_kept`.
    """
    for *sides, keep in zip(*map(read_raw, files), kept):
        if keep:
            yield tuple(side.replace(b"\t", b" ") for side in sides)


def write_kept(files, kept, outputs) -> None:
    """Write the lines that are kept, byte for byte; both files appear once both are whole.

    Args:
        files: (source file, target file), those that were chosen from.
        kept: bool [pairs].
        outputs: (source file, target file) to write, .gz by name.
    """
    with contextlib.ExitStack() as stack:
        streams = [stack.enter_context(whole_file(output)) for output in outputs]
        for file, stream in zip(files, streams):
            stream.writelines(line + b"\n" for line, keep in zip(read_raw(file), kept) if keep)


def _selection(scores, lengths, keep, target_words) -> Selection:
    """The Selection of the lowest scores, as many as the share and the words allow; `lengths` are
    tokens of the target side.
    """
    best = np.argsort(scores, kind="stable")[: round(keep * len(scores))]
    if target_words is not None:
        best = best[
            : np.searchsorted(
                np.cumsum(np.asarray(lengths, np.int64)[best]), target_words, side="right"
            )
        ]
    kept = np.zeros(len(scores), bool)
    kept[best] = True
    return Selection(scores, kept & (scores < LEFT_OUT))


def _scores(sides, files, pairs, longest):
    """(scores of all pairs, float64 [pairs]; the tokens of their target sides, int32 [pairs])."""
    scores = array.array("d")
    lengths = array.array("i")
    with progress(doing="scoring pairs", total=pairs, unit="pairs") as shown:
        for lines in read_pairs(*files, PAIRS_AT_ONCE):
            differences, tokens = zip(*(side(texts) for side, texts in zip(sides, lines)))
            fits = (np.min(tokens, axis=0) > 0) & (np.max(tokens, axis=0) <= (longest or np.inf))
            scores.frombytes(np.where(fits, sum(differences), LEFT_OUT).tobytes())
            lengths.frombytes(tokens[1].astype(np.int32).tobytes())
            shown.update(len(fits))
    return np.frombuffer(scores, np.float64), np.frombuffer(lengths, np.int32)


def _pairs(files):
    for lines in read_pairs(*files, PAIRS_AT_ONCE):
        yield from zip(*lines)


def _drawn(pairs, number, generator):
    """As many of the pairs with text on both sides."""
    return sampled(
        (pair for pair in pairs if all(text.strip() for text in pair)), number, generator
    )


def sampled(items, number: int, generator) -> list:
    """So many of any iterable's items, each as likely as the others (Vitter 1985, algorithm R); all
    where there are fewer.

    Example:
        >>> sampled("abc", 5, random.Random(1)), len(sampled(range(100), 5, random.Random(1)))
        (['a', 'b', 'c'], 5)
    """
    drawn = []
    for met, item in enumerate(items, start=1):
        place = len(drawn) if len(drawn) < number else generator.randrange(met)
        if place < number:
            drawn[place : place + 1] = [item]
    return drawn
