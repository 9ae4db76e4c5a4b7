"""Base class of the layers, and the matrix products that they use.

Only matrix products run in reduced precision: under ``mixed_bfloat16`` their operands are cast to
bfloat16, while sums, gates and softmaxes stay in float32. (Element-wise operations in bfloat16 are
slow on a CPU and lose precision for no gain.)
"""

from __future__ import annotations

import contextlib
import dataclasses
import difflib
import inspect
import math
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
from rnnsearch_tf.runtime.keras_internals import TracedLayer
from rnnsearch_tf.runtime.nests import Nest

Shape: TypeAlias = tuple[Any, ...]
"""Static shape of a tensor: an int for each axis, None for a size that varies."""

State: TypeAlias = dict[str, tf.Tensor]
"""State of a recurrent layer by name, float [B, ...]."""

KERAS_KEYWORDS = ("name", "dtype", "trainable", "activity_regularizer")
"""Arguments of ``keras.layers.Layer`` that every layer accepts besides its options."""

ALTERNATIVES = {
    "initializer": (
        "the option initialization chooses the initial weights; set_weights replaces them"
    ),
    "regularizer": (
        "set the attribute regularizer of a weight once the layer is built; it is not saved"
    ),
    "constraint": (
        "set the attribute constraint of a weight once the layer is built; it is not saved"
    ),
    "sequences": "the layer returns the states of all positions",
    "state": "the layer returns the states of all positions; take the last one",
    "backwards": (
        "an Encoder reads both ways with bidirectional=True, without keras.layers.Bidirectional"
    ),
}
"""Advice for keywords of Keras's recurrent layers, by the last word of the keyword."""

AT_LEAST_ONE = ("I", "J")
"""Axes of positions; their size must be at least 1."""


