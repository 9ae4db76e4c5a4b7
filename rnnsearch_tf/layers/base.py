"""What all layers here share: options named once, weights by the paper's letters, products.

Reduced precision happens in products alone: under ``mixed_bfloat16`` their operands are cast to bfloat16; sums,
gates and softmaxes stay in float32. (bfloat16 element by element is slow on a CPU, and loses digits where nothing is
gained.)
"""

import contextlib
import dataclasses
import inspect
import zlib

import numpy as np
import tensorflow as tf
from typing_extensions import dataclass_transform  # in typing since Python 3.11

from rnnsearch_tf.backend import keras
from rnnsearch_tf.layers.initializers import initializer


@dataclass_transform()
class PaperLayer(keras.layers.Layer):
    """A Keras layer that names its options once, and its weights by the paper's letters.

    A subclass lists its options with their defaults, as a dataclass does::

        class RectifiedLayers(PaperLayer):
            first_size: int
            second_size: int

    They are the arguments of its constructor, with those below as keywords. The layer has them as attributes, and
    ``get_config`` returns them. What is to be made of them before ``build``, a layer makes in ``__post_init__``.

    Keras would cast inputs and weights to the compute dtype of a mixed policy. Here only the operands of products
    are cast, so autocasting is off.

    Args:
        biases: ``groundhog`` (as the authors' program has them), ``none`` or ``all``.
        initialization: see ``initializers.py``.
        seed: int; the same seed draws the same weights.
        keywords: of ``keras.layers.Layer``: ``name``, ``dtype``, ``trainable``.

    Attributes:
        output_size: int, width of the result; known once the layer is built.
    """

    _: dataclasses.KW_ONLY
    biases: str = "groundhog"
    initialization: str = "paper"
    seed: int = 0

    output_size = None

    def __init_subclass__(cls, **keywords):
        super().__init_subclass__(**keywords)
        cls.__signature__ = _signature(cls)

    def __init__(self, *arguments, **keywords):
        bound = self.__signature__.bind(*arguments, **keywords)
        bound.apply_defaults()
        super().__init__(autocast=False, **bound.arguments.pop("keywords"))
        for name, value in bound.arguments.items():
            setattr(self, name, value)
        self.__post_init__()

    def __post_init__(self):
        """What a subclass makes of its options."""

    def get_config(self):
        return super().get_config() | {name: getattr(self, name) for name in list(self.__signature__.parameters)[:-1]}

    def shared_options(self):
        """What a layer inside this one has as this one has it."""
        return dict(biases=self.biases, initialization=self.initialization, dtype=self.dtype_policy)

    @property
    def output_shape(self):
        """What ``summary`` shows: any number of sentences and positions, then the width."""
        return (None, None, self.output_size)

    def compute_output_spec(self, *arguments, **keywords):
        """By tracing ``call``: of a layer with ``compute_output_shape`` Keras would take the compute dtype for the result's."""
        return keras.Operation.compute_output_spec(self, *arguments, **keywords)

    @property
    def biased(self):
        """Whether the layer has biases at all."""
        return self.biases != "none"

    @property
    def product_dtype(self):
        """Operand dtype of products under a mixed policy, else None."""
        return None if self.compute_dtype == self.variable_dtype else self.compute_dtype

    def dot(self, x, W, b=None, transpose=False):
        """x @ W + b, or x @ Wᵀ + b, of weights of this layer: float [..., a] → [..., b]; operands in the policy's compute dtype.

        Args:
            x: float [..., a].
            W: weight [a, b], or [b, a] with ``transpose``.
            b: weight [b], or None. One that is shorter belongs to the first columns alone.
            transpose: multiply by the transpose of W.
        """
        bias = None if b is None else padded(tensor(b), W.shape[0 if transpose else 1])
        return product(x, tensor(W), self.product_dtype, transpose_right=transpose, bias=bias)

    def batched_dot(self, left, right):
        """A product for each sentence: float [B, a, b], [B, b, c] → [B, a, c]; operands in the policy's compute dtype."""
        return batched_product(left, right, self.product_dtype)

    def matrix(self, name, shape, initializer, letters=None):
        """Add a weight.

        Args:
            name: str.
            shape: tuple of int.
            initializer: see ``initializers.py``.
            letters: the paper's letters of the blocks of equal width that stand side by side in the weight. None: it is one
                block, and its name is the letter.
        """
        weight = self.add_weight(name=name, shape=shape, initializer=initializer, dtype=self.variable_dtype, autocast=False)
        weight.letters = tuple(letters or (name,))
        return weight

    def vector(self, name, size, letters=None):
        """Add a bias: zero at the start (Appendix B.1), under ``initialization: uniform`` drawn like every weight."""
        return self.matrix(name, (size,), self.bias_initializer(name), letters)

    def bias_initializer(self, name):
        """What a bias of this name begins with."""
        return initializer(self.initialization, "bias", self.seed + zlib.crc32(name.encode()))

    def paper_weights(self, prefix=""):
        """The weights of this layer and of those inside it: {prefix + the paper's letter: NumPy array}; lower case is a vector."""
        weights = {}
        for weight in self.weights:
            blocks = np.split(keras.ops.convert_to_numpy(weight), len(weight.letters), axis=-1)
            weights |= {prefix + letter: block.ravel() if letter[0].islower() else block for letter, block in zip(weight.letters, blocks)}
        return weights


