"""The gated hidden unit (Bahdanau et al. 2015, Appendix A.1.1), one step of it.

    z = σ(W_z e + U_z h' + C_z c)
    r = σ(W_r e + U_r h' + C_r c)
    h̃ = tanh(W e + U (r ∘ h') + C c)
    h = (1 − z) ∘ h' + z ∘ h̃

The encoder has no context c. Everything that does not depend on the previous state h'
comes in as ``inputs``, three blocks side by side: [W e + C c | W_z e + C_z c | W_r e + C_r c].

This is not Keras's or cuDNN's GRU: with ``reset_after=True`` those compute r ∘ (U h'),
and their z has the opposite meaning; so the fast cuDNN kernel cannot be used here.
"""

import tensorflow as tf

from rnnsearch_tf.layers.product import product


def gated_unit(inputs, state_gates, state, times_U):
    """One step of the unit.

    Args:
        inputs: float [..., 3n]: candidate, update and reset input, side by side.
        state_gates: float [..., 2n]: [U_z h' | U_r h'].
        state: float [..., n]: h'.
        times_U: function x [..., n] → U x [..., n].

    Returns:
        (new_state, gates): new_state float [..., n]; gates = (z, r, h̃), each [..., n], for the gradient.
    """
    candidate_input, gate_input = tf.split(inputs, [state.shape[-1], state_gates.shape[-1]], axis=-1)
    z, r = tf.split(tf.sigmoid(gate_input + state_gates), 2, axis=-1)
    candidate = tf.tanh(candidate_input + times_U(r * state))
    return state + z * (candidate - state), (z, r, candidate)


def gated_unit_gradient(new_state_gradient, state, gates, U, dtype=None):
    """The unit's backward step, but for what flows through U_z and U_r.

    Args:
        new_state_gradient: float [B, n]: ∂L/∂h.
        state: float [B, n]: h' of the forward step.
        gates: (z, r, h̃) of the forward step.
        U: float [n, n].
        dtype: operand dtype of the products, see ``product.py``.

    Returns:
        (deltas, state_gradient): deltas float [B, 3n] = ∂L/∂inputs, blocks as in ``inputs``; state_gradient [B, n] = ∂L/∂h'
        without the term deltas[gates] [U_z | U_r]ᵀ, which the caller adds (the decoder has one product for that and for W_a).
    """
    z, r, candidate = gates
    moved = new_state_gradient * z
    candidate_delta = tf.raw_ops.TanhGrad(y=candidate, dy=moved)  # moved · (1 − h̃²)
    reset_state_gradient = product(candidate_delta, U, dtype, transpose_right=True)  # ∂L/∂(r ∘ h')
    z_delta = tf.raw_ops.SigmoidGrad(y=z, dy=new_state_gradient * (candidate - state))  # … · z (1 − z)
    r_delta = tf.raw_ops.SigmoidGrad(y=r, dy=reset_state_gradient * state)
    state_gradient = new_state_gradient - moved + reset_state_gradient * r
    return tf.concat([candidate_delta, z_delta, r_delta], axis=-1), state_gradient
