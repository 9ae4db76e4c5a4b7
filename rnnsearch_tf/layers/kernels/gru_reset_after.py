"""The gated unit of cuDNN, whose reset gate is applied after the matrix. It is not the unit of
Bahdanau et al. 2015.

    z = σ(W_z e + U_z h' + C_z c)
    r = σ(W_r e + U_r h' + C_r c)
    h̃ = tanh(W e + C c + r ∘ (U h' + b_U))
    h = z ∘ h' + (1 − z) ∘ h̃

This is ``keras.layers.GRU(reset_after=True)``. The unit of Cho et al. 2014a, Appendix A, differs in
one line: its reset gate also scales the context. Its encoder has no c:

    h̃ = tanh(W e + r ∘ (U h' + C c))

Bahdanau's unit (``gru.py``) has U (r ∘ h'), and its z is 1 − z of this one.
One product of h' computes all three blocks, and on a GPU one call of cuDNN computes all positions:
see :func:`cudnn_gru`.
"""

from __future__ import annotations

from collections.abc import Mapping

import tensorflow as tf

from rnnsearch_tf.layers.base import pad_bias
from rnnsearch_tf.runtime.tensorflow_internals import cudnn_rnn


def reset_after_unit(inputs: tf.Tensor, products: tf.Tensor, state: tf.Tensor) -> tf.Tensor:
    """One step of the unit.

    Args:
        inputs: float [..., 3n]: candidate, update and reset input, side by side.
        products: float [..., 3n]: [U h' + b_U | U_z h' | U_r h']; the reset gate scales the first
            block, including further terms added to it.
        state: float [..., n]: h'.

    Returns:
        The new state, float [..., n].
    """
    n = state.shape[-1]
    z, r = tf.split(tf.sigmoid(inputs[..., n:] + products[..., n:]), 2, axis=-1)
    candidate = tf.tanh(inputs[..., :n] + r * products[..., :n])
    return candidate + z * (state - candidate)


def gpu_with_cudnn() -> bool:
    """Whether TensorFlow sees a GPU with cuDNN."""
    return tf.test.is_built_with_cuda() and bool(tf.config.list_logical_devices("GPU"))


def right_padded(mask: tf.Tensor) -> tf.Tensor:
    """Whether cuDNN can read sentences with this mask [B, T]: padding is on the right only, and no
    sentence is empty. A bool tensor [].
    """
    lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    on_the_right = tf.equal(mask, tf.sequence_mask(lengths, tf.shape(mask)[1]))
    return tf.reduce_all(on_the_right) & tf.reduce_all(lengths > 0)


def cudnn_gru(
    values: tf.Tensor,
    state: tf.Tensor,
    weights: Mapping[str, tf.Tensor],
    mask: tf.Tensor,
    backward: bool = False,
) -> tf.Tensor:
    """The states after every position, by one call of cuDNN. It needs a GPU.

    Args:
        values: float [B, T, m]: e.
        state: float [B, n], before the first position that is read.
        weights: dictionary of the tensors W [m, 3n] and U [n, 3n], with blocks as in ``inputs``,
            and b [3n or n] and b_U [n], each of which may be None.
        mask: bool [B, T]; :func:`right_padded` must hold.
        backward: read every sentence from its last word to its first.

    Returns:
        float [B, T, n]. Where the mask is False, the state does not change.
    """
    lengths = tf.reduce_sum(tf.cast(mask, tf.int32), axis=1)
    turn = (
        (lambda x: tf.reverse_sequence(x, lengths, seq_axis=1, batch_axis=0))
        if backward
        else tf.identity
    )
    states, last, *_ = cudnn_rnn(
        input=turn(values),
        input_h=state[:, tf.newaxis],
        input_c=tf.zeros([], values.dtype),
        params=cudnn_parameters(**weights),
        sequence_lengths=lengths,
        rnn_mode="gru",
        time_major=False,
        is_training=True,
    )
    stays = state[:, tf.newaxis] if backward else last  # cuDNN has zeros at padding
    return tf.where(mask[..., tf.newaxis], turn(states), stays)


def cudnn_parameters(
    W: tf.Tensor, U: tf.Tensor, b: tf.Tensor | None, b_U: tf.Tensor | None
) -> tf.Tensor:
    """All weights in one vector in the order of cuDNN, float [6n + 3n (m + n)]: reset, update and
    candidate blocks of W, then of U, then the biases of W and of U.
    """
    n = U.shape[0]
    blocks = [
        tf.transpose(block) for weight in (W, U) for block in reversed(tf.split(weight, 3, axis=1))
    ]
    for bias in (b, b_U):
        whole = tf.zeros([3 * n], W.dtype) if bias is None else pad_bias(bias, 3 * n)
        blocks += reversed(tf.split(whole, 3))
    return tf.concat([tf.reshape(block, [-1]) for block in blocks], axis=0)
