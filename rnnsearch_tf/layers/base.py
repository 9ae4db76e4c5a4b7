"""Base class of the layers, and their matrix product.

Only matrix products run in reduced precision: under ``mixed_bfloat16`` their operands are cast to
bfloat16, while sums, gates and softmaxes stay in float32. (Element-wise operations in bfloat16 are
slow on a CPU and lose precision for no gain.)
"""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Sequence
from typing import Any, TypeAlias

import tensorflow as tf

from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers.initializers import KINDS, initializer
from rnnsearch_tf.runtime.backend import keras

Shape: TypeAlias = tuple[Any, ...]
"""Static shape of a tensor: an int for each axis, None for a size that varies."""

State: TypeAlias = dict[str, tf.Tensor]
"""State of a recurrent layer by name, float [B, ...]."""

Weights: TypeAlias = keras.Variable | Sequence[keras.Variable]
"""A weight, or several that are used side by side: [W | W_z | W_r]."""


class PaperLayer(keras.layers.Layer):
    """A Keras layer whose weights have the names of the paper's letters.

    Keras casts floating-point arguments to the compute dtype, and under a mixed policy weights too.
    Here only the operands of matrix products are cast to it: arguments are cast to the dtype of the
    weights, and weights keep theirs.

    Args:
        biases: ``groundhog`` (those of the authors' program) or ``none``.
        initialization: one of KINDS, see ``initializers.py``.
        keywords: arguments of ``keras.layers.Layer``: ``name``, ``dtype``, ``trainable``.

    Raises:
        UsageError: an option has an invalid value.
    """

    input_dtype = keras.layers.Layer.variable_dtype

    def __init__(
        self, biases: str = "groundhog", initialization: str = "paper", **keywords: Any
    ) -> None:
        super().__init__(**keywords)
        self.biases = self.one_of("biases", biases, ("groundhog", "none"))
        self.initialization = self.one_of("initialization", initialization, KINDS)

    def get_config(self) -> dict[str, Any]:
        return self.shared_options() | super().get_config()

    def shared_options(self) -> dict[str, Any]:
        """Options passed on to sublayers."""
        return dict(biases=self.biases, initialization=self.initialization, dtype=self.dtype_policy)

    def one_of(self, name: str, value: Any, choices: Sequence[Any]) -> Any:
        """The value of an option that has choices."""
        if value not in choices:
            raise UsageError(
                f"{type(self).__name__}: {name}: expected one of"
                f" {', '.join(map(str, choices))}, got {value!r}; choose one of them"
            )
        return value

    def size(self, name: str, value: Any) -> int:
        """The value of an option that is a size."""
        if isinstance(value, bool) or not isinstance(value, numbers.Integral) or value < 1:
            raise UsageError(
                f"{type(self).__name__}: {name}: expected a whole number of at least 1, got"
                f" {value!r}; give a size"
            )
        return int(value)

    def matrix(
        self,
        letter: str,
        rows: int | Sequence[int],
        columns: int,
        role: str = "other",
        terms: int = 1,
    ) -> keras.Variable:
        """Add a weight [rows, columns]; for role and terms see ``initializers.py``.

        Args:
            rows: input size; several sizes if the input is several vectors side by side, each of
                which has its own matrix in this one.
        """
        rows = (rows,) if isinstance(rows, int) else tuple(rows)
        draw = initializer(self.initialization, role, rows, columns, terms)
        return self._weight(letter, (sum(rows), columns), draw)

    def vector(self, letter: str, size: int, role: str = "bias") -> keras.Variable:
        """Add a weight [size]."""
        return self._weight(letter, (size,), initializer(self.initialization, role, (size,)))

    def bias(self, letter: str, size: int) -> keras.Variable | None:
        """Add a bias [size], unless the layer has none."""
        return None if self.biases == "none" else self.vector(letter, size)

    def _weight(self, letter: str, shape: Shape, draw: Any) -> keras.Variable:
        return self.add_weight(name=letter, shape=shape, initializer=draw, autocast=False)

    @property
    def product_dtype(self) -> str | None:
        """Operand dtype of matrix products under a mixed policy; otherwise None."""
        return None if self.compute_dtype == self.variable_dtype else self.compute_dtype

    def matmul(
        self, x: tf.Tensor, W: Weights, b: Weights | None = None, transpose: bool = False
    ) -> tf.Tensor:
        """x @ W + b, or x @ Wᵀ + b: float [..., a] → [..., c], in the dtype of ``x``.

        Args:
            x: float [..., a].
            W: weights [a, c] together, or [c, a] with ``transpose``.
            b: weights [c] together, or fewer: those of the first columns. None: no bias.
        """
        right = side_by_side(W, self.product_dtype)
        if transpose and getattr(right, "graph", None) is not tf.compat.v1.get_default_graph():
            # before a loop: with few rows, a transposed matrix takes up to 6 times as long
            with where_read(right):
                right, transpose = tf.transpose(right), False
        columns = right.shape[0 if transpose else 1]
        left = x if self.product_dtype is None else tf.cast(x, self.product_dtype)
        rows = tf.reshape(left, [-1, left.shape[-1]]) if x.shape.rank > 2 else left
        result = tf.cast(tf.matmul(rows, right, transpose_b=transpose), x.dtype)
        if b is not None:
            result = tf.nn.bias_add(result, side_by_side(b, columns=columns))
        return with_leading_axes(result, x, columns) if x.shape.rank > 2 else result

    def batched_matmul(self, left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
        """One product for each sentence: float [B, a, b], [B, b, c] → [B, a, c]."""
        dtype = self.product_dtype or left.dtype
        return tf.cast(tf.matmul(tf.cast(left, dtype), tf.cast(right, dtype)), left.dtype)


def side_by_side(
    weights: Weights, dtype: str | None = None, columns: int | None = None
) -> tf.Tensor:
    """[W | W_z | …], in another dtype if one is given; vectors with zeros after them, to so many
    columns.
    """
    several = weights if isinstance(weights, (list, tuple)) else [weights]
    values = [value_of(weight) for weight in several]
    with where_read(values[0]):
        joined = tf.concat(values, axis=-1) if len(values) > 1 else values[0]
        if columns and joined.shape[0] < columns:
            joined = tf.pad(joined, [[0, columns - joined.shape[0]]])
        return joined if dtype is None else tf.cast(joined, dtype)


def where_read(value: tf.Tensor) -> contextlib.AbstractContextManager[Any]:
    """Compute where a weight was read: in a graph around the loop that this call is in, so that not
    every step computes it again, or outside of all graphs, if the weights are constants.
    """
    if tf.is_symbolic_tensor(value):
        return value.graph.as_default()
    return contextlib.nullcontext() if tf.executing_eagerly() else tf.init_scope()


def value_of(weight: keras.Variable | tf.Tensor) -> tf.Tensor:
    """What a weight has now, or the value that a ``keras.StatelessScope`` gives it, as it is:
    ``tf.convert_to_tensor`` would make a constant an input of the graph.
    """
    value = getattr(weight, "value", weight)
    return value if isinstance(value, tf.Tensor) else tf.convert_to_tensor(value)


def with_leading_axes(values: tf.Tensor, like: tf.Tensor, *last: int) -> tf.Tensor:
    """Reshape values to [..., *last], with the leading axes of `like` (all but its last)."""
    shape = [*like.shape[:-1], *last]
    if shape.count(None) <= 1:  # no operation is needed to find the shape
        return tf.reshape(values, [-1 if size is None else size for size in shape])
    result = tf.reshape(values, tf.concat([tf.shape(like)[:-1], last], axis=0))
    result.set_shape(shape)
    return result


def letters_of(layer: keras.layers.Layer, prefix: str = "") -> dict[str, keras.Variable]:
    """{prefix + letter: weight} of a layer and its sublayers."""
    return {prefix + weight.name: weight for weight in layer.weights}
