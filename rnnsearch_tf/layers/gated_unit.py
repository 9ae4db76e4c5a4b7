"""The gated hidden unit (Bahdanau et al. 2015, Appendix A.1.1), one step of it.

    z = σ(W_z e + U_z h' + C_z c)
    r = σ(W_r e + U_r h' + C_r c)
    h̃ = tanh(W e + U (r ∘ h') + C c)
    h = (1 − z) ∘ h' + z ∘ h̃

The encoder has no context c. Everything that does not depend on the previous state h'
comes in as ``inputs``, three blocks side by side: [W e + C c | W_z e + C_z c | W_r e + C_r c].
The matrices that meet the state are kept as U (n → n) and U_gates = [U_z | U_r] (n → 2n).

This is not Keras's or cuDNN's GRU: with ``reset_after=True`` those compute r ∘ (U h'),
and their z has the opposite meaning; so the fast cuDNN kernel cannot be used here.
"""

import tensorflow as tf

from rnnsearch_tf.layers.product import batched_product


def gated_unit(inputs, state, U, U_gates, dtype=None):
    """One step of the unit.

    Args:
        inputs: float [..., rows, 3n]: candidate, update and reset input, side by side.
        state: float [..., rows, n]: h'.
        U: float [..., n, n].
        U_gates: float [..., n, 2n].
        dtype: operand dtype of the products, see ``product.py``.

    Returns:
        (new_state, gates): new_state float [..., rows, n]; gates = (z, r, h̃), each
        [..., rows, n], which :func:`gated_unit_gradient` wants back.
    """
    return gated_unit_after(inputs, batched_product(state, U_gates, dtype), state, U, dtype)


def gated_unit_after(inputs, state_gates, state, U, dtype=None):
    """:func:`gated_unit` where ``state_gates`` = [U_z h' | U_r h'] [..., rows, 2n] is there already."""
    candidate_input, gate_input = tf.split(inputs, [U.shape[-1], state_gates.shape[-1]], axis=-1)
    z, r = tf.split(tf.sigmoid(gate_input + state_gates), 2, axis=-1)
    candidate = tf.tanh(candidate_input + batched_product(r * state, U, dtype))
    return state + z * (candidate - state), (z, r, candidate)


def gated_unit_gradient(new_state_gradient, state, gates, U, dtype=None):
    """The unit's backward step, but for what flows through U_gates.

    Args:
        new_state_gradient: float [..., rows, n]: ∂L/∂h.
        state: h' of the forward step.
        gates: (z, r, h̃) of the forward step.
        U: float [..., n, n].
        dtype: as in :func:`gated_unit`.

    Returns:
        (deltas, state_gradient): deltas float [..., rows, 3n] = ∂L/∂inputs, blocks as in
        ``inputs``; state_gradient [..., rows, n] = ∂L/∂h' without the term
        deltas[gates] U_gatesᵀ, which the caller adds (the decoder has one product for
        that and for the alignment model's W_a).
    """
    z, r, candidate = gates
    moved = new_state_gradient * z
    candidate_delta = tf.raw_ops.TanhGrad(y=candidate, dy=moved)  # moved · (1 − h̃²)
    reset_state_gradient = batched_product(candidate_delta, U, dtype, transpose_right=True)  # ∂L/∂(r ∘ h')
    z_delta = tf.raw_ops.SigmoidGrad(y=z, dy=new_state_gradient * (candidate - state))  # … · z (1 − z)
    r_delta = tf.raw_ops.SigmoidGrad(y=r, dy=reset_state_gradient * state)
    state_gradient = new_state_gradient - moved + reset_state_gradient * r
    return tf.concat([candidate_delta, z_delta, r_delta], axis=-1), state_gradient
