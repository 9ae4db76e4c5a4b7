"""The hypotheses of a search: length limits, state in a loop, and backtracking.

Backtracking, from the words and parents of each step to whole hypotheses, uses core operations:
the stock server has no GatherTree.
"""

from __future__ import annotations

import fractions
import typing

import tensorflow as tf

from rnnsearch_tf.runtime.nests import Nest
from rnnsearch_tf.config import END_ID, PAD_ID, SearchConfig


def minimum_lengths(source_lengths: tf.Tensor, config: SearchConfig) -> tf.Tensor:
    """Number of steps at which the end symbol is forbidden: ⌊minimum_length_ratio · J⌋, as in the
    authors' program (0.5).

    Args:
        source_lengths: int32 [B], including the end symbol.

    Returns:
        int32 [B]; the shortest output has one more token, the end symbol.
    """
    return _floor_of_product(config.minimum_length_ratio, source_lengths)


def maximum_lengths(source_lengths: tf.Tensor, config: SearchConfig) -> tf.Tensor:
    """Number of steps allowed: ⌊maximum_length_ratio · J⌋, at least 1.

    Args:
        source_lengths: int32 [B], including the end symbol.

    Returns:
        int32 [B], including the end symbol.
    """
    return tf.maximum(_floor_of_product(config.maximum_length_ratio, source_lengths), 1)


def _floor_of_product(ratio: float, lengths: tf.Tensor) -> tf.Tensor:
    """Computed with a fraction of four decimals: in binary, 0.29 · 100 is 28.999999999999996."""
    lengths = tf.cast(lengths, tf.int32)
    fraction = fractions.Fraction(ratio).limit_denominator(10_000)
    whole, part = divmod(fraction.numerator, fraction.denominator)
    return lengths * whole + lengths * part // fraction.denominator


def add_hypotheses(state: Nest) -> Nest:
    """Add an axis of hypotheses of size one to the initial state: [B, ...] → [B, 1, ...]."""
    return tf.nest.map_structure(lambda leaf: tf.expand_dims(tf.convert_to_tensor(leaf), 1), state)


def loop_shapes(values: Nest) -> Nest:
    """Shape invariants of a state [B, K, ...] or a memory [B, ...] in a loop in which B varies:
    [None, K, ...] or [None, ...].
    """
    return tf.nest.map_structure(
        lambda leaf: tf.TensorShape([None]).concatenate(leaf.shape[1:]), values
    )


def set_shapes(state: Nest, shapes: Nest) -> Nest:
    """Restore the static shapes of a state, which a step may have lost."""
    tf.nest.map_structure(lambda leaf, shape: leaf.set_shape(shape), state, shapes)
    return state


def empty_history(beam_size: int) -> History | GreedyHistory:
    """An empty History for this beam size; a GreedyHistory for beam size 1."""

    def array(dtype: tf.DType, *sizes: int | None) -> tf.TensorArray:
        return tf.TensorArray(
            dtype,
            size=0,
            dynamic_size=True,
            clear_after_read=False,
            infer_shape=False,
            element_shape=tf.TensorShape([None, *sizes]),  # b varies
        )

    if beam_size == 1:
        return GreedyHistory(
            array(tf.int32), array(tf.int32), array(tf.int32, 1), array(tf.float32, 1, None)
        )
    # k varies too
    return History(
        array(tf.int32),
        array(tf.int32, beam_size),
        array(tf.int32, beam_size),
        array(tf.float32, None, None),
    )


