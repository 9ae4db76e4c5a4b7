"""The gated hidden unit (Bahdanau et al. 2015, Appendix A.1.1): one step, and all steps with a
handwritten gradient.

    z = σ(W_z e + U_z h' + C_z c)
    r = σ(W_r e + U_r h' + C_r c)
    h̃ = tanh(W e + U (r ∘ h') + C c)
    h = (1 − z) ∘ h' + z ∘ h̃

The encoder has no context c. In the decoder, c_i is the result of content attention with the
previous state, see ``attention.py``:

    e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j),   α_i = softmax of e_i,   c_i = Σ_j α_ij h_j

The terms that do not depend on the previous state are the ``inputs``, three blocks side by side:
[W e + C c | W_z e + C_z c | W_r e + C_r c]. The inputs of the decoder do not contain c_i; attention
sums the C h_j.

The loops of the handwritten gradients carry only the gradient of the state. The gradient of each
weight is one product over all positions after the loop, instead of one small product and one sum
per step.

This is not the GRU of Keras or cuDNN: with ``reset_after=True`` they compute r ∘ (U h'), and their
z has the opposite meaning. So the fast cuDNN kernel cannot be used here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import tensorflow as tf

from rnnsearch_tf.layers.attention import AttentionMemory, additive_attention, alignment_hidden
from rnnsearch_tf.layers.base import State, batched_matmul, cast_weights, matmul, weight_gradient
from rnnsearch_tf.runtime.tensorflow_internals import sigmoid_gradient, tanh_gradient

Gates: TypeAlias = tuple[tf.Tensor, tf.Tensor, tf.Tensor]
"""z, r and h̃ of a step, each float [..., n]."""


def gated_unit(
    inputs: tf.Tensor,
    state_gates: tf.Tensor,
    state: tf.Tensor,
    times_U: Callable[[tf.Tensor], tf.Tensor],
) -> tuple[tf.Tensor, Gates]:
    """One step of the unit.

    Args:
        inputs: float [..., 3n]: candidate, update and reset input, side by side.
        state_gates: float [..., 2n]: [U_z h' | U_r h'].
        state: float [..., n]: h'.
        times_U: function x [..., n] → U x [..., n].

    Returns:
        (new_state, gates): new_state float [..., n]; gates = (z, r, h̃), each [..., n], for the
        gradient.
    """
    candidate_input, gate_input = tf.split(
        inputs, [state.shape[-1], state_gates.shape[-1]], axis=-1
    )
    z, r = tf.split(tf.sigmoid(gate_input + state_gates), 2, axis=-1)
    candidate = tf.tanh(candidate_input + times_U(r * state))
    return state + z * (candidate - state), (z, r, candidate)


def gated_unit_gradient(
    new_state_gradient: tf.Tensor,
    state: tf.Tensor,
    gates: Sequence[tf.Tensor],
    U: tf.Tensor,
    dtype: str | None = None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """The backward step of the unit, without the gradient that flows through U_z and U_r.

    Args:
        new_state_gradient: float [B, n]: ∂L/∂h.
        state: float [B, n]: h' of the forward step.
        gates: (z, r, h̃) of the forward step.
        U: float [n, n].
        dtype: operand dtype of the products, see ``layers/base.py``.

    Returns:
        (deltas, state_gradient): deltas float [B, 3n] = ∂L/∂inputs, blocks as in ``inputs``;
        state_gradient [B, n] = ∂L/∂h' without the term deltas[gates] [U_z | U_r]ᵀ, which the caller
        adds (the decoder computes it in one product with that of W_a).
    """
    z, r, candidate = gates
    moved = new_state_gradient * z
    candidate_delta = tanh_gradient(y=candidate, dy=moved)  # moved · (1 − h̃²)
    reset_state_gradient = matmul(candidate_delta, U, dtype, transpose_right=True)  # ∂L/∂(r ∘ h')
    # … · z (1 − z)
    z_delta = sigmoid_gradient(y=z, dy=new_state_gradient * (candidate - state))
    r_delta = sigmoid_gradient(y=r, dy=reset_state_gradient * state)
    state_gradient = new_state_gradient - moved + reset_state_gradient * r
    return tf.concat([candidate_delta, z_delta, r_delta], axis=-1), state_gradient


def gru(
    inputs: tf.Tensor,
    state: State,
    weights: Mapping[str, tf.Tensor],
    mask: tf.Tensor | None = None,
    dtype: str | None = None,
    training: bool = True,
) -> State:
    """The states after every position.

    Args:
        inputs: float [B, T, 3n], as above.
        state: {"state": float [B, n]}, before the first position.
        weights: dictionary of the tensors U [n, n] and U_gates [n, 2n], which is [U_z | U_r].
        mask: bool [B, T] or None. Where it is False, the state does not change.
        dtype: operand dtype of the products.
        training: whether to use the handwritten gradient; TensorFlow keeps a graph with one
            until the process ends.

    Returns:
        {"state": float [B, T, n]}.
    """
    real = (
        tf.ones_like(inputs[..., :1])
        if mask is None
        else tf.cast(mask, inputs.dtype)[..., tf.newaxis]
    )
    real = tf.transpose(real, [1, 0, 2])  # [T, B, 1]

    def run(
        inputs: tf.Tensor, first: tf.Tensor, U: tf.Tensor, U_gates: tf.Tensor
    ) -> tuple[tf.Tensor, Callable[..., tuple[tf.Tensor, ...]]]:
        n = U.shape[-1]
        U, U_gates = cast_weights((U, U_gates), dtype)
        states, *gates = _forward(inputs, real, first, U, U_gates, dtype)

        def gradient(states_gradient: tf.Tensor) -> tuple[tf.Tensor, ...]:
            before = tf.concat([first[tf.newaxis], states[:-1]], axis=0)  # h' of every step
            deltas, first_gradient = _backward(
                states_gradient, before, gates, real, U, U_gates, dtype
            )
            return (
                deltas,
                first_gradient,
                weight_gradient(gates[1] * before, deltas[..., :n], dtype),
                weight_gradient(before, deltas[..., n:], dtype),
            )

        return states, gradient

    arguments = tf.transpose(inputs, [1, 0, 2]), state["state"], weights["U"], weights["U_gates"]
    states = tf.custom_gradient(run)(*arguments) if training else run(*arguments)[0]
    return {"state": tf.transpose(states, [1, 0, 2])}


def _forward(
    inputs: tf.Tensor,
    real: tf.Tensor,
    state: tf.Tensor,
    U: tf.Tensor,
    U_gates: tf.Tensor,
    dtype: str | None,
) -> list[tf.Tensor]:
    """states, z, r and h̃ of all steps, each [T, B, n]."""
    steps = tf.shape(inputs)[0]
    results = [tf.TensorArray(inputs.dtype, steps) for _ in range(4)]

    def step(t: tf.Tensor, state: tf.Tensor, *results: tf.TensorArray) -> tuple[Any, ...]:
        new_state, gates = gated_unit(
            inputs[t], matmul(state, U_gates, dtype), state, lambda x: matmul(x, U, dtype)
        )
        state = tf.ensure_shape(state + real[t] * (new_state - state), state.shape)
        return (
            t + 1,
            state,
            *(array.write(t, value) for array, value in zip(results, (state, *gates))),
        )

    _, _, *results = tf.while_loop(
        lambda t, *_: t < steps, step, (0, state, *results), parallel_iterations=1
    )
    return [array.stack() for array in results]


def _backward(
    states_gradient: tf.Tensor,
    before: tf.Tensor,
    gates: Sequence[tf.Tensor],
    real: tf.Tensor,
    U: tf.Tensor,
    U_gates: tf.Tensor,
    dtype: str | None,
) -> tuple[tf.Tensor, tf.Tensor]:
    """∂L/∂inputs of all steps [T, B, 3n], and ∂L/∂h_0 [B, n]."""
    steps = tf.shape(before)[0]
    forward = (states_gradient, before, *gates, real)

    def step(t: tf.Tensor, carried: tf.Tensor, deltas: tf.TensorArray) -> tuple[Any, ...]:
        outer, state, z, r, candidate, is_real = (values[t] for values in forward)
        total = carried + outer
        delta, state_gradient = gated_unit_gradient(
            total * is_real, state, (z, r, candidate), U, dtype
        )
        state_gradient += matmul(delta[..., U.shape[-1] :], U_gates, dtype, transpose_right=True)
        return t - 1, state_gradient + total * (1 - is_real), deltas.write(t, delta)

    last = (steps - 1, tf.zeros_like(before[0]), tf.TensorArray(before.dtype, steps))
    _, first_gradient, deltas = tf.while_loop(
        lambda t, *_: t >= 0, step, last, parallel_iterations=1
    )
    return deltas.stack(), first_gradient


def attending_gru(
    inputs: tf.Tensor,
    state: State,
    weights: Mapping[str, tf.Tensor],
    memory: AttentionMemory,
    dtype: str | None = None,
) -> list[tf.Tensor]:
    """The states after every target position, and the attention weights of each step.

    The gradient recomputes tanh(W_a s + U_a h) instead of storing it: stored for all I steps, it
    would need more memory than everything else together.

    Args:
        inputs: float [B, I, 3n].
        state: {"state": s_0 [B, n]}.
        weights: dictionary of the tensors U [n, n], U_gates [n, 2n], W_a [n, n'] and v_a [n', 1].
        memory: AttentionMemory with the values C h_j [B, J, 3n].
        dtype: operand dtype of the products.

    Returns:
        (states [B, I, n], alignments [B, I, J]).
    """

    @tf.custom_gradient
    def run(
        inputs: tf.Tensor,
        first: tf.Tensor,
        projected_context: tf.Tensor,
        projected_annotations: tf.Tensor,
        W_a: tf.Tensor,
        v_a: tf.Tensor,
        U: tf.Tensor,
        U_gates: tf.Tensor,
    ) -> tuple[tuple[tf.Tensor, tf.Tensor], Callable[..., tuple[tf.Tensor, ...]]]:
        cast_memory = AttentionMemory(
            cast_weights(projected_context, dtype), projected_annotations, memory.mask
        )
        # All weights that multiply s_{i−1} itself, for one product: [U_z | U_r | W_a] [n, 2n + n'].
        # v_a is not in a product with operands in dtype.
        state_weights, U = cast_weights((tf.concat([U_gates, W_a], axis=1), U), dtype)
        states, alignments, queries, *gates = _attending_forward(
            inputs, first, cast_memory, state_weights, v_a, U, dtype
        )

        def gradient(
            states_gradient: tf.Tensor, alignments_gradient: tf.Tensor
        ) -> tuple[tf.Tensor, ...]:
            # s_{i−1}, time first
            n = U.shape[-1]
            before = tf.concat([first[tf.newaxis], states[:-1]], axis=0)
            outer = (states_gradient, alignments_gradient)
            forward = (before, alignments, queries, *gates)
            deltas, query_deltas, first_gradient, projected_gradient, v_a_gradient = (
                _attending_backward(outer, forward, cast_memory, state_weights, v_a, U, dtype)
            )
            # through Σ_j α_ij C h_j, batch first again
            alignments_by_batch, deltas_by_batch = (
                tf.transpose(values, [1, 0, 2]) for values in (alignments, deltas)
            )
            context_gradient = batched_matmul(
                alignments_by_batch, deltas_by_batch, dtype, transpose_left=True
            )
            W_a_gradient = weight_gradient(before, query_deltas, dtype)
            U_gradient = weight_gradient(gates[1] * before, deltas[..., :n], dtype)
            U_gates_gradient = weight_gradient(before, deltas[..., n:], dtype)
            return (
                deltas,
                first_gradient,
                context_gradient,
                projected_gradient,
                W_a_gradient,
                v_a_gradient,
                U_gradient,
                U_gates_gradient,
            )

        return (states, alignments), gradient

    time_first = run(
        tf.transpose(inputs, [1, 0, 2]),
        state["state"],
        memory.values,
        memory.keys,
        *(weights[letter] for letter in ("W_a", "v_a", "U", "U_gates")),
    )
    return [tf.transpose(values, [1, 0, 2]) for values in time_first]


def _attending_forward(
    inputs: tf.Tensor,
    state: tf.Tensor,
    memory: AttentionMemory,
    state_weights: tf.Tensor,
    v_a: tf.Tensor,
    U: tf.Tensor,
    dtype: str | None,
) -> list[tf.Tensor]:
    """states, alignments, queries W_a s_{i−1}, z, r and h̃ of all steps, time first."""
    steps = tf.shape(inputs)[0]
    n = U.shape[-1]
    results = [tf.TensorArray(inputs.dtype, steps) for _ in range(6)]

    def step(i: tf.Tensor, state: tf.Tensor, *results: tf.TensorArray) -> tuple[Any, ...]:
        state_gates, query = tf.split(
            matmul(state, state_weights, dtype), [2 * n, v_a.shape[0]], axis=-1
        )
        projected_context, alignment = additive_attention(query[:, tf.newaxis], memory, v_a, dtype)
        new_state, gates = gated_unit(
            inputs[i] + projected_context[:, 0], state_gates, state, lambda x: matmul(x, U, dtype)
        )
        new_state = tf.ensure_shape(new_state, state.shape)
        values = (new_state, alignment[:, 0], query, *gates)
        return (i + 1, new_state, *(array.write(i, value) for array, value in zip(results, values)))

    _, _, *results = tf.while_loop(
        lambda i, *_: i < steps, step, (0, state, *results), parallel_iterations=1
    )
    return [array.stack() for array in results]


def _attending_backward(
    outer: Sequence[tf.Tensor],
    forward: Sequence[tf.Tensor],
    memory: AttentionMemory,
    state_weights: tf.Tensor,
    v_a: tf.Tensor,
    U: tf.Tensor,
    dtype: str | None,
) -> tuple[tf.Tensor, ...]:
    """The loop from the last target position to the first.

    The gradient of the softmax sums to zero over j, so only the term with tanh² of
    ∂L/∂e_ij · (1 − tanh²) has to be summed.

    Returns:
        deltas [I, B, 3n] (∂L/∂inputs), query_deltas [I, B, n'] (∂L/∂(W_a s)), ∂L/∂s_0 [B, n],
        ∂L/∂(U_a h) [B, J, n'], ∂L/∂v_a [n', 1].
    """
    before, alignments, *_ = forward
    steps = tf.shape(before)[0]
    n = U.shape[-1]
    v_a_row = v_a[:, 0]
    # For few rows, TensorFlow's float32 product takes twice as long if it has to transpose its
    # right operand.
    transposed = dtype is None
    state_weights = tf.transpose(state_weights) if transposed else state_weights

    def step(
        i: tf.Tensor,
        carried: tf.Tensor,
        energy_sum: tf.Tensor,
        square_sum: tf.Tensor,
        v_a_sum: tf.Tensor,
        deltas: tf.TensorArray,
        query_deltas: tf.TensorArray,
    ) -> tuple[Any, ...]:
        outer_state, outer_alignment, state, alignment, query, *unit = (
            values[i] for values in (*outer, *forward)
        )
        delta, state_gradient = gated_unit_gradient(carried + outer_state, state, unit, U, dtype)
        through_sum = batched_matmul(
            delta[:, tf.newaxis], memory.values, dtype, transpose_right=True
        )
        weighted = alignment * (outer_alignment + through_sum[:, 0])
        # [B, J]
        energy_delta = weighted - alignment * tf.reduce_sum(weighted, axis=-1, keepdims=True)
        # [B, J, n']
        hidden = alignment_hidden(query[:, tf.newaxis], memory.keys)[:, 0]
        squares = energy_delta[..., tf.newaxis] * (hidden * hidden)
        query_delta = -v_a_row * tf.reduce_sum(squares, axis=1)  # [B, n']
        state_delta = tf.concat([delta[:, n:], query_delta], axis=-1)
        state_gradient += matmul(state_delta, state_weights, dtype, transpose_right=not transposed)
        return (
            i - 1,
            state_gradient,
            energy_sum + energy_delta,
            square_sum + squares,
            v_a_sum + weight_gradient(hidden, energy_delta[..., tf.newaxis]),
            deltas.write(i, delta),
            query_deltas.write(i, query_delta),
        )

    arrays_out = [tf.TensorArray(before.dtype, steps) for _ in range(2)]
    sums = (alignments[0], memory.keys, v_a)
    start = (steps - 1, tf.zeros_like(before[0]), *map(tf.zeros_like, sums), *arrays_out)
    _, state_gradient, energy_sum, square_sum, v_a_gradient, *results = tf.while_loop(
        lambda i, *_: i >= 0, step, start, parallel_iterations=1
    )
    # What the loop leaves is ∂L/∂s_0. The outer gradient of every later state was added in the step
    # that computes that state.
    deltas, query_deltas = (array.stack() for array in results)
    projected_gradient = v_a_row * (energy_sum[..., tf.newaxis] - square_sum)
    return deltas, query_deltas, state_gradient, projected_gradient, v_a_gradient
