"""The gated unit with content attention over all target positions, with a gradient that runs it back.

    e_ij = v_aᵀ tanh(W_a s_{i−1} + U_a h_j),   α_i = softmax of e_i           see ``attention.py``
    s_i = gated unit(inputs_i + Σ_j α_ij C h_j, s_{i−1})                      see ``gated_unit.py``

The loop of the gradient carries the state's gradient only; the gradients of the weights and of the C h_j are single
products over all positions afterwards. tanh(W_a s + U_a h) is computed again rather than stored: for one batch it would
be I times as large as everything else together.
"""

from typing import NamedTuple

import tensorflow as tf

from rnnsearch_tf.layers.attention import AttentionMemory, additive_attention, alignment_hidden
from rnnsearch_tf.layers.gated_unit import gated_unit, gated_unit_gradient
from rnnsearch_tf.layers.product import batched_product, product, ready, weight_gradient


class StepWeights(NamedTuple):
    """The weights of one step, as tensors: W_a [n, n'], v_a [n', 1], U [n, n], U_gates [n, 2n]."""

    W_a: tf.Tensor
    v_a: tf.Tensor
    U: tf.Tensor
    U_gates: tf.Tensor


def attending_gru(inputs, initial_state, memory, weights, dtype=None):
    """The states after every position, and where each step looked.

    Args:
        inputs: float [B, I, 3n].
        initial_state: float [B, n]: s_0.
        memory: AttentionMemory, with C h_j [B, J, 3n] for annotations.
        weights: StepWeights.
        dtype: operand dtype of the products.

    Returns:
        (states [B, I, n], alignments [B, I, J]).
    """

    @tf.custom_gradient
    def run(inputs, initial_state, projected_context, projected_annotations, *weights):
        weights, projected_context = StepWeights(*weights), ready(projected_context, dtype)
        weights = StepWeights(*ready(weights, dtype))._replace(v_a=weights.v_a)  # v_a meets no product in dtype
        own_memory = AttentionMemory(projected_context, projected_annotations, memory.mask)
        states, alignments, queries, gates = _run_forward(inputs, initial_state, own_memory, weights, dtype)

        def gradient(states_gradient, alignments_gradient):
            before = tf.concat([initial_state[tf.newaxis], states[:-1]], axis=0)  # s_{i−1}, time first
            forward = (before, alignments, queries, gates)
            return _gradient((states_gradient, alignments_gradient), forward, own_memory, weights, dtype)

        return (states, alignments), gradient

    time_first = run(
        tf.transpose(inputs, [1, 0, 2]), initial_state, memory.annotations, memory.projected_annotations, *weights
    )
    return [tf.transpose(values, [1, 0, 2]) for values in time_first]


def _run_forward(inputs, initial_state, memory, weights, dtype):
    """states, alignments, queries W_a s_{i−1} and gates (z, r, h̃) of all steps, time first."""
    steps = tf.shape(inputs)[0]
    state_weights = _state_weights(weights)
    results = [tf.TensorArray(inputs.dtype, steps) for _ in range(6)]

    def step(i, state, *results):
        state_gates, query = tf.split(product(state, state_weights, dtype), _sizes(weights), axis=-1)
        projected_context, alignment = additive_attention(query[:, tf.newaxis], memory, weights.v_a, dtype)
        times_U = lambda x: product(x, weights.U, dtype)  # noqa: E731
        new_state, gates = gated_unit(inputs[i] + projected_context[:, 0], state_gates, state, times_U)
        new_state = tf.ensure_shape(new_state, state.shape)
        values = (new_state, alignment[:, 0], query, *gates)
        return (i + 1, new_state, *(array.write(i, value) for array, value in zip(results, values)))

    _, _, *results = tf.while_loop(lambda i, *_: i < steps, step, (0, initial_state, *results), parallel_iterations=1)
    states, alignments, queries, *gates = (array.stack() for array in results)
    return states, alignments, queries, gates


