"""The gated unit over whole sentences, with a gradient that runs it back.

The equations are those of ``gated_unit.py``. The loop of the gradient carries the state's gradient only; each
weight's gradient is one product over all positions after the loop, in place of one small product and one sum a step.
"""

import tensorflow as tf

from rnnsearch_tf.layers.gated_unit import gated_unit, gated_unit_gradient
from rnnsearch_tf.layers.product import product, ready, weight_gradient


def gru(inputs, initial_state, mask, U, U_gates, dtype=None):
    """The states after every position.

    Args:
        inputs: float [B, T, 3n], see ``gated_unit.py``.
        initial_state: float [B, n].
        mask: bool [B, T] or None. Where False the state stays as it was.
        U: float [n, n].
        U_gates: float [n, 2n]: [U_z | U_r].
        dtype: operand dtype of the products.

    Returns:
        float [B, T, n].
    """
    real = tf.ones_like(inputs[..., :1]) if mask is None else tf.cast(mask, inputs.dtype)[..., tf.newaxis]
    real = tf.transpose(real, [1, 0, 2])  # [T, B, 1]

    @tf.custom_gradient
    def run(inputs, initial_state, U, U_gates):
        n = U.shape[-1]
        U, U_gates = ready((U, U_gates), dtype)
        states, *gates = _run_forward(inputs, real, initial_state, U, U_gates, dtype)

        def gradient(states_gradient):
            before = tf.concat([initial_state[tf.newaxis], states[:-1]], axis=0)  # h' of every step
            deltas, first_gradient = _run_backward(states_gradient, before, gates, real, U, U_gates, dtype)
            reset_state = gates[1] * before
            U_gradient = weight_gradient(reset_state, deltas[..., :n], dtype)
            return deltas, first_gradient, U_gradient, weight_gradient(before, deltas[..., n:], dtype)

        return states, gradient

    return tf.transpose(run(tf.transpose(inputs, [1, 0, 2]), initial_state, U, U_gates), [1, 0, 2])


def _run_forward(inputs, real, state, U, U_gates, dtype):
    """states, z, r and h̃ of all steps, each [T, B, n]."""
    steps = tf.shape(inputs)[0]
    results = [tf.TensorArray(inputs.dtype, steps) for _ in range(4)]

    def step(t, state, *results):
        new_state, gates = gated_unit(inputs[t], product(state, U_gates, dtype), state, lambda x: product(x, U, dtype))
        state = tf.ensure_shape(state + real[t] * (new_state - state), state.shape)
        return (t + 1, state, *(array.write(t, value) for array, value in zip(results, (state, *gates))))

    _, _, *results = tf.while_loop(lambda t, *_: t < steps, step, (0, state, *results), parallel_iterations=1)
    return [array.stack() for array in results]


def _run_backward(states_gradient, before, gates, real, U, U_gates, dtype):
    """∂L/∂inputs of all steps [T, B, 3n], and ∂L/∂h_0 [B, n]."""
    steps = tf.shape(before)[0]
    forward = (states_gradient, before, *gates, real)

    def step(t, carried, deltas):
        outer, state, z, r, candidate, kept = (values[t] for values in forward)
        total = carried + outer
        delta, state_gradient = gated_unit_gradient(total * kept, state, (z, r, candidate), U, dtype)
        state_gradient += product(delta[..., U.shape[-1] :], U_gates, dtype, transpose_right=True)
        return t - 1, state_gradient + total * (1 - kept), deltas.write(t, delta)

    last = (steps - 1, tf.zeros_like(before[0]), tf.TensorArray(before.dtype, steps))
    _, first_gradient, deltas = tf.while_loop(lambda t, *_: t >= 0, step, last, parallel_iterations=1)
    return deltas.stack(), first_gradient