def _signature(layer_class):
    """The signature of a layer's constructor: the options of the classes, PaperLayer's and Keras's own as keywords."""
    parameters = {}
    for base in layer_class.__mro__[: layer_class.__mro__.index(PaperLayer) + 1]:
        kind = inspect.Parameter.KEYWORD_ONLY if base is PaperLayer else inspect.Parameter.POSITIONAL_OR_KEYWORD
        for name in inspect.get_annotations(base):
            if name != "_" and name not in parameters:
                parameters[name] = inspect.Parameter(name, kind, default=getattr(layer_class, name, inspect.Parameter.empty))
    return inspect.Signature([*parameters.values(), inspect.Parameter("keywords", inspect.Parameter.VAR_KEYWORD)])


def tensor(variable):
    """The value of a Keras variable; None for None."""
    return None if variable is None else tf.convert_to_tensor(variable)


def real_positions(values, mask=None):
    """A mask [B, J] as bool; without one, True at every position of values [B, J, …]."""
    return tf.fill(tf.shape(values)[:2], True) if mask is None else tf.cast(mask, tf.bool)


def mean_of_words(vectors, mask):
    """The mean over the real positions of a sentence: float [B, J, n], bool [B, J] -> float [B, n]; zero where there is none."""
    real = tf.cast(mask, vectors.dtype)[..., tf.newaxis]
    return tf.math.divide_no_nan(tf.reduce_sum(vectors * real, axis=1), tf.reduce_sum(real, axis=1))


def padded(bias, size):
    """A bias of the first columns, zeros behind it: [width] → [size]."""
    return bias if bias.shape[0] == size else tf.pad(bias, [[0, size - bias.shape[0]]])


def product(left, right, dtype=None, transpose_right=False, bias=None):
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
    result = batched_product(rows, ready(right, dtype), dtype, transpose_right=transpose_right)
    result = result if bias is None else tf.nn.bias_add(result, bias)
    if left.shape.rank == 2:
        return result
    return with_leading_axes(result, left, right.shape[0 if transpose_right else 1])


def with_leading_axes(rows, like, *sizes):
    """Rows [R, …] in the leading axes of `like`, all but its last, and axes of these sizes; None: the rows' own last."""
    shape = [*like.shape[:-1], *sizes]
    if shape.count(None) <= 1:  # no operation is needed to find the shape
        return tf.reshape(rows, [-1 if size is None else size for size in shape])
    sizes = [tf.shape(rows)[-1] if size is None else size for size in sizes]
    result = tf.reshape(rows, tf.concat([tf.shape(like)[:-1], sizes], axis=0))
    result.set_shape(shape)
    return result


def batched_product(left, right, dtype=None, transpose_left=False, transpose_right=False):
    """A product for each entry of the leading axes, which both sides share.

    Args:
        left: float [..., a, b].
        right: float [..., b, c].
        dtype, transpose_left, transpose_right: as in :func:`product`.

    Returns:
        float [..., a, c], in the dtype of ``left``.
    """
    result_dtype = left.dtype
    if dtype is not None and tf.as_dtype(dtype) != result_dtype:
        left, right = tf.cast(left, dtype), tf.cast(right, dtype)
    result = tf.matmul(left, right, transpose_a=transpose_left, transpose_b=transpose_right)
    return tf.cast(result, result_dtype)


def weight_gradient(inputs, deltas, dtype=None):
    """Gradient of a weight matrix, all positions and sentences in one product.

    Args:
        inputs: float [..., a]: what the matrix was multiplied with.
        deltas: float [..., b]: gradients of the results, same leading axes.
        dtype: as in :func:`product`.

    Returns:
        float [a, b]: the sum over all leading axes of inputsᵀ deltas.
    """
    inputs = tf.reshape(inputs, [-1, inputs.shape[-1]])
    deltas = tf.reshape(deltas, [-1, deltas.shape[-1]])
    return batched_product(inputs, deltas, dtype, transpose_left=True)


def ready(weights, dtype=None):
    """Weights cast for products in the graph where they were read: once, where a loop would otherwise cast them at every step."""

    def cast(weight):
        with weight.graph.as_default() if tf.is_symbolic_tensor(weight) else contextlib.nullcontext():
            return tf.cast(weight, dtype)

    return weights if dtype is None else tf.nest.map_structure(cast, weights)