class History(typing.NamedTuple):
    """The record of each step of a search. The place of a hypothesis is its index in the beam."""

    rows: tf.TensorArray  # int32 [b]: rows in the batch of the sentences that were computed
    # int32 [b, K]: back pointers, from each hypothesis after the step to its place before it
    parents: tf.TensorArray
    words: tf.TensorArray  # int32 [b, K]: the words added by the step
    alignments: tf.TensorArray  # float32 [b, k, J]: of the hypotheses before the step

    def write(
        self,
        time: tf.Tensor,
        rows: tf.Tensor,
        parents: tf.Tensor,
        words: tf.Tensor,
        alignment: tf.Tensor,
    ) -> "History":
        values = (rows, parents, words, tf.cast(alignment, tf.float32))
        return History(*(array.write(time, value) for array, value in zip(self, values)))

    def read(
        self, steps: tf.Tensor, lengths: tf.Tensor, places: tf.Tensor, ended: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """Follow the back pointers from the last word of each hypothesis to the first.

        Args:
            steps: int32, number of steps written, at least 1.
            lengths: int32 [B, N], words of each hypothesis, including END_ID.
            places: int32 [B, N]: for an ended hypothesis, its place before its last step; for
                others, the place after it.
            ended: bool [B, N], whether the last word is END_ID.

        Returns:
            ids: int32 [B, N, I], where I is the largest length; PAD_ID after the length.
            alignments: float32 [B, N, I, J]; zero after the length.
        """
        batch_size = tf.shape(lengths)[:1]

        def back(
            time: tf.Tensor, places: tf.Tensor, words: tf.TensorArray, alignments: tf.TensorArray
        ) -> tuple[tf.Tensor, ...]:
            time = time - 1
            inside = time < lengths
            ends = ended & (time == lengths - 1)
            rows = self.rows.read(time)
            # of a dropped sentence: any row
            row = tf.scatter_nd(rows[:, tf.newaxis], tf.range(tf.size(rows)), batch_size)

            def select(values: tf.Tensor, place: tf.Tensor) -> tf.Tensor:
                return tf.gather(tf.gather(values, row), place, batch_dims=1)

            word = tf.where(
                inside, tf.where(ends, END_ID, select(self.words.read(time), places)), PAD_ID
            )
            places = tf.where(inside & ~ends, select(self.parents.read(time), places), places)
            alignment = select(self.alignments.read(time), tf.where(inside, places, 0))  # [B, N, J]
            alignment = tf.where(inside[..., tf.newaxis], alignment, 0.0)
            return time, places, words.write(time, word), alignments.write(time, alignment)

        words = tf.TensorArray(tf.int32, size=steps, element_shape=lengths.shape)
        alignments = tf.TensorArray(
            tf.float32, size=steps, element_shape=lengths.shape.concatenate([None])
        )
        loop = (steps, places, words, alignments)
        _, _, words, alignments = tf.while_loop(
            lambda time, *_: time > 0, back, loop, parallel_iterations=1
        )

        longest = tf.maximum(tf.reduce_max(lengths), 0)
        ids = tf.transpose(words.stack()[:longest], [1, 2, 0])  # [B, N, I]
        return ids, tf.transpose(alignments.stack()[:longest], [1, 2, 0, 3])  # [B, N, I, J]


class GreedyHistory(typing.NamedTuple):
    """The record of a search with beam size 1: it stores the words in order, so that reading them
    needs no loop.
    """

    rows: tf.TensorArray  # int32 [b]: rows in the batch of the sentences that were computed
    times: tf.TensorArray  # int32 [b]: index of the step
    words: tf.TensorArray  # int32 [b, 1]
    alignments: tf.TensorArray  # float32 [b, 1, J]

    def write(
        self,
        time: tf.Tensor,
        rows: tf.Tensor,
        parents: tf.Tensor,
        words: tf.Tensor,
        alignment: tf.Tensor,
    ) -> "GreedyHistory":
        del parents  # the beam has only one place
        values = (rows, tf.zeros_like(rows) + time, words, tf.cast(alignment, tf.float32))
        return GreedyHistory(*(array.write(time, value) for array, value in zip(self, values)))

    def read(
        self, steps: tf.Tensor, lengths: tf.Tensor, places: tf.Tensor, ended: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """See :meth:`History.read`."""
        del places
        where = tf.stack([self.rows.concat(), self.times.concat()], axis=1)
        words = self.words.concat()[:, 0]
        alignments = self.alignments.concat()[:, 0]
        shape = [tf.shape(lengths)[0], steps]
        longest = tf.maximum(tf.reduce_max(lengths), 0)
        words = tf.scatter_nd(where, words, shape)[:, :longest]  # [B, I]
        # 0: nothing was written
        order = tf.scatter_nd(where, tf.range(1, tf.size(where) // 2 + 1), shape)[:, :longest]
        alignments = tf.gather(tf.pad(alignments, [[1, 0], [0, 0]]), order)  # [B, I, J], J may be 0
        inside = tf.range(longest) < lengths
        words = tf.where(ended & (tf.range(longest) == lengths - 1), END_ID, words)
        words = tf.where(inside, words, PAD_ID)
        alignments = tf.where(inside[..., tf.newaxis], alignments, 0.0)
        return words[:, tf.newaxis], alignments[:, tf.newaxis]
