"""Run a step function over all positions of a sequence: training scans the step of search."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf

from rnnsearch_tf.layers.base import value_of
from rnnsearch_tf.runtime.backend import Nest, keras


def scan(
    step: Callable[[Nest, Nest], tuple[Nest, Nest]],
    inputs: Nest,
    state: Nest,
    like: Nest,
    weights: Sequence[keras.Variable] = (),
) -> tuple[Nest, Nest]:
    """Run ``step`` from the first position to the last.

    Args:
        step: function (inputs of one position, state) → (outputs, state); nests of tensors
            [B, ...].
        inputs: nest of tensors [B, T, ...], T ≥ 1.
        state: nest of tensors [B, ...] before the first position.
        like: nest of tensors with the structure, shapes and dtypes of the outputs of a step.
        weights: Keras variables of the step; they are read once, before the loop.

    Returns:
        (outputs of all positions, tensors [B, T, ...]; state after the last).

    Example:
        >>> numbers, start = tf.constant([[1, 2, 3]]), tf.constant([0])
        >>> def add(number, total):
        ...     return total + number, total + number
        >>> sums, last = scan(add, numbers, start, like=start)
        >>> sums.numpy().tolist(), last.numpy().tolist()
        ([[1, 3, 6]], [6])
    """
    arrays = tf.nest.map_structure(_by_position, inputs)
    length = tf.nest.flatten(arrays)[0].size()

    def advance(t: tf.Tensor, state: Nest, results: Nest) -> tuple[tf.Tensor, Nest, Nest]:
        outputs, after = step(tf.nest.map_structure(lambda array: array.read(t), arrays), state)
        after = tf.nest.map_structure(
            lambda new, old: tf.ensure_shape(new, old.shape), after, state
        )
        results = tf.nest.map_structure(lambda array, x: array.write(t, x), results, outputs)
        return t + 1, after, results

    results = tf.nest.map_structure(
        lambda x: tf.TensorArray(x.dtype, length, element_shape=x.shape), like
    )
    values = [(weight, value_of(weight)) for weight in weights]
    with keras.StatelessScope(values, initialize_variables=False):
        _, state, results = tf.while_loop(
            lambda t, *_: t < length,
            advance,
            (tf.constant(0), state, results),
            parallel_iterations=1,
            maximum_iterations=length,
        )
    outputs = tf.nest.map_structure(lambda array: _swap_batch_and_time(array.stack()), results)
    return outputs, state


def _by_position(values: tf.Tensor) -> tf.TensorArray:
    time_first = _swap_batch_and_time(values)
    return tf.TensorArray(time_first.dtype, tf.shape(time_first)[0]).unstack(time_first)


def _swap_batch_and_time(values: tf.Tensor) -> tf.Tensor:
    """[B, T, ...] ↔ [T, B, ...]."""
    return tf.transpose(values, [1, 0, *range(2, values.shape.rank)])
