"""An LSTM over whole sentences, with a gradient that runs it back.

As ``encoder.py`` has it for the gated unit: the hand-written gradient's loop carries the
gradients of state and cell only; each weight's gradient is one product over all positions
after it. The equations are those of ``recurrent_unit.py``, without layer normalization.
"""

import tensorflow as tf

from rnnsearch_tf.layers.base import tensor
from rnnsearch_tf.layers.product import product, ready, weight_gradient


def lstm_recurrence(unit, inputs, state, mask=None):
    """What ``scan(unit.advance, inputs, state, mask)`` gives.

    Args:
        unit: RecurrentUnit, an LSTM without layer normalization.
        inputs: float [B, T, 4n], from ``unit.inputs``.
        state: dictionary of ``state`` and ``cell``, float [B, n].
        mask: bool [B, T] or None. Where False the state stays as it was.

    Returns:
        dictionary of ``state`` and ``cell``, float [B, T, n].
    """
    dtype, size = unit.product_dtype, unit.hidden_size
    real = tf.ones_like(inputs[..., :1]) if mask is None else tf.cast(mask, inputs.dtype)[..., tf.newaxis]
    real = tf.transpose(real, [1, 0, 2])  # [T, B, 1]
    p = tensor(unit.p) if unit.peepholes else tf.zeros([3 * size], inputs.dtype)

    @tf.custom_gradient
    def run(inputs, state, cell, U, p):
        U = ready(U, dtype)
        states, cells, *gates = _run_forward(inputs, real, state, cell, U, p, dtype)

        def gradient(states_gradient, cells_gradient):
            states_before = tf.concat([state[tf.newaxis], states[:-1]], axis=0)
            cells_before = tf.concat([cell[tf.newaxis], cells[:-1]], axis=0)
            forward = (cells_before, cells, *gates)
            deltas, *first = _run_backward((states_gradient, cells_gradient), forward, real, U, p, dtype)
            _, enter, keep, show = tf.split(deltas, 4, axis=-1)
            seen = (enter * cells_before, keep * cells_before, show * cells)
            p_gradient = tf.concat([tf.reduce_sum(values, axis=[0, 1]) for values in seen], axis=0)
            return deltas, *first, weight_gradient(states_before, deltas, dtype), p_gradient

        return (states, cells), gradient

    states, cells = run(tf.transpose(inputs, [1, 0, 2]), state["state"], state["cell"], tensor(unit.U), p)
    return {"state": tf.transpose(states, [1, 0, 2]), "cell": tf.transpose(cells, [1, 0, 2])}


def _run_forward(inputs, real, state, cell, U, p, dtype):
    """h, cell, g, i, f and o of all steps, each [T, B, n]."""
    steps = tf.shape(inputs)[0]
    p_input, p_forget, p_output = tf.split(p, 3)

    def step(t, state, cell, *results):
        g, i, f, o = tf.split(inputs[t] + product(state, U, dtype), 4, axis=-1)
        g, i, f = tf.tanh(g), tf.sigmoid(i + p_input * cell), tf.sigmoid(f + p_forget * cell)
        new_cell = f * cell + i * g
        o = tf.sigmoid(o + p_output * new_cell)
        kept = real[t]
        state = tf.ensure_shape(state + kept * (o * tf.tanh(new_cell) - state), state.shape)
        cell = tf.ensure_shape(cell + kept * (new_cell - cell), cell.shape)
        return t + 1, state, cell, *(array.write(t, value) for array, value in zip(results, (state, cell, g, i, f, o)))

    results = [tf.TensorArray(inputs.dtype, steps) for _ in range(6)]
    _, _, _, *results = tf.while_loop(lambda t, *_: t < steps, step, (0, state, cell, *results), parallel_iterations=1)
    return [array.stack() for array in results]


def _run_backward(outer, forward, real, U, p, dtype):
    """∂L/∂inputs of all steps [T, B, 4n], ∂L/∂h_0 and ∂L/∂cell_0 [B, n]."""
    p_input, p_forget, p_output = tf.split(p, 3)
    steps = tf.shape(real)[0]

    def step(t, carried_state, carried_cell, deltas):
        outer_state, outer_cell, before, cell, g, i, f, o, kept = (values[t] for values in (*outer, *forward, real))
        total_state, total_cell = carried_state + outer_state, carried_cell + outer_cell
        shown = tf.tanh(cell)
        state_delta = kept * total_state
        show = state_delta * shown * o * (1 - o)
        cell_delta = kept * total_cell + state_delta * o * (1 - shown * shown) + show * p_output
        enter, keep = cell_delta * g * i * (1 - i), cell_delta * before * f * (1 - f)
        delta = tf.concat([cell_delta * i * (1 - g * g), enter, keep, show], axis=-1)
        state_gradient = product(delta, U, dtype, transpose_right=True) + (1 - kept) * total_state
        cell_gradient = cell_delta * f + enter * p_input + keep * p_forget + (1 - kept) * total_cell
        return t - 1, state_gradient, cell_gradient, deltas.write(t, delta)

    zeros = tf.zeros_like(forward[0][0])
    first = (steps - 1, zeros, zeros, tf.TensorArray(zeros.dtype, steps))
    _, state_gradient, cell_gradient, deltas = tf.while_loop(lambda t, *_: t >= 0, step, first, parallel_iterations=1)
    return deltas.stack(), state_gradient, cell_gradient