@dataclass_transform()
class PaperLayer(TracedLayer):
    """A Keras layer that declares its options once and names its weights by the paper's letters.

    A subclass declares its options with their defaults, like a dataclass::

        class RectifiedLayers(PaperLayer):
            first_size: int
            second_size: int

    The options are the arguments of its constructor; those below are keyword-only. They become
    attributes, and ``get_config`` returns them. ``__post_init__`` may derive further attributes
    from them before ``build``.

    An option is checked like the model option of the same name (``config/model_options.py``). Any
    other is checked by its type: a size is at least 1. A class with other limits lists them in
    ``limits``, as keywords of ``option``.

    Keras casts floating-point arguments to the compute dtype, and under a mixed policy weights too.
    Here only the operands of matrix products are cast to it: arguments are cast to the dtype of the
    weights, and weights keep theirs.

    Args:
        biases: ``groundhog`` (those of the authors' program), ``none`` or ``all``.
        initialization: see ``initializers.py``.
        seed: int; the same seed draws the same weights. None: a random seed for each layer, which
            ``keras.utils.set_random_seed`` determines.
        keywords: arguments of ``keras.layers.Layer``: ``name``, ``dtype``, ``trainable``,
            ``activity_regularizer``.

    Attributes:
        output_size: int, width of the result; None until the layer is built.
        weight_seed: int, the seed in use: ``seed``, or the random one.
        shapes: the axes of the arguments of ``call``, such as {"embeddings": "B J m"}. The same
            letter means the same size, I and J are at least 1, the last axis has the size that the
            layer was built for, and an axis named like an option has the value of that option; "…"
            stands for any axes. Empty: nothing is checked.

    Raises:
        UsageError: an option has an invalid value, or an argument of a call has the wrong shape.
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
    # the dtype to which Keras casts floating-point arguments of a call
    input_dtype = keras.layers.Layer.variable_dtype

    def __init_subclass__(cls, **keywords: Any) -> None:
        super().__init_subclass__(**keywords)
        cls.options_signature = _signature(cls)
        if cls.__init__ is PaperLayer.__init__:
            cls.__signature__ = cls.options_signature
        cls.call_names = list(inspect.signature(cls.call).parameters)[1:]

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        self._refuse_others(keywords)
        bound = self.options_signature.bind(*arguments, **keywords)
        bound.apply_defaults()
        keywords = bound.arguments.pop("keywords")
        trainable = keywords.pop("trainable", True)
        super().__init__(**keywords)
        hints = typing.get_type_hints(type(self))
        for name, value in bound.arguments.items():
            setattr(self, name, self._checked(name, value, hints[name]))
        self.output_size: int | None = None
        # keras.utils.set_random_seed seeds Python's generator too
        self.weight_seed = random.randrange(2**31) if self.seed is None else self.seed
        self.__post_init__()
        self.trainable = trainable  # now that there are sublayers, of these too

    def __post_init__(self) -> None:
        """Hook: derive attributes from the options."""

    @classmethod
    def _refuse_others(cls, keywords: Iterable[str]) -> None:
        """Raise UsageError for keywords that are not options."""
        options = list(cls.options_signature.parameters)[:-1]
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
        """Check the type and the limits of an option's value, and return it."""
        field = next(
            (field for field in dataclasses.fields(ModelConfig) if field.name == name), None
        )
        if name in self.limits or field is None:
            whole = int in (hint, *typing.get_args(hint))
            field = option(None, "", **self.limits.get(name, {"minimum": 1} if whole else {}))
        value = value.item() if isinstance(value, np.generic) else value
        return check_field(value, hint, field, f"{type(self).__name__}: {name}")

    def get_config(self) -> dict[str, Any]:
        options = {
            name: getattr(self, name) for name in list(self.options_signature.parameters)[:-1]
        }
        return super().get_config() | options

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> Self:
        if cls.__init__ is PaperLayer.__init__:  # others may have arguments of their own
            cls._refuse_others(config)  # Keras would hide the message in its own error
        return super().from_config(config)

    def __call__(self, *arguments: Any, **keywords: Any) -> Any:
        if self.shapes:
            given = dict(zip(self.call_names, arguments)) | keywords
            self._check_arguments(given)
        return super().__call__(*arguments, **keywords)

    def _check_arguments(self, given: dict[str, Any]) -> None:
        """Raise UsageError if the shape of an argument contradicts ``shapes``."""
        first = next(iter(given.values()), None)
        if isinstance(first, (list, tuple)):  # query and value as a list
            given = given | dict(zip(self.shapes, first))
        sizes = {
            axis: getattr(self, axis)
            for axes in self.shapes.values()
            for axis in axes.split()
            if axis in self.options_signature.parameters
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
        """Sizes of the last axes that the layer was built for, by the letter of the axis."""
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
        """Raise UsageError: these layers do not support LoRA."""
        raise UsageError(
            f"{type(self).__name__}: expected a layer of Keras's own, got enable_lora of one that"
            " has no low-rank updates; train it as it is, and freeze other layers with"
            " layer.trainable = False"
        )

    def shared_options(self) -> dict[str, Any]:
        """Options passed on to sublayers."""
        return dict(biases=self.biases, initialization=self.initialization, dtype=self.dtype_policy)

    @property
    def biased(self) -> bool:
        """Whether the layer has any biases."""
        return self.biases != "none"

    @property
    def product_dtype(self) -> str | None:
        """Operand dtype of matrix products under a mixed policy; otherwise None."""
        return None if self.compute_dtype == self.variable_dtype else self.compute_dtype

    def matmul(
        self, x: tf.Tensor, W: tf.Variable, b: tf.Variable | None = None, transpose: bool = False
    ) -> tf.Tensor:
        """x @ W + b, or x @ Wᵀ + b, with weights of this layer: float [..., a] → [..., b].

        The operands of the product are cast to the compute dtype of the policy.

        Args:
            x: float [..., a].
            W: weight [a, b], or [b, a] with ``transpose``.
            b: weight [b], or None. A shorter bias applies to the first columns only.
            transpose: multiply by the transpose of W.
        """
        bias = None if b is None else pad_bias(as_tensor(b), W.shape[0 if transpose else 1])
        return matmul(x, as_tensor(W), self.product_dtype, transpose_right=transpose, bias=bias)

    def batched_matmul(self, left: tf.Tensor, right: tf.Tensor) -> tf.Tensor:
        """One product per sentence: float [B, a, b], [B, b, c] → [B, a, c]; the operands are cast
        to the compute dtype of the policy.
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
            letters: the paper's letters of the matrices of equal width that the weight stores side
                by side. None: it is one matrix, and its name is the letter.
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
        """Add a bias, initialized with zeros (Appendix B.1); ``initialization: uniform`` draws it
        like any other weight.
        """
        return self.matrix(name, (size,), self.bias_initializer(name), letters)

    def bias_initializer(self, name: str) -> Initializer:
        """The initializer of the bias of this name."""
        seed = self.weight_seed + zlib.crc32(name.encode())
        return initializer(self.initialization, "bias", seed)

    def paper_weights(self, prefix: str | None = None) -> dict[str, np.ndarray]:
        """The weights of this layer and its sublayers: {prefix + the paper's letter: NumPy array};
        a lower-case letter is a vector. The prefix None is that of :meth:`blocks`.
        """
        blocks = self.blocks() if prefix is None else self.blocks(prefix)
        return {name: block.read() for name, block in blocks.items()}

    def blocks(self, prefix: str = "") -> dict[str, Block]:
        """Where each of the :meth:`paper_weights` is stored."""
        return blocks_of(self.weights, prefix)


@dataclasses.dataclass(frozen=True)
class Block:
    """A weight of the paper, as a part of a stored weight: equal parts stand side by side.

    Attributes:
        weight: the stored weight.
        index: number of this part, from 0.
        is_vector: whether the paper has a vector, stored perhaps as a matrix of one column.
    """

    weight: keras.Variable
    index: int
    is_vector: bool

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array of :meth:`read`."""
        *rows, columns = self.weight.shape
        columns //= len(self.weight.letters)
        return (math.prod([*rows, columns]),) if self.is_vector else (*rows, columns)

    def read(self) -> np.ndarray:
        """The value, float array."""
        parts = len(self.weight.letters)
        block = np.split(keras.ops.convert_to_numpy(self.weight), parts, axis=-1)[self.index]
        return block.ravel() if self.is_vector else block

    def write(self, value: np.ndarray) -> None:
        """Assign an array of the shape of :meth:`read`."""
        *rows, columns = self.weight.shape
        parts = len(self.weight.letters)
        block = np.reshape(value, (*rows, columns // parts))
        if parts > 1:
            blocks = np.split(keras.ops.convert_to_numpy(self.weight), parts, axis=-1)
            blocks[self.index] = block
            block = np.concatenate(blocks, axis=-1)
        self.weight.assign(block)


def blocks_of(weights: Iterable[keras.Variable], prefix: str = "") -> dict[str, Block]:
    """{prefix + letter: Block} of weights that :meth:`PaperLayer.matrix` made."""
    return {
        prefix + letter: Block(weight, index, letter[0].islower())
        for weight in weights
        for index, letter in enumerate(weight.letters)
    }


def _signature(layer_class: type[PaperLayer]) -> inspect.Signature:
    """The signature of a layer's constructor: the options of its classes, those of a base class
    first; those of PaperLayer and the arguments of Keras are keyword-only.
    """
    parameters = {}
    own = layer_class.__mro__[: layer_class.__mro__.index(PaperLayer)]
    for base in (*reversed(own), PaperLayer):
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
    """The error message for an argument of a call, or None if the argument is valid.

    Args:
        value: an object with a shape and a dtype.
        axes: letters of its axes.
        sizes: {letter: size} of the known axes; new sizes are added.
        floating: whether a floating-point dtype is required; otherwise bool.
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
    """The value of a Keras variable as a tensor; None for None."""
    return None if variable is None else tf.convert_to_tensor(variable)


def real_positions(values: tf.Tensor, mask: tf.Tensor | None = None) -> tf.Tensor:
    """The mask [B, J] as bool; if None, True at every position of values [B, J, …]."""
    return tf.fill(tf.shape(values)[:2], True) if mask is None else tf.cast(mask, tf.bool)


def pad_bias(bias: tf.Tensor, size: int) -> tf.Tensor:
    """Append zeros to a bias of the first columns: [width] → [size]."""
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
        dtype: dtype to which the operands are cast, for example "bfloat16"; None: no cast.
        transpose_right: multiply by the transpose of ``right``.
        bias: float [b] or None. TensorFlow fuses the product and this sum.

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
    """Reshape rows [R, …] to the leading axes of `like` (all but its last), followed by axes of
    these sizes; None stands for the size of the last axis of the rows.
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
    """Matrix product over the last two axes; both operands have the same leading axes.

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
    """Gradient of a weight matrix, as one product over all positions and sentences.

    Args:
        inputs: float [..., a]: the left operands of the matrix.
        deltas: float [..., b]: gradients of the products, with the same leading axes.
        dtype: as in :func:`matmul`.

    Returns:
        float [a, b]: the sum over all leading axes of inputsᵀ deltas.
    """
    inputs = tf.reshape(inputs, [-1, inputs.shape[-1]])
    deltas = tf.reshape(deltas, [-1, deltas.shape[-1]])
    return batched_matmul(inputs, deltas, dtype, transpose_left=True)


def cast_weights(weights: Nest, dtype: str | None = None) -> Nest:
    """Cast weights to the operand dtype of products, in the graph in which they were read, so that
    a loop does not cast them again at every step.
    """

    def cast(weight: tf.Tensor) -> tf.Tensor:
        with (
            weight.graph.as_default() if tf.is_symbolic_tensor(weight) else contextlib.nullcontext()
        ):
            return tf.cast(weight, dtype)

    return weights if dtype is None else tf.nest.map_structure(cast, weights)
