"""Run a step function over all positions of a sequence, with TensorFlow's gradient.

Used where ``kernels/`` has no handwritten gradient: training then scans the same function that
search calls one position at a time.
"""

from __future__ import annotations

from collections.abc import Callable

import tensorflow as tf

from rnnsearch_tf.runtime.nests import Nest


def scan(
    step: Callable[[Nest, Nest], Nest], inputs: Nest, state: Nest, mask: tf.Tensor | None = None
) -> Nest:
    """Run ``step`` from the first position to the last.

    Args:
        step: function (inputs of one position, state) → state; nests of tensors [B, ...].
            Further outputs of a step are part of its state.
        inputs: nest of tensors [B, T, ...], T ≥ 1.
        state: nest of tensors [B, ...].
        mask: bool [B, T] or None. Where it is False, the state does not change.

    Returns:
        The states after every position: a nest like ``state`` of tensors [B, T, ...].

    Example:
        >>> mask = tf.constant([[True, False, True]])
        >>> numbers, start = tf.constant([[1, 2, 3]]), tf.constant([0])
        >>> sums = scan(lambda x, total: total + x, numbers, start, mask)
        >>> sums.numpy().tolist()
        [[1, 1, 4]]
    """
    arrays = tf.nest.map_structure(_unstack, inputs if mask is None else (inputs, mask))
    length = tf.nest.flatten(arrays)[0].size()

    def advance(t: tf.Tensor, state: Nest, results: Nest) -> tuple[tf.Tensor, Nest, Nest]:
        now = tf.nest.map_structure(lambda array: array.read(t), arrays)
        if mask is None:
            after = step(now, state)
        else:
            now, real = now
            after = tf.nest.map_structure(
                lambda new, old: tf.where(_expand_mask(real, new), new, old),
                step(now, state),
                state,
            )
        after = tf.nest.map_structure(
            lambda new, old: tf.ensure_shape(new, old.shape), after, state
        )
        return (
            t + 1,
            after,
            tf.nest.map_structure(lambda array, value: array.write(t, value), results, after),
        )

    results = tf.nest.map_structure(lambda value: tf.TensorArray(value.dtype, length), state)
    *_, results = tf.while_loop(
        lambda t, *_: t < length,
        advance,
        (tf.constant(0), state, results),
        parallel_iterations=1,
        maximum_iterations=length,  # XLA cannot compile the gradient without it
    )
    return tf.nest.map_structure(lambda array: _swap_batch_and_time(array.stack()), results)


def _unstack(values: tf.Tensor) -> tf.TensorArray:
    # in eager mode a mask may be a NumPy array
    time_first = _swap_batch_and_time(tf.convert_to_tensor(values))
    return tf.TensorArray(time_first.dtype, tf.shape(time_first)[0]).unstack(time_first)


def _swap_batch_and_time(values: tf.Tensor) -> tf.Tensor:
    """[B, T, ...] ↔ [T, B, ...]."""
    return tf.transpose(values, [1, 0, *range(2, values.shape.rank)])


def _expand_mask(mask: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Append axes of size one to a mask [B], to broadcast it against values [B, ...]."""
    return tf.reshape(mask, [-1] + [1] * (values.shape.rank - 1))
