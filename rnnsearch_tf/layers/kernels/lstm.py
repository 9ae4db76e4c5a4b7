"""The LSTM (Hochreiter and Schmidhuber 1997, with the forget gate of Gers et al. 2000): one step,
and all steps with a handwritten gradient.

    i, f, o = σ(W_g e + U_g h' + C_g c + b_g),  g = tanh(W e + U h' + C c + b)
    cell = f ∘ cell' + i ∘ g
    h = o ∘ tanh(cell)

Bahdanau et al. (A.1.1) say that it may replace the gated unit, but give no formula. With peepholes
(Graves 2013, eqs. 7-11), i and f also read p ∘ cell', and o reads p_output ∘ cell.

The loop of the gradient carries only the gradients of state and cell. The gradient of each weight
is one product over all positions after the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import tensorflow as tf

from rnnsearch_tf.layers.base import State, cast_weights, matmul, weight_gradient

Gates: TypeAlias = tuple[tf.Tensor, tf.Tensor, tf.Tensor, tf.Tensor]
"""g, i, f and o of a step, each float [..., n]."""


def lstm_unit(
    total: tf.Tensor, cell: tf.Tensor, p: tf.Tensor | None = None
) -> tuple[tf.Tensor, tf.Tensor, Gates]:
    """One step of the unit.

    Args:
        total: float [..., 4n]: the sums inside g, i, f and o, side by side, without peepholes.
        cell: float [..., n]: cell'.
        p: float [3n]: [p_input | p_forget | p_output]; None: no peepholes.

    Returns:
        (new_state [..., n], new_cell [..., n], gates): gates = (g, i, f, o), for the gradient.
    """
    candidate, input_gate, forget_gate, output_gate = tf.split(total, 4, axis=-1)
    p_input, p_forget, p_output = (0.0, 0.0, 0.0) if p is None else tf.split(p, 3)
    g = tf.tanh(candidate)
    i = tf.sigmoid(input_gate + p_input * cell)
    f = tf.sigmoid(forget_gate + p_forget * cell)
    new_cell = f * cell + i * g
    o = tf.sigmoid(output_gate + p_output * new_cell)
    return o * tf.tanh(new_cell), new_cell, (g, i, f, o)


def lstm(
    inputs: tf.Tensor,
    state: State,
    weights: Mapping[str, tf.Tensor],
    mask: tf.Tensor | None = None,
    dtype: str | None = None,
    training: bool = True,
) -> State:
    """The states and cells after every position.

    Args:
        inputs: float [B, T, 4n]: the sums inside g, i, f and o, without the terms that depend on
            state and cell.
        state: {"state", "cell"}: float [B, n], before the first position.
        weights: dictionary of the tensors U [n, 4n] and p [3n] or None, see :func:`lstm_unit`.
        mask: bool [B, T] or None. Where it is False, state and cell do not change.
        dtype: operand dtype of the products.
        training: whether to use the handwritten gradient; TensorFlow keeps a graph with one
            until the process ends.

    Returns:
        {"state", "cell"}: float [B, T, n].
    """
    real = (
        tf.ones_like(inputs[..., :1])
        if mask is None
        else tf.cast(mask, inputs.dtype)[..., tf.newaxis]
    )
    real = tf.transpose(real, [1, 0, 2])  # [T, B, 1]
    p = (
        tf.zeros([3 * weights["U"].shape[0]], inputs.dtype)
        if weights["p"] is None
        else weights["p"]
    )

    def run(
        inputs: tf.Tensor, state: tf.Tensor, cell: tf.Tensor, U: tf.Tensor, p: tf.Tensor
    ) -> tuple[tuple[tf.Tensor, tf.Tensor], Callable[..., tuple[tf.Tensor, ...]]]:
        U = cast_weights(U, dtype)
        states, cells, *gates = _forward(inputs, real, state, cell, U, p, dtype)

        def gradient(
            states_gradient: tf.Tensor, cells_gradient: tf.Tensor
        ) -> tuple[tf.Tensor, ...]:
            states_before = tf.concat([state[tf.newaxis], states[:-1]], axis=0)
            cells_before = tf.concat([cell[tf.newaxis], cells[:-1]], axis=0)
            forward = (cells_before, cells, *gates)
            deltas, *first = _backward(
                (states_gradient, cells_gradient), forward, real, U, p, dtype
            )
            _, i_delta, f_delta, o_delta = tf.split(deltas, 4, axis=-1)
            seen = (i_delta * cells_before, f_delta * cells_before, o_delta * cells)
            p_gradient = tf.concat([tf.reduce_sum(values, axis=[0, 1]) for values in seen], axis=0)
            return deltas, *first, weight_gradient(states_before, deltas, dtype), p_gradient

        return (states, cells), gradient

    arguments = tf.transpose(inputs, [1, 0, 2]), state["state"], state["cell"], weights["U"], p
    states, cells = tf.custom_gradient(run)(*arguments) if training else run(*arguments)[0]
    return {"state": tf.transpose(states, [1, 0, 2]), "cell": tf.transpose(cells, [1, 0, 2])}


def _forward(
    inputs: tf.Tensor,
    real: tf.Tensor,
    state: tf.Tensor,
    cell: tf.Tensor,
    U: tf.Tensor,
    p: tf.Tensor,
    dtype: str | None,
) -> list[tf.Tensor]:
    """h, cell, g, i, f and o of all steps, each [T, B, n]."""
    steps = tf.shape(inputs)[0]

    def step(
        t: tf.Tensor, state: tf.Tensor, cell: tf.Tensor, *results: tf.TensorArray
    ) -> tuple[Any, ...]:
        new_state, new_cell, gates = lstm_unit(inputs[t] + matmul(state, U, dtype), cell, p)
        state = tf.ensure_shape(state + real[t] * (new_state - state), state.shape)
        cell = tf.ensure_shape(cell + real[t] * (new_cell - cell), cell.shape)
        return (
            t + 1,
            state,
            cell,
            *(array.write(t, value) for array, value in zip(results, (state, cell, *gates))),
        )

    results = [tf.TensorArray(inputs.dtype, steps) for _ in range(6)]
    _, _, _, *results = tf.while_loop(
        lambda t, *_: t < steps, step, (0, state, cell, *results), parallel_iterations=1
    )
    return [array.stack() for array in results]


def _backward(
    outer: Sequence[tf.Tensor],
    forward: Sequence[tf.Tensor],
    real: tf.Tensor,
    U: tf.Tensor,
    p: tf.Tensor,
    dtype: str | None,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """∂L/∂inputs of all steps [T, B, 4n], ∂L/∂h_0 and ∂L/∂cell_0 [B, n]."""
    p_input, p_forget, p_output = tf.split(p, 3)
    steps = tf.shape(real)[0]

    def step(
        t: tf.Tensor, carried_state: tf.Tensor, carried_cell: tf.Tensor, deltas: tf.TensorArray
    ) -> tuple[Any, ...]:
        outer_state, outer_cell, before, cell, g, i, f, o, is_real = (
            values[t] for values in (*outer, *forward, real)
        )
        total_state = carried_state + outer_state
        total_cell = carried_cell + outer_cell
        cell_tanh = tf.tanh(cell)
        state_delta = is_real * total_state
        o_delta = state_delta * cell_tanh * o * (1 - o)
        cell_delta = (
            is_real * total_cell
            + state_delta * o * (1 - cell_tanh * cell_tanh)
            + o_delta * p_output
        )
        i_delta = cell_delta * g * i * (1 - i)
        f_delta = cell_delta * before * f * (1 - f)
        delta = tf.concat([cell_delta * i * (1 - g * g), i_delta, f_delta, o_delta], axis=-1)
        state_gradient = matmul(delta, U, dtype, transpose_right=True) + (1 - is_real) * total_state
        cell_gradient = (
            cell_delta * f + i_delta * p_input + f_delta * p_forget + (1 - is_real) * total_cell
        )
        return t - 1, state_gradient, cell_gradient, deltas.write(t, delta)

    zeros = tf.zeros_like(forward[0][0])
    last = (steps - 1, zeros, zeros, tf.TensorArray(zeros.dtype, steps))
    _, state_gradient, cell_gradient, deltas = tf.while_loop(
        lambda t, *_: t >= 0, step, last, parallel_iterations=1
    )
    return deltas.stack(), state_gradient, cell_gradient
