"""Vocabulary shortlists: search computes only the logits of the likely words of a sentence."""

from __future__ import annotations

import collections
from pathlib import Path

import numpy as np
import tensorflow as tf

from rnnsearch_tf.config import PAD_ID, SPECIAL_TOKENS
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.files.reading import read_lines
from rnnsearch_tf.search.topk import NO_HYPOTHESIS
from rnnsearch_tf.text.characters import word_in_form
from rnnsearch_tf.text.vocabulary import Vocabulary


class Shortlist(tf.Module):
    """The most frequent words and the likely translations of the words of a sentence (Jean et al.
    2015, section 3.3).

    Departure: one product computes the words of all sentences of a batch; a bias then excludes
    those that only other sentences may use, so that the translation of a sentence does not depend
    on its batch.

    Args:
        candidates: int32 array [source vocabulary, n], ids of the likely translations of each
            source word; 0 where there are fewer.
        frequent: int, number of most frequent target words that are always allowed, special tokens
            excluded.
        vocabulary_size: int, size of the target vocabulary.
    """

    def __init__(self, candidates: np.ndarray, frequent: int, vocabulary_size: int) -> None:
        super().__init__(name="shortlist")
        self._candidates = tf.constant(candidates, tf.int32)
        self._always = tf.range(vocabulary_size) < len(SPECIAL_TOKENS) + frequent  # [V]
        self._frequent = frequent
        self._size = vocabulary_size

    def as_constants(self) -> Shortlist:
        """The same shortlist with its tables as constants of the graph that is being traced, not as
        values that the graph takes from outside.
        """
        return Shortlist(self._candidates.numpy(), self._frequent, self._size)

    @classmethod
    def load(
        cls,
        path: Path,
        frequent: int,
        translations: int,
        source_vocabulary: Vocabulary,
        target_vocabulary: Vocabulary,
        source_form: str = "NFC",
        target_form: str = "NFC",
    ) -> Shortlist:
        """Read a file of `source-word target-word probability` lines, in any order; words that a
        vocabulary lacks are skipped.

        Args:
            path: UTF-8 text, plain or .gz; a translation of ``</s>`` is allowed in every sentence.
            frequent: see the class.
            translations: int, number of translations kept for each source word.
            source_vocabulary, target_vocabulary: Vocabulary.
            source_form, target_form: Unicode normal form of the text of each side (its option
                `unicode_form`), to which words are converted.

        Raises:
            UserError: the file cannot be read, or a line has the wrong format; names file:line.
        """
        source, target = (
            {token: k for k, token in enumerate(v.tokens)}
            for v in (source_vocabulary, target_vocabulary)
        )
        source.pop(SPECIAL_TOKENS[PAD_ID])  # padding is not a word, and it depends on the batch
        likely: dict[int, dict[int, float]] = collections.defaultdict(dict)
        for number, line in enumerate(read_lines(path), start=1):
            *words, probability = _fields(line, f"{path}:{number}")
            source_word, target_word = map(word_in_form, words, (source_form, target_form))
            if source_word in source and target_word in target:
                found, target_id = likely[source[source_word]], target[target_word]
                found[target_id] = max(probability, found.get(target_id, 0.0))
        candidates = np.full([source_vocabulary.size, translations], PAD_ID, np.int32)
        for word, found in likely.items():
            best = sorted(found, key=lambda each: (-found[each], each))[:translations]
            candidates[word, : len(best)] = best
        return cls(candidates, frequent, target_vocabulary.size)

    def __call__(
        self, source_ids: tf.Tensor, more_ids: tf.Tensor | None = None
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """The target words that a batch may use.

        Args:
            source_ids: int32 [B, J], padded with 0.
            more_ids: int32 [B, n], further words that each sentence may use; ids outside of the
                vocabulary are ignored.

        Returns:
            words: int32 [S], ascending, with the special tokens first.
            biases: float32 [B, S]: 0 if the sentence may use the word, otherwise NO_HYPOTHESIS.
        """
        candidates = tf.gather(self._candidates, source_ids)  # [B, J, n]
        shape = tf.shape(candidates)
        candidates = tf.reshape(candidates, [shape[0], shape[1] * shape[2]])
        if more_ids is not None:
            candidates = tf.concat(
                [candidates, tf.where(more_ids < self._size, more_ids, PAD_ID)], axis=1
            )
        rows = tf.broadcast_to(tf.range(shape[0])[:, tf.newaxis], tf.shape(candidates))
        counts = tf.scatter_nd(
            tf.stack([rows, candidates], axis=2), tf.ones_like(candidates), [shape[0], self._size]
        )
        allowed = (counts > 0) | self._always  # [B, V]
        words = tf.cast(tf.where(tf.reduce_any(allowed, axis=0) | self._always)[:, 0], tf.int32)
        return words, tf.where(tf.gather(allowed, words, axis=1), 0.0, NO_HYPOTHESIS)


def _fields(line: str, where: str) -> tuple[str, str, float]:
    """Parse a line: (source word, target word, probability)."""
    fields = line.split(" ")
    try:
        source, target, probability = *fields[:2], float(fields[2])
        if len(fields) == 3 and source and target and 0 <= probability <= 1:
            return source, target, probability
    except (IndexError, ValueError):
        pass
    raise UserError(
        f"{where}: expected `source-word target-word probability`, got {line[:80]!r}; correct or"
        " remove the line"
    )
