"""The LSTM over whole sentences, with a gradient that runs it back.

The equations are those of ``lstm_unit.py``. The loop of the gradient carries the gradients of state and cell only;
each weight's gradient is one product over all positions after the loop.
"""

import tensorflow as tf

from rnnsearch_tf.layers.lstm_unit import lstm_unit
from rnnsearch_tf.layers.product import product, ready, weight_gradient


def lstm(inputs, initial_state, initial_cell, mask, U, p=None, dtype=None):
    """The states and cells after every position.

    Args:
        inputs: float [B, T, 4n]: what does not depend on the state, see ``lstm_unit.py``.
        initial_state, initial_cell: float [B, n].
        mask: bool [B, T] or None. Where False state and cell stay as they were.
        U: float [n, 4n].
        p: float [3n]: [p_input | p_forget | p_output]; None: no peepholes.
        dtype: operand dtype of the products.

    Returns:
        (states, cells): float [B, T, n] each.
    """
    real = tf.ones_like(inputs[..., :1]) if mask is None else tf.cast(mask, inputs.dtype)[..., tf.newaxis]
    real = tf.transpose(real, [1, 0, 2])  # [T, B, 1]
    p = tf.zeros([3 * U.shape[0]], inputs.dtype) if p is None else p

    @tf.custom_gradient
    def run(inputs, state, cell, U, p):
        U = ready(U, dtype)
        states, cells, *gates = _run_forward(inputs, real, state, cell, U, p, dtype)

        def gradient(states_gradient, cells_gradient):
            states_before = tf.concat([state[tf.newaxis], states[:-1]], axis=0)
            cells_before = tf.concat([cell[tf.newaxis], cells[:-1]], axis=0)
            forward = (cells_before, cells, *gates)
            deltas, *first = _run_backward((states_gradient, cells_gradient), forward, real, U, p, dtype)
            _, i_delta, f_delta, o_delta = tf.split(deltas, 4, axis=-1)
            seen = (i_delta * cells_before, f_delta * cells_before, o_delta * cells)
            p_gradient = tf.concat([tf.reduce_sum(values, axis=[0, 1]) for values in seen], axis=0)
            return deltas, *first, weight_gradient(states_before, deltas, dtype), p_gradient

        return (states, cells), gradient

    results = run(tf.transpose(inputs, [1, 0, 2]), initial_state, initial_cell, U, p)
    return [tf.transpose(values, [1, 0, 2]) for values in results]


def _run_forward(inputs, real, state, cell, U, p, dtype):
    """h, cell, g, i, f and o of all steps, each [T, B, n]."""
    steps = tf.shape(inputs)[0]

    def step(t, state, cell, *results):
        new_state, new_cell, gates = lstm_unit(inputs[t] + product(state, U, dtype), cell, p)
        state = tf.ensure_shape(state + real[t] * (new_state - state), state.shape)
        cell = tf.ensure_shape(cell + real[t] * (new_cell - cell), cell.shape)
        return t + 1, state, cell, *(array.write(t, value) for array, value in zip(results, (state, cell, *gates)))

    results = [tf.TensorArray(inputs.dtype, steps) for _ in range(6)]
    _, _, _, *results = tf.while_loop(lambda t, *_: t < steps, step, (0, state, cell, *results), parallel_iterations=1)
    return [array.stack() for array in results]


def _run_backward(outer, forward, real, U, p, dtype):
    """∂L/∂inputs of all steps [T, B, 4n], ∂L/∂h_0 and ∂L/∂cell_0 [B, n]."""
    p_input, p_forget, p_output = tf.split(p, 3)
    steps = tf.shape(real)[0]

    def step(t, carried_state, carried_cell, deltas):
        outer_state, outer_cell, before, cell, g, i, f, o, is_real = (values[t] for values in (*outer, *forward, real))
        total_state, total_cell = carried_state + outer_state, carried_cell + outer_cell
        shown = tf.tanh(cell)
        state_delta = is_real * total_state
        o_delta = state_delta * shown * o * (1 - o)
        cell_delta = is_real * total_cell + state_delta * o * (1 - shown * shown) + o_delta * p_output
        i_delta, f_delta = cell_delta * g * i * (1 - i), cell_delta * before * f * (1 - f)
        delta = tf.concat([cell_delta * i * (1 - g * g), i_delta, f_delta, o_delta], axis=-1)
        state_gradient = product(delta, U, dtype, transpose_right=True) + (1 - is_real) * total_state
        cell_gradient = cell_delta * f + i_delta * p_input + f_delta * p_forget + (1 - is_real) * total_cell
        return t - 1, state_gradient, cell_gradient, deltas.write(t, delta)

    zeros = tf.zeros_like(forward[0][0])
    last = (steps - 1, zeros, zeros, tf.TensorArray(zeros.dtype, steps))
    _, state_gradient, cell_gradient, deltas = tf.while_loop(lambda t, *_: t >= 0, step, last, parallel_iterations=1)
    return deltas.stack(), state_gradient, cell_gradient
