"""What all layers here share: options named once, weights by the paper's letters, products.

Reduced precision happens in products alone: under ``mixed_bfloat16`` their operands are cast to
bfloat16; sums, gates and softmaxes stay in float32. (bfloat16 element by element is slow on a CPU,
and loses digits where nothing is gained.)
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import inspect
import random
import typing
import zlib
from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf
from typing_extensions import Self, dataclass_transform  # in typing since Python 3.11

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import ModelConfig, check_field
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.config.option import option
from rnnsearch_tf.layers.initializers import Initializer, initializer
from rnnsearch_tf.runtime.nests import Nest

Shape: TypeAlias = tuple[Any, ...]
"""Static shape of a tensor: an int for each axis, None for a size that varies."""

State: TypeAlias = dict[str, tf.Tensor]
"""State of a recurrent layer by name, float [B, ...]."""

KERAS_KEYWORDS = ("name", "dtype", "trainable", "activity_regularizer")
"""Arguments of ``keras.layers.Layer`` that every layer here takes besides its options."""

ALTERNATIVES = {
    "initializer": (
        "the option initialization says how the weights begin; set_weights replaces them"
    ),
    "regularizer": "set the attribute regularizer of a weight once the layer is built",
    "constraint": "set the attribute constraint of a weight once the layer is built",
    "sequences": "the layer gives the states of all positions",
    "state": "the layer gives the states of all positions; take the last one of them",
    "backwards": (
        "an Encoder reads both ways with bidirectional=True, without keras.layers.Bidirectional"
    ),
}
"""What to do in place of keywords of Keras's recurrent layers, by their last word."""

AT_LEAST_ONE = ("I", "J")
"""Axes of positions, which may not be empty."""