def _state_weights(weights):
    """All that multiplies s_{i−1} as it is, for one product: [U_z | U_r | W_a] [n, 2n + n']."""
    return tf.concat([weights.U_gates, weights.W_a], axis=1)


def _sizes(weights):
    return [weights.U_gates.shape[-1], weights.W_a.shape[-1]]


def _gradient(outer, forward, memory, weights, dtype):
    """Gradients of all arguments of ``run``, in their order."""
    before, alignments, _, gates = forward
    size = weights.U.shape[0]
    deltas, query_deltas, state_gradient, projected_gradient, v_a_gradient = _run_backward(
        outer, forward, memory, weights, dtype
    )
    sentence_first = [tf.transpose(values, [1, 0, 2]) for values in (alignments, deltas)]
    context_gradient = batched_product(*sentence_first, dtype, transpose_left=True)  # through Σ_j α_ij C h_j
    step_gradients = StepWeights(
        W_a=weight_gradient(before, query_deltas, dtype),
        v_a=v_a_gradient,
        U=weight_gradient(gates[1] * before, deltas[..., :size], dtype),
        U_gates=weight_gradient(before, deltas[..., size:], dtype),
    )
    return deltas, state_gradient, context_gradient, projected_gradient, *step_gradients


def _run_backward(outer, forward, memory, weights, dtype):
    """The loop from the last target position to the first.

    The softmax's gradient sums to zero over j, so of ∂L/∂e_ij · (1 − tanh²) only the part with tanh² has to be summed.

    Returns:
        deltas [I, B, 3n] (∂L/∂inputs), query_deltas [I, B, n'] (∂L/∂(W_a s)), ∂L/∂s_0 [B, n],
        ∂L/∂(U_a h) [B, J, n'], ∂L/∂v_a [n', 1].
    """
    before, alignments, queries, gates = forward
    steps, size = tf.shape(before)[0], weights.U.shape[0]
    saved = (*outer, before, alignments, queries, *gates)
    state_weights, v_a = _state_weights(weights), weights.v_a[:, 0]
    # TensorFlow's float32 product of few rows takes twice as long where it has to transpose its right side itself.
    transposed = dtype is None
    state_weights = tf.transpose(state_weights) if transposed else state_weights

    def step(i, carried, energy_sum, square_sum, v_a_sum, deltas, query_deltas):
        outer_state, outer_alignment, state, alignment, query, *unit = (values[i] for values in saved)
        delta, state_gradient = gated_unit_gradient(carried + outer_state, state, unit, weights.U, dtype)
        through_sum = batched_product(delta[:, tf.newaxis], memory.annotations, dtype, transpose_right=True)
        weighted = alignment * (outer_alignment + through_sum[:, 0])
        energy_delta = weighted - alignment * tf.reduce_sum(weighted, axis=-1, keepdims=True)  # [B, J]
        hidden = alignment_hidden(query[:, tf.newaxis], memory.projected_annotations)[:, 0]  # [B, J, n']
        squares = energy_delta[..., tf.newaxis] * (hidden * hidden)
        query_delta = -v_a * tf.reduce_sum(squares, axis=1)  # [B, n']
        state_delta = tf.concat([delta[:, size:], query_delta], axis=-1)
        state_gradient += product(state_delta, state_weights, dtype, transpose_right=not transposed)
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
    sums = (alignments[0], memory.projected_annotations, weights.v_a)
    start = (steps - 1, tf.zeros_like(before[0]), *map(tf.zeros_like, sums), *arrays_out)
    _, state_gradient, energy_sum, square_sum, v_a_gradient, *results = tf.while_loop(
        lambda i, *_: i >= 0, step, start, parallel_iterations=1
    )
    # s_0 receives what was carried; the outer gradient of s_i entered with step i + 1 as carried + outer.
    deltas, query_deltas = (array.stack() for array in results)
    projected_gradient = v_a * (energy_sum[..., tf.newaxis] - square_sum)
    return deltas, query_deltas, state_gradient, projected_gradient, v_a_gradient
