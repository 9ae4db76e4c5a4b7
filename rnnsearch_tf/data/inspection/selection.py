"""Corpus selection by cross-entropy difference on both sides (Moore and Lewis 2010; Axelrod, He and
Gao 2011).

    score(s, t) = H_in(s) − H_out(s) + H_in(t) − H_out(t)

H_in and H_out are the cross-entropies of a sentence under two n-gram models, in nats per token,
including the end symbol. One model is trained on in-domain text, the other on as many pairs drawn
from the corpus. The lower the score, the more a pair resembles the domain. As in Moore and Lewis,
the vocabulary of both models has the words that occur at least twice in the in-domain text; all
other words are one unknown word.
"""

from __future__ import annotations

import array
import dataclasses
import math
import os
import random
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

import numpy as np

from rnnsearch_tf.config import TextConfig
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import count_lines, read_pairs, read_raw
from rnnsearch_tf.files.writing import whole_files
from rnnsearch_tf.runtime.progress import announced, progress
from rnnsearch_tf.text.ngrams import NgramModel
from rnnsearch_tf.text.pipeline import text_of_counts, token_counts
from rnnsearch_tf.text.vocabulary import batches
from rnnsearch_tf.files.untrusted import MOST_TOKENS

PAIRS_AT_ONCE = 4096
ROUND_PAIRS = 20_000
"""Maximum number of selected pairs that the next round adds to the in-domain text."""

LEFT_OUT = np.inf
"""The score of a pair that is never kept."""

Files = Sequence[str | os.PathLike[str]]
"""(source file, target file)."""

TextPair = tuple[str, str]
"""(source sentence, target sentence)."""

Item = TypeVar("Item")


@dataclasses.dataclass(frozen=True)
class Selection:
    """The selected pairs.

    Attributes:
        scores: float64 [pairs]; LEFT_OUT if a side is empty or too long.
        kept: bool [pairs], true for the lowest scores.
    """

    scores: np.ndarray
    kept: np.ndarray

    @property
    def left_out(self) -> int:
        """Number of pairs that cannot be kept."""
        return int(np.isinf(self.scores).sum())

    @property
    def cut_off(self) -> float:
        """The highest score that is kept; NaN if none is."""
        return float(self.scores[self.kept].max()) if self.kept.any() else math.nan


