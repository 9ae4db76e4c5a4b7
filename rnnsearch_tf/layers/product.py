"""Matrix products, the one place where reduced precision happens.

Under ``mixed_bfloat16`` only the operands of products are cast to bfloat16; sums,
gates and softmaxes stay in float32. (bfloat16 element by element is slow on a CPU,
and loses digits where nothing is gained.)
"""

import tensorflow as tf

from rnnsearch_tf.hoisting import cast


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
    result = _matmul(rows, right, dtype, transpose_right=transpose_right)
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
    return _matmul(left, right, dtype, transpose_left, transpose_right)


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
    return _matmul(inputs, deltas, dtype, transpose_left=True)


def ready(weights, dtype=None):
    """Weights cast for products once, before a loop that would otherwise cast them at every step."""
    return weights if dtype is None else tf.nest.map_structure(lambda weight: tf.cast(weight, dtype), weights)


def _matmul(left, right, dtype, transpose_left=False, transpose_right=False):
    result_dtype = left.dtype
    if dtype is not None and tf.as_dtype(dtype) != result_dtype:
        left, right = tf.cast(left, dtype), cast(right, dtype)
    result = tf.matmul(left, right, transpose_a=transpose_left, transpose_b=transpose_right)
    return tf.cast(result, result_dtype)
