"""Score given outputs by teacher forcing: each step reads the given previous word."""

from __future__ import annotations

import typing

import tensorflow as tf

from rnnsearch_tf.runtime.nests import Nest
from rnnsearch_tf.config import PAD_ID
from rnnsearch_tf.search.hypotheses import add_hypotheses, loop_shapes, set_shapes
from rnnsearch_tf.search.interface import Step
from rnnsearch_tf.search.topk import next_words


class TargetScores(typing.NamedTuple):
    """Scores of given outputs. Their sum over I is the log-probability that beam search assigns to
    the same output.
    """

    log_probabilities: tf.Tensor  # float32 [B, I], natural log of each target token; 0 at padding
    alignments: tf.Tensor  # float32 [B, I, J]; 0 at padding


def score_targets(state: Nest, memory: Nest, step: Step, target_ids: tf.Tensor) -> TargetScores:
    """The log-probability and the alignment of every token of given outputs.

    log p(y | x) = Σ_i log p(y_i | y_<i, x): Bahdanau et al. 2015, eq. 2. Unknown words and outputs
    of any length are scored, even if search would not allow them.

    Args:
        state: nest of tensors [B, ...], initial state of the decoder.
        memory: nest of tensors [B, ...].
        step: see :class:`~rnnsearch_tf.search.interface.Step`.
        target_ids: int32 [B, I], I ≥ 1, padded with 0.

    Returns:
        TargetScores.

    Example:
        >>> def step(previous_ids, state, memory):  # three equally likely words
        ...     logits = tf.zeros(tf.concat([tf.shape(previous_ids), [3]], 0))
        ...     return logits, tf.ones_like(logits), state
        >>> scores = score_targets(tf.zeros([1, 1]), (), step, tf.constant([[2, 1, 0]]))
        >>> scores.log_probabilities.numpy().round(3).tolist()
        [[-1.0989999771118164, -1.0989999771118164, 0.0]]
    """
    target_ids = tf.cast(target_ids, tf.int32)
    state = add_hypotheses(state)
    memory = tf.nest.map_structure(tf.convert_to_tensor, memory)
    length = tf.shape(target_ids)[1]
    previous_ids = tf.pad(target_ids[:, :-1], [[0, 0], [1, 0]], constant_values=PAD_ID)
    # [I, B]
    by_position = tf.transpose(target_ids)
    previous_by_position = tf.transpose(previous_ids)
    batch_size = target_ids.shape[0]
    shapes = loop_shapes(state)

    def advance(
        i: tf.Tensor, state: Nest, log_probabilities: tf.TensorArray, alignments: tf.TensorArray
    ) -> tuple[typing.Any, ...]:
        logits, alignment, state = step(previous_by_position[i][:, tf.newaxis], state, memory)
        # [B]
        chosen = (
            tf.gather(logits[:, 0], by_position[i], batch_dims=1) - next_words(logits).log_sum[:, 0]
        )
        chosen = tf.minimum(tf.cast(chosen, tf.float32), 0.0)  # clipped at 0, as in topk.py
        alignment = tf.cast(alignment[:, 0], tf.float32)  # [B, J]
        return (
            i + 1,
            set_shapes(state, shapes),
            log_probabilities.write(i, chosen),
            alignments.write(i, alignment),
        )

    arrays = (
        tf.TensorArray(tf.float32, size=length, element_shape=[batch_size]),
        tf.TensorArray(tf.float32, size=length, element_shape=[batch_size, None]),
    )
    _, _, log_probabilities, alignments = tf.while_loop(
        lambda i, *_: i < length,
        advance,
        (tf.constant(0), state, *arrays),
        shape_invariants=(tf.TensorShape([]), shapes, tf.TensorShape(None), tf.TensorShape(None)),
        parallel_iterations=1,
    )
    real = target_ids != PAD_ID  # [B, I]
    log_probabilities = tf.where(real, tf.transpose(log_probabilities.stack()), 0.0)
    alignments = tf.transpose(alignments.stack(), [1, 0, 2])  # [B, I, J]
    return TargetScores(log_probabilities, tf.where(real[..., tf.newaxis], alignments, 0.0))