class SideScorer:
    """H_in − H_out of the sentences of one side.

    Args:
        in_domain: in-domain sentences.
        drawn: sentences drawn from the corpus.
        config: options that define the tokens.
        where: name of the in-domain text in errors.
        order: words of the longest n-grams.

    Raises:
        UserError: no word of the in-domain text occurs twice.
    """

    def __init__(
        self,
        in_domain: Sequence[str],
        drawn: Sequence[str],
        config: TextConfig,
        where: str | os.PathLike[str],
        order: int,
    ):
        config = dataclasses.replace(config, vocabulary_size=MOST_TOKENS)
        counts = token_counts(config)
        if counts is not None:
            for lines in batches(in_domain):
                counts.add(lines)
        self._text = text_of_counts(config, counts, str(where))
        size = self._text.vocabulary.size
        # PAD_ID never occurs
        self._models = [
            NgramModel(*self._ids(lines), size, size - 1, order) for lines in (in_domain, drawn)
        ]

    def __call__(self, lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """Score sentences.

        Returns:
            (H_in − H_out float64 [B], number of tokens without the end symbol int64 [B]).
        """
        ids, lengths = self._ids(lines)
        log_out, log_in = (
            model.log_probabilities(ids, lengths) for model in reversed(self._models)
        )
        difference = log_out - log_in
        return np.add.reduceat(difference, np.cumsum(lengths) - lengths) / lengths, lengths - 1

    def _ids(self, lines: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
        """(ids of all lines, including end symbols; number of ids of each line)."""
        encoded = [self._text.encode(batch) for batch in batches(lines)]
        ids, lengths = zip(*((rows.values, rows.row_lengths()) for rows in encoded))
        return np.concatenate(ids), np.concatenate(lengths)


def select(
    in_domain: Files,
    files: Files,
    keep: float,
    configs: Sequence[TextConfig],
    order: int = 2,
    longest: int | None = None,
    seed: int = 1,
    rounds: int = 1,
    target_words: int | None = None,
) -> Selection:
    """Select the pairs of a corpus that resemble a domain most.

    The files are read several times, in chunks. Memory holds the in-domain text, as many pairs of
    the corpus, and about twenty bytes for each pair of the corpus.

    Args:
        in_domain: files of the in-domain text; a thousand pairs are enough.
        files: files of the corpus to select from.
        keep: share of the pairs to keep, above 0 and at most 1; the first of equal scores are kept.
            Fewer are kept if too many pairs are left out.
        configs: (options of the source side, options of the target side).
        order: words of the longest n-grams. The papers use 4; with a thousand in-domain pairs, 2
            selects better (benchmarks/RESULTS.md).
        longest: pairs with more tokens on a side are left out; None: any length.
        seed: seed of the random draws.
        rounds: 1 is the papers' method. Each further round adds to the in-domain text pairs of the
            better half of the selection, at most ROUND_PAIRS. This helps if the corpus has as much
            in-domain text as is kept, and may harm otherwise.
        target_words: maximum number of target tokens in the selection; None: no limit.

    Returns:
        The selection.

    Raises:
        UserError: files with different numbers of lines or none, a file that cannot be read twice,
            or in-domain text in which no word occurs twice.
    """
    lines = count_lines(files)  # of both
    both = " and ".join(map(str, files))
    if lines is None:
        raise UserError(
            f"{both}: expected files, which are read several times, got a"
            " pipe; write it to a file first"
        )
    domain: list[TextPair] = list(_pairs(in_domain))
    generator = random.Random(seed)
    pairs = lines // 2
    if not domain or not pairs:
        raise UserError(
            f"{(files if domain else in_domain)[0]}: expected sentences, got an empty file; check"
            " the path"
        )

    def select_once(domain: list[TextPair]) -> Selection:
        drawn = _drawn(
            progress(_pairs(files), doing="drawing pairs", total=pairs, unit="pairs"),
            len(domain),
            generator,
        )
        if not drawn:
            raise UserError(
                f"{both}: expected pairs with text on both sides, got none; check the paths"
            )
        with announced("learning the n-gram models"):
            scorers = [
                SideScorer(in_domain_text, corpus_text, config, file, order)
                for in_domain_text, corpus_text, config, file in zip(
                    zip(*domain), zip(*drawn), configs, in_domain
                )
            ]
        scores, lengths = _scores(scorers, files, pairs, longest)
        return _selection(scores, lengths, keep, target_words)

    selection = select_once(domain)
    for _ in range(rounds - 1):
        if not selection.kept.any():
            break
        better = selection.scores <= np.median(selection.scores[selection.kept])
        best = (pair for pair, chosen in zip(_pairs(files), better & selection.kept) if chosen)
        selection = select_once(domain + _drawn(best, ROUND_PAIRS, generator))
    return selection


def kept_pairs(files: Files, kept: np.ndarray) -> Iterator[tuple[bytes, ...]]:
    """Yield (source, target), bytes, of each pair that is kept, with tabs replaced by spaces and
    without the carriage return of Windows. Arguments as for :func:`write_kept`.
    """
    for *sides, keep in zip(*map(read_raw, files), kept):
        if keep:
            yield tuple(side.removesuffix(b"\r").replace(b"\t", b" ") for side in sides)


def write_kept(files: Files, kept: np.ndarray, outputs: Files) -> None:
    """Write the kept lines unchanged; both output files appear when both are complete.

    Args:
        files: files of the corpus.
        kept: bool [pairs], see :class:`Selection`.
        outputs: files to write, compressed if a name ends in .gz.
    """
    with whole_files(outputs) as streams:
        for file, stream in zip(files, streams):
            stream.writelines(line + b"\n" for line, keep in zip(read_raw(file), kept) if keep)


def _selection(
    scores: np.ndarray, lengths: np.ndarray, keep: float, target_words: int | None
) -> Selection:
    """Select the lowest scores, within the share and the number of target tokens; `lengths` are the
    target tokens of each pair.
    """
    best = np.argsort(scores, kind="stable")[: round(keep * len(scores))]
    if target_words is not None:
        words = np.cumsum(np.asarray(lengths, np.int64)[best])
        best = best[: np.searchsorted(words, target_words, side="right")]
    kept = np.zeros(len(scores), bool)
    kept[best] = True
    return Selection(scores, kept & (scores < LEFT_OUT))


def _scores(
    scorers: Sequence[SideScorer], files: Files, pairs: int, longest: int | None
) -> tuple[np.ndarray, np.ndarray]:
    """(scores of all pairs, float64 [pairs]; their numbers of target tokens, int32 [pairs])."""
    scores = array.array("d")
    lengths = array.array("i")
    with progress(doing="scoring pairs", total=pairs, unit="pairs") as shown:
        for lines in read_pairs(files[0], files[1], PAIRS_AT_ONCE):
            differences, tokens = zip(*(scorer(texts) for scorer, texts in zip(scorers, lines)))
            fits = (np.min(tokens, axis=0) > 0) & (np.max(tokens, axis=0) <= (longest or np.inf))
            scores.frombytes(np.where(fits, sum(differences), LEFT_OUT).tobytes())
            lengths.frombytes(tokens[1].astype(np.int32).tobytes())
            shown.update(len(fits))
    return np.frombuffer(scores, np.float64), np.frombuffer(lengths, np.int32)


def _pairs(files: Files) -> Iterator[TextPair]:
    for lines in read_pairs(files[0], files[1], PAIRS_AT_ONCE):
        yield from zip(*lines)


def _drawn(pairs: Iterable[TextPair], number: int, generator: random.Random) -> list[TextPair]:
    """A random sample of the pairs with text on both sides."""
    with_text = (pair for pair in pairs if all(text.strip() for text in pair))
    return sampled(with_text, number, generator)


def sampled(items: Iterable[Item], number: int, generator: random.Random) -> list[Item]:
    """A uniform random sample of an iterable (reservoir sampling: Vitter 1985, algorithm R).

    Args:
        items: the items to draw from.
        number: size of the sample; if there are fewer items, all are returned.
        generator: the only source of randomness.

    Example:
        >>> sampled("abc", 5, random.Random(1)), len(sampled(range(100), 5, random.Random(1)))
        (['a', 'b', 'c'], 5)
    """
    drawn: list[Item] = []
    for count, item in enumerate(items, start=1):
        place = len(drawn) if len(drawn) < number else generator.randrange(count)
        if place < number:
            drawn[place : place + 1] = [item]
    return drawn