@dataclass_transform()
class PaperLayer(keras.layers.Layer):
    """A Keras layer that names its options once, and its weights by the paper's letters.

    A subclass lists its options with their defaults, as a dataclass does::

        class RectifiedLayers(PaperLayer):
            first_size: int
            second_size: int

    They are the arguments of its constructor, with those below as keywords. The layer has them as
    attributes, and ``get_config`` returns them. What is to be made of them before ``build``, a
    layer makes in ``__post_init__``.

    An option is checked as the model's option of that name is (``options.py``), any other by its
    type: a size is at least 1. Where a class has other limits, ``limits`` names them, as keywords
    of ``option``.

    Keras casts floating-point arguments to the compute dtype, and weights too under a mixed policy.
    Here only the operands of products are computed in it: arguments are cast to the dtype of the
    weights, and weights stay as they are.

    Args:
        biases: ``groundhog`` (as the authors' program has them), ``none`` or ``all``.
        initialization: see ``initializers.py``.
        seed: int; the same seed draws the same weights. None: another one for every layer, which
            ``keras.utils.set_random_seed`` determines.
        keywords: of ``keras.layers.Layer``: ``name``, ``dtype``, ``trainable``,
            ``activity_regularizer``.

    Attributes:
        output_size: int, width of the result; known once the layer is built.
        shapes: the axes of the arguments of ``call``, such as {"embeddings": "B J m"}. A letter is
            the same size wherever it stands, I and J are at least 1, the last axis is as wide as
            the layer was built for, and an axis named like an option has its value; "…" stands for
            any axes. Empty: nothing is checked.

    Raises:
        UsageError: an option has a wrong value; in a call, an argument has other axes.
    """

    _: dataclasses.KW_ONLY
    biases: str = "groundhog"
    initialization: str = "paper"
    seed: int | None = None

    limits = dict[str, dict[str, Any]](
        initialization={"choices": ("paper", "variance_preserving", "uniform", "small uniform")},
        seed={"minimum": 0},
        dropout={"minimum": 0.0, "maximum": 0.95},
    )
    shapes = dict[str, str]()
    # what Keras casts floating-point arguments of a call to
    input_dtype = keras.layers.Layer.variable_dtype

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.__signature__ = _signature(cls)

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self._refuse_others(keywords)
        bound = self.__signature__.bind(*arguments, **keywords)
        bound.apply_defaults()
        super().__init__(**bound.arguments.pop("keywords"))
        hints = typing.get_type_hints(type(self))
        for name, value in bound.arguments.items():
            setattr(self, name, self._checked(name, value, hints[name]))
        self.output_size: int | None = None
        # keras.utils.set_random_seed seeds Python's generator too
        self.weight_seed = random.randrange(2**31) if self.seed is None else self.seed
        self.__post_init__()

    def __post_init__(self) -> None:
        """What a subclass makes of its options."""

    @classmethod
    def _refuse_others(cls, keywords: Iterable[str]) -> None:
        """Raise UsageError for keywords that are no options."""
        options = list(cls.__signature__.parameters)[:-1]
        for name in keywords:
            if name not in (*options, *KERAS_KEYWORDS):
                close = difflib.get_close_matches(name, options, n=1)
                instead = (
                    f"did you mean {close[0]}?"
                    if close
                    else f"its options are {', '.join(options)}"
                )
                instead = ALTERNATIVES.get(name.rpartition("_")[2], instead)
                raise UsageError(
                    f"{cls.__name__}: expected options of this layer, got {name}; {instead}"
                )

    def _checked(self, name: str, value: Any, hint: Any) -> Any:
        """An option's value, of its type and within its limits."""
        field = next(
            (field for field in dataclasses.fields(ModelConfig) if field.name == name), None
        )
        if name in self.limits or field is None:
            whole = int in (hint, *typing.get_args(hint))
            field = option(None, "", **self.limits.get(name, {"minimum": 1} if whole else {}))
        value = value.item() if isinstance(value, np.generic) else value
        return check_field(value, hint, field, f"{type(self).__name__}: {name}")

    def get_config(self) -> dict[str, Any]:
        options = {name: getattr(self, name) for name in list(self.__signature__.parameters)[:-1]}
        return super().get_config() | options

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        cls._refuse_others(config)  # Keras would hide the words in an error of its own
        return super().from_config(config)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if self.shapes:
            given = dict(zip(self.call_signature_parameters, arguments)) | keywords
            self._check_arguments(given)
        return super().__call__(*arguments, **keywords)

    def _check_arguments(self, given: dict[str, Any]) -> None:
        """Raise UsageError where an argument of a call has other axes than ``shapes`` says."""
        first = next(iter(given.values()), None)
        if isinstance(first, (list, tuple)):  # query and value as a list
            given = given | dict(zip(self.shapes, first))
        sizes = {
            axis: getattr(self, axis)
            for axes in self.shapes.values()
            for axis in axes.split()
            if axis in self.__signature__.parameters
        }
        sizes |= self._built_sizes()
        for name, letters in self.shapes.items():
            value = given.get(name)
            axes = letters.split()
            if hasattr(value, "shape"):
                fault = _argument_error(value, axes, sizes, floating="mask" not in name)
                if fault:
                    raise UsageError(f"{type(self).__name__}: {name}: {fault}")

    def _built_sizes(self) -> dict[str, int | None]:
        """The widths of the arguments that the layer was built for, by the letter of their axis."""
        built = self.get_build_config() or {}
        shapes = list(built.get("shapes_dict", built).values())
        if shapes and isinstance(shapes[0][0], (list, tuple)):  # query and value as a list
            shapes = shapes[0]
        return {axes.split()[-1]: shape[-1] for axes, shape in zip(self.shapes.values(), shapes)}

    def quantize(self, mode: str | None = None, **keywords: Any) -> None:
        raise NotImplementedError(
            f"{type(self).__name__}: expected a layer of Keras's own, got quantize({mode!r}) of one"
            " that computes in floating point; rnnsearch export --set weights=int8 stores a"
            " model's weights in eight bits"
        )

    def enable_lora(self, *arguments: Any, **keywords: Any) -> None:
        """Raises UsageError: there is no LoRA of these layers."""
        raise UsageError(
            f"{type(self).__name__}: expected a layer of Keras's own, got enable_lora of one that"
            " has no low-rank updates; train it as it is, and freeze other layers with"
            " layer.trainable = False"
        )

    def shared_options(self) -> dict[str, Any]:
        """What a layer inside this one has as this one has it."""
        return dict(biases=self.biases, initialization=self.initialization, dtype=self.dtype_policy)

    @property
    def output_shape(self) -> Shape:
        """What ``summary`` shows: any number of sentences and positions, then the width."""
        return (None, None, self.output_size)

    def compute_output_spec(self, *arguments: Any, **keywords: Any) -> Nest:
        """By tracing ``call``: of a layer with ``compute_output_shape`` Keras would take the
        compute dtype for the result's.
        """
        return keras.Operation.compute_output_spec(self, *arguments, **keywords)

    @property
    def biased(self) -> bool:
        """Whether the layer has biases at all."""
        return self.biases != "none"

    @property
    def product_dtype(self) -> str | None:
        """Operand dtype of products under a mixed policy, else None."""
        return None if self.compute_dtype == self.variable_dtype else self.compute_dtype

    def matmul(
        self, x: tf.Tensor, W: tf.Variable, b: tf.Variable | None = None, transpose: bool = False
    ) -> tf.Tensor:
        """x @ W + b, or x @ Wᵀ + b, of weights of this layer: float [..., a] → [..., b]; operands
        in the policy's compute dtype.

        Args:
            x: float [..., a].
            W: weight [a, b], or [b, a] with ``transpose``.
            b: weight [b], or None. One that is shorter belongs to the first columns alone.
            transpose: multiply by the transpose of W.
        """
        bias = None if b is None else pad_bias(as_tensor(b), W.shape[0 if transpose else 1])
        return matmul(x, as_tensor(W), self.product_dtype, transpose_right=transpose, bias=bias)

    def batched_matmul(self, left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
        """A product for each sentence: float [B, a, b], [B, b, c] → [B, a, c]; operands in the
        policy's compute dtype.
        """
        return batched_matmul(left, right, self.product_dtype)

    def matrix(
        self,
        name: str,
        shape: Shape,
        initializer: Initializer | str,
        letters: Sequence[str] | None = None,
    ) -> keras.Variable:
        """Add a weight.

        Args:
            name: str.
            shape: tuple of int.
            initializer: see ``initializers.py``.
            letters: the paper's letters of the blocks of equal width that stand side by side in the
                weight. None: it is one block, and its name is the letter.
        """
        weight = self.add_weight(
            name=name,
            shape=shape,
            initializer=initializer,
            dtype=self.variable_dtype,
            autocast=False,
        )
        weight.letters = tuple(letters or (name,))
        return weight

    def vector(self, name: str, size: int, letters: Sequence[str] | None = None) -> keras.Variable:
        """Add a bias: zero at the start (Appendix B.1), under ``initialization: uniform`` drawn
        like every weight.
        """
        return self.matrix(name, (size,), self.bias_initializer(name), letters)

    def bias_initializer(self, name: str) -> Initializer:
        """What a bias of this name begins with."""
        seed = self.weight_seed + zlib.crc32(name.encode())
        return initializer(self.initialization, "bias", seed)

    def paper_weights(self, prefix: str = "") -> dict[str, np.ndarray]:
        """The weights of this layer and of those inside it: {prefix + the paper's letter: NumPy
        array}; lower case is a vector.
        """
        weights: dict[str, np.ndarray] = {}
        for weight in self.weights:
            blocks = np.split(keras.ops.convert_to_numpy(weight), len(weight.letters), axis=-1)
            weights |= {
                prefix + letter: block.ravel() if letter[0].islower() else block
                for letter, block in zip(weight.letters, blocks)
            }
        return weights


def _signature(layer_class: type[PaperLayer]) -> inspect.Signature:
    """The signature of a layer's constructor: the options of the classes, PaperLayer's and Keras's
    own as keywords.
    """
    parameters = {}
    for base in layer_class.__mro__[: layer_class.__mro__.index(PaperLayer) + 1]:
        kind = (
            inspect.Parameter.KEYWORD_ONLY
            if base is PaperLayer
            else inspect.Parameter.POSITIONAL_OR_KEYWORD
        )
        for name in inspect.get_annotations(base):
            if name != "_" and name not in parameters:
                parameters[name] = inspect.Parameter(
                    name, kind, default=getattr(layer_class, name, inspect.Parameter.empty)
                )
    return inspect.Signature(
        [*parameters.values(), inspect.Parameter("keywords", inspect.Parameter.VAR_KEYWORD)]
    )


def _argument_error(
    value: Any, axes: list[str], sizes: dict[str, int | None], floating: bool
) -> str | None:
    """What is wrong with an argument of a call, or None; sizes that are seen here for the first
    time are added.

    Args:
        value: what has a shape and a dtype.
        axes: letters of its axes.
        sizes: {letter: size} of those that are known.
        floating: whether it has to be of a floating-point dtype.
    """
    expected = (
        f"{'float' if floating else 'bool'}"
        f" [{', '.join(str(sizes.get(axis) or axis) for axis in axes)}]"
    )
    if isinstance(value, (tf.RaggedTensor, tf.SparseTensor)):
        return (
            f"expected {expected}, got a {type(value).__name__}; make it dense (to_tensor), and"
            " hand in a mask"
        )
    if isinstance(value.shape, tf.TensorShape) and value.shape.rank is None:
        return None
    shape = tuple(value.shape)
    dtype = keras.backend.standardize_dtype(value.dtype)
    got = (
        f"expected {expected}, got {dtype}"
        f" [{', '.join('?' if size is None else str(size) for size in shape)}]"
    )
    if floating and not keras.backend.is_float_dtype(dtype):
        return f"{got}; WordEmbedding makes vectors of ids, and other numbers need a cast"
    if axes[0] == "…":
        axes = axes[-1:]
        shape = shape[-1:]
    if len(shape) != len(axes):
        return f"{got}; give it {len(axes)} axes"
    for axis, size in zip(axes, shape):
        if size is not None and sizes.setdefault(axis, size) not in (None, size):
            return f"{got}; axis {axis} has another size"
        if size == 0 and axis in AT_LEAST_ONE:
            return f"{got}; axis {axis} needs at least one position"
    return None


def as_tensor(variable: Any) -> Any:
    """The value of a Keras variable; None for None."""
    return None if variable is None else tf.convert_to_tensor(variable)


def real_positions(values: tf.Tensor, mask: tf.Tensor | None = None) -> tf.Tensor:
    """A mask [B, J] as bool; without one, True at every position of values [B, J, …]."""
    return tf.fill(tf.shape(values)[:2], True) if mask is None else tf.cast(mask, tf.bool)


def mean_of_words(vectors: tf.Tensor, mask: tf.Tensor) -> tf.Tensor:
    """The mean over the real positions of a sentence: float [B, J, n], bool [B, J] -> float [B, n];
    zero where there is none.
    """
    real = tf.cast(mask, vectors.dtype)[..., tf.newaxis]
    return tf.math.divide_no_nan(tf.reduce_sum(vectors * real, axis=1), tf.reduce_sum(real, axis=1))


def pad_bias(bias: tf.Tensor, size: int) -> tf.Tensor:
    """A bias of the first columns, zeros behind it: [width] → [size]."""
    return bias if bias.shape[0] == size else tf.pad(bias, [[0, size - bias.shape[0]]])


def matmul(
    left: tf.Tensor,
    right: tf.Tensor,
    dtype: str | None = None,
    transpose_right: bool = False,
    bias: tf.Tensor | None = None,
) -> tf.Tensor:
    """left @ right + bias, computed in ``dtype`` and returned in the dtype of ``left``.

    Args:
        left: float [..., a]; all leading axes are rows.
        right: float [a, b], or [b, a] with ``transpose_right``.
        dtype: what the operands are cast to, for example "bfloat16"; None: as they are.
        transpose_right: multiply by the transpose of ``right``.
        bias: float [b] or None. TensorFlow makes one operation of the product and this sum.

    Returns:
        float [..., b].
    """
    rows = left if left.shape.rank == 2 else tf.reshape(left, [-1, left.shape[-1]])
    result = batched_matmul(
        rows, cast_weights(right, dtype), dtype, transpose_right=transpose_right
    )
    result = result if bias is None else tf.nn.bias_add(result, bias)
    if left.shape.rank == 2:
        return result
    return with_leading_axes(result, left, right.shape[0 if transpose_right else 1])


def with_leading_axes(rows: tf.Tensor, like: tf.Tensor, *sizes: int | None) -> tf.Tensor:
    """Rows [R, …] in the leading axes of `like`, all but its last, and axes of these sizes; None:
    the rows' own last.
    """
    shape: list[int | None] = [*like.shape[:-1], *sizes]
    if shape.count(None) <= 1:  # no operation is needed to find the shape
        return tf.reshape(rows, [-1 if size is None else size for size in shape])
    last_sizes = [tf.shape(rows)[-1] if size is None else size for size in sizes]
    result = tf.reshape(rows, tf.concat([tf.shape(like)[:-1], last_sizes], axis=0))
    result.set_shape(shape)
    return result


def batched_matmul(
    left: tf.Tensor,
    right: tf.Tensor,
    dtype: str | None = None,
    transpose_left: bool = False,
    transpose_right: bool = False,
) -> tf.Tensor:
    """A product for each entry of the leading axes, which both sides share.

    Args:
        left: float [..., a, b].
        right: float [..., b, c].
        dtype, transpose_left, transpose_right: as in :func:`matmul`.

    Returns:
        float [..., a, c], in the dtype of ``left``.
    """
    result_dtype = left.dtype
    if dtype is not None and tf.as_dtype(dtype) != result_dtype:
        left = tf.cast(left, dtype)
        right = tf.cast(right, dtype)
    result = tf.matmul(left, right, transpose_a=transpose_left, transpose_b=transpose_right)
    return tf.cast(result, result_dtype)


def weight_gradient(inputs: tf.Tensor, deltas: tf.Tensor, dtype: str | None = None) -> tf.Tensor:
    """Gradient of a weight matrix, all positions and sentences in one product.

    Args:
        inputs: float [..., a]: what the matrix was multiplied with.
        deltas: float [..., b]: gradients of the results, same leading axes.
        dtype: as in :func:`matmul`.

    Returns:
        float [a, b]: the sum over all leading axes of inputsᵀ deltas.
    """
    inputs = tf.reshape(inputs, [-1, inputs.shape[-1]])
    deltas = tf.reshape(deltas, [-1, deltas.shape[-1]])
    return batched_matmul(inputs, deltas, dtype, transpose_left=True)


def cast_weights(weights: Nest, dtype: str | None = None) -> Nest:
    """Weights cast for products in the graph where they were read: once, where a loop would
    otherwise cast them at every step.
    """

    def cast(weight: tf.Tensor) -> tf.Tensor:
        with (
            weight.graph.as_default() if tf.is_symbolic_tensor(weight) else contextlib.nullcontext()
        ):
            return tf.cast(weight, dtype)

    return weights if dtype is None else tf.nest.map_structure(cast, weights)
