"""The functions of text as signatures of a SavedModel; ``export/contract.json`` specifies them.

A request of many rows is computed ROWS_AT_ONCE rows at a time. With the limits on the lengths of
texts, that bounds its memory, beside that of the answer.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import tensorflow as tf

from rnnsearch_tf.export.weights import StoredWeights
from rnnsearch_tf.translation.functions import INPUTS, Outputs, TextFunctions

ROWS_AT_ONCE = 64


def saved_module(functions: TextFunctions, weights: StoredWeights) -> tf.Module:
    """What a SavedModel of the functions tracks: their weights and tables. (Not the functions
    themselves: they hold the Keras model, which must not be saved.)
    """
    module = tf.Module(name="translation")
    module.weights = weights
    module.source_text = functions.source_text
    module.target_text = functions.target_text
    return module


def signatures_of(
    functions: TextFunctions, names: Sequence[str]
) -> dict[str, Callable[..., Outputs]]:
    """{name: concrete function}; ``serving_default`` is ``translate``."""
    signatures = {name: _in_parts(functions, name) for name in names}
    return signatures | {"serving_default": signatures["translate"]}


def _in_parts(functions: TextFunctions, name: str) -> Callable[..., Outputs]:
    """A function of text that computes ROWS_AT_ONCE rows at a time."""
    function = functions.traced(name)
    compute = function.get_concrete_function()

    @tf.function(autograph=False, input_signature=function.input_signature)
    def in_parts(*inputs: tf.Tensor) -> Outputs:
        sizes = {key: tf.size(values) for key, values in zip(INPUTS[name], inputs)}
        rows, *others = sizes.values()
        message = f"{' and '.join(sizes)}: expected as many entries in each"
        checks = [tf.debugging.assert_equal(rows, size, message) for size in others]
        if name == "sample":
            checks.append(tf.debugging.assert_positive(inputs[2], "temperature: expected above 0"))
        with tf.control_dependencies(checks):
            rows = tf.identity(rows)

        def next_part(start: tf.Tensor, answer: Outputs) -> tuple[tf.Tensor, Outputs]:
            end = start + ROWS_AT_ONCE
            part = compute(*(values[start:end] for values in inputs))
            return end, {key: _concatenated(answer[key], part[key]) for key in part}

        shapes = {key: output.shape for key, output in compute.structured_outputs.items()}
        nothing = {
            key: tf.zeros([size or 0 for size in output.shape], output.dtype)
            for key, output in compute.structured_outputs.items()
        }
        _, answer = tf.while_loop(
            lambda start, _: start < rows,
            next_part,
            (tf.constant(0), nothing),
            shape_invariants=(tf.TensorShape([]), shapes),
            parallel_iterations=1,
        )
        return answer

    return in_parts.get_concrete_function()


def _concatenated(first: tf.Tensor, second: tf.Tensor) -> tf.Tensor:
    """[A, ...] and [B, ...] → [A + B, ...]; other axes of unknown size are padded with zeros."""
    for axis in range(1, second.shape.rank):
        if second.shape[axis] is None:
            sizes = [tf.shape(values)[axis] for values in (first, second)]
            first, second = (
                _padded(values, axis, tf.maximum(*sizes) - size)
                for values, size in zip((first, second), sizes)
            )
    return tf.concat([first, second], axis=0)


def _padded(values: tf.Tensor, axis: int, number: tf.Tensor) -> tf.Tensor:
    paddings = [[0, number if k == axis else 0] for k in range(values.shape.rank)]
    return tf.pad(values, paddings)
