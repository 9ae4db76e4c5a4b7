"""The steps of a search as tensors that grow: for formats without TensorArrays, such as ONNX.

Dimension letters as in beam.py; T steps so far.
"""

from __future__ import annotations

import typing

import tensorflow as tf

from rnnsearch_tf.config import END_ID, PAD_ID


class TensorHistory(typing.NamedTuple):
    """The record of the T steps so far; for the methods see
    :class:`~rnnsearch_tf.search.hypotheses.History`.
    """

    parents: tf.Tensor = None  # int32 [T, B, K]
    words: tf.Tensor = None  # int32 [T, B, K]
    # float32 [T, B, K, J]; for the first word, only the first of K is used
    alignments: tf.Tensor = None

    def write(
        self,
        time: tf.Tensor,
        rows: tf.Tensor,
        parents: tf.Tensor,
        words: tf.Tensor,
        alignment: tf.Tensor,
    ) -> TensorHistory:
        missing = tf.shape(words)[1] - tf.shape(alignment)[1]  # K − k
        alignment = tf.pad(tf.cast(alignment, tf.float32), [[0, 0], [0, missing], [0, 0]])
        step = parents, words, alignment
        if self.words is None:  # the first step has all sentences
            return TensorHistory(*(values[tf.newaxis] for values in step))
        batch_size = tf.shape(self.words)[1:2]

        def append(steps: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
            """Append values [b, ...], and zeros for the sentences that were dropped."""
            shape = tf.concat([batch_size, tf.shape(values)[1:]], axis=0)
            values = tf.scatter_nd(rows[:, tf.newaxis], values, shape)
            steps.set_shape([None] * 2 + values.shape[1:])  # the loop has lost it
            return tf.concat([steps, values[tf.newaxis]], axis=0)

        return TensorHistory(*(append(*pair) for pair in zip(self, step)))

    def read(
        self, steps: tf.Tensor, lengths: tf.Tensor, places: tf.Tensor, ended: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor]:
        """See :meth:`History.read`."""
        all_parents, all_words, all_alignments = self
        for values, rank in zip(self, (3, 3, 4)):
            values.set_shape([None] * rank)  # the loop has lost it

        def back(
            time: tf.Tensor, places: tf.Tensor, words: tf.Tensor, alignments: tf.Tensor
        ) -> tuple[tf.Tensor, ...]:
            time = time - 1
            inside = time < lengths
            ends = ended & (time == lengths - 1)

            def select(values: tf.Tensor) -> tf.Tensor:
                return tf.gather(values[time], places, batch_dims=1)

            word = tf.where(inside, tf.where(ends, END_ID, select(all_words)), PAD_ID)
            places = tf.where(inside & ~ends, select(all_parents), places)
            places.set_shape(lengths.shape)
            alignment = tf.gather(all_alignments[time], tf.where(inside, places, 0), batch_dims=1)
            alignment = tf.where(inside[..., tf.newaxis], alignment, 0.0)
            return (
                time,
                places,
                tf.concat([word[tf.newaxis], words], axis=0),
                tf.concat([alignment[tf.newaxis], alignments], axis=0),
            )

        none = tf.zeros_like(lengths)[tf.newaxis][:0]  # int32 [0, B, N]
        positions = tf.shape(all_alignments)[3]
        start = (steps, places, none, tf.zeros(tf.concat([tf.shape(none), [positions]], axis=0)))
        shape = tf.TensorShape([None]).concatenate(lengths.shape)
        _, _, words, alignments = tf.while_loop(
            lambda time, *_: time > 0,
            back,
            start,
            shape_invariants=(steps.shape, places.shape, shape, shape.concatenate([None])),
            parallel_iterations=1,
        )
        longest = tf.maximum(tf.reduce_max(lengths), 0)
        return tf.transpose(words[:longest], [1, 2, 0]), tf.transpose(
            alignments[:longest], [1, 2, 0, 3]
        )
