"""The LSTM (Hochreiter and Schmidhuber 1997, the forget gate of Gers et al. 2000), one step of it.

    i, f, o = σ(W_g e + U_g h' + C_g c + b_g),  g = tanh(W e + U h' + C c + b)
    cell = f ∘ cell' + i ∘ g
    h = o ∘ tanh(cell)

Bahdanau et al. (A.1.1) say that it may stand in for the gated unit and write no formula. With peepholes
(Graves 2013, eqs. 7-11) i and f also see p ∘ cell', and o sees p_output ∘ cell.
"""

import tensorflow as tf


def lstm_unit(total, cell, p=None, shown=tf.identity):
    """One step of the unit.

    Args:
        total: float [..., 4n]: the sums inside g, i, f and o, side by side, peepholes left out.
        cell: float [..., n]: cell'.
        p: float [3n]: [p_input | p_forget | p_output]; None: no peepholes.
        shown: what is done to the new cell inside tanh(cell): layer normalization.

    Returns:
        (new_state [..., n], new_cell [..., n], gates): gates = (g, i, f, o), which :func:`lstm_unit_gradient` takes.
    """
    candidate, input_gate, forget_gate, output_gate = tf.split(total, 4, axis=-1)
    p_input, p_forget, p_output = (0.0, 0.0, 0.0) if p is None else tf.split(p, 3)
    g = tf.tanh(candidate)
    i, f = tf.sigmoid(input_gate + p_input * cell), tf.sigmoid(forget_gate + p_forget * cell)
    new_cell = f * cell + i * g
    o = tf.sigmoid(output_gate + p_output * new_cell)
    return o * tf.tanh(shown(new_cell)), new_cell, (g, i, f, o)
