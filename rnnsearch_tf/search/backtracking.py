"""From the records of each step to whole hypotheses, in core operations (the stock server has no GatherTree)."""

from __future__ import annotations

import typing

import tensorflow as tf

from rnnsearch_tf.config import END_ID, PAD_ID


class History(typing.NamedTuple):
    """What a search writes at each step; the place of a hypothesis is its index in the beam."""

    parents: tf.TensorArray  # int32 [B, K]: the place before the step of each hypothesis after it
    words: tf.TensorArray  # int32 [B, K]: the word that the step added to it
    alignments: tf.TensorArray  # float32 [B, K, J]: of the hypotheses before the step

    @classmethod
    def empty(cls, beam_size) -> "History":
        def array(dtype, *sizes):
            shape = tf.TensorShape([None, beam_size, *sizes])
            return tf.TensorArray(dtype, size=0, dynamic_size=True, clear_after_read=False, element_shape=shape)

        return cls(array(tf.int32), array(tf.int32), array(tf.float32, None))

    def write(self, time, parents, words, alignment) -> "History":
        return History(
            self.parents.write(time, parents),
            self.words.write(time, words),
            self.alignments.write(time, tf.cast(alignment, tf.float32)),
        )


def backtrack(history: History, steps, lengths, places, ended):
    """Read hypotheses from their ends to their beginnings.

    Args:
        history: the records.
        steps: int32, steps recorded, at least 1.
        lengths: int32 [B, N], words of each hypothesis, END_ID counted.
        places: int32 [B, N]. Ended: its place before its last step; otherwise after it.
        ended: bool [B, N]; the last word of an ended hypothesis is END_ID.

    Returns:
        ids: int32 [B, N, I], I the largest length; PAD_ID after the length.
        alignments: float32 [B, N, I, J]; zero after the length.
    """

    def back(time, places, words, before):
        time = time - 1
        inside = time < lengths
        ends = ended & (time == lengths - 1)
        word = tf.gather(history.words.read(time), places, batch_dims=1)
        parent = tf.gather(history.parents.read(time), places, batch_dims=1)
        word = tf.where(inside, tf.where(ends, END_ID, word), PAD_ID)
        places = tf.where(inside & ~ends, parent, places)
        return time, places, words.write(time, word), before.write(time, places)

    arrays = [tf.TensorArray(tf.int32, size=steps, element_shape=lengths.shape) for _ in range(2)]
    loop = (steps, places, *arrays)
    _, _, words, before = tf.while_loop(lambda time, *_: time > 0, back, loop, parallel_iterations=1)

    longest = tf.maximum(tf.reduce_max(lengths), 0)
    ids = tf.transpose(words.stack()[:longest], [1, 2, 0])  # [B, N, I]
    before = before.stack()[:longest]  # [I, B, N]
    alignments = history.alignments.stack()[:longest]  # [I, B, K, J]
    alignments = tf.transpose(tf.gather(alignments, before, batch_dims=2), [1, 2, 0, 3])  # [B, N, I, J]
    inside = tf.range(longest) < lengths[:, :, tf.newaxis]  # [B, N, I]
    return ids, tf.where(inside[..., tf.newaxis], alignments, 0.0)
