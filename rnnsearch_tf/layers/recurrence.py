"""All positions of a recurrence: by a kernel with a gradient written by hand where there is one, else by ``scan``.

Each kernel is at least 1.15 times as fast as ``scan`` with TensorFlow's gradient (``benchmarks/kernels.py``).
"""

import tensorflow as tf

from rnnsearch_tf.layers.base import tensor
from rnnsearch_tf.layers.kernels.attending_gru import StepWeights, attending_gru
from rnnsearch_tf.layers.kernels.gru import gru
from rnnsearch_tf.layers.kernels.lstm import lstm
from rnnsearch_tf.layers.scan import scan


def unit_states(unit, inputs, state, mask=None):
    """The states of a RecurrentUnit after every position.

    Args:
        unit: RecurrentUnit.
        inputs: float [B, T, 3n or 4n], from ``unit.inputs``.
        state: dictionary of float [B, n], from ``unit.initial_state``.
        mask: bool [B, T] or None. Where False the state stays as it was.

    Returns:
        A dictionary like ``state`` of float [B, T, n].
    """
    kernel = KERNELS.get((unit.unit, unit.layer_normalization, None))
    return kernel(unit, inputs, state, mask) if kernel else scan(unit.advance, inputs, state, mask)


def decoder_states(decoder, inputs, state, memory):
    """The states of a Decoder after every target position, and where each step attended to.

    Args:
        decoder: Decoder.
        inputs: float [B, I, 3n or 4n], from ``decoder.inputs``.
        state: dictionary of float [B, ...], from ``decoder.initial_state``.
        memory: of the alignment model, with ``decoder.project_context`` of its annotations.

    Returns:
        (states [B, I, n], alignments [B, I, J]).
    """
    kernel = KERNELS.get((decoder.unit, decoder.layer_normalization, decoder.attention))
    if kernel:
        return kernel(decoder, inputs, state, memory)

    def step(inputs, carried):
        state, inputs = tf.nest.map_structure(lambda x: x[:, tf.newaxis], (carried[0], inputs))  # K = 1
        projected_context, alignment, state = decoder.attend(state, memory)
        state = decoder.update(state, inputs, projected_context)
        return tf.nest.map_structure(lambda x: x[:, 0], (state, alignment))

    states, alignments = scan(step, inputs, (state, tf.zeros_like(memory.mask, inputs.dtype)))
    return states["state"], alignments


def _gru(unit, inputs, state, mask):
    return {"state": gru(inputs, state["state"], mask, tensor(unit.U), tensor(unit.U_gates), unit.product_dtype)}


def _lstm(unit, inputs, state, mask):
    states, cells = lstm(inputs, state["state"], state["cell"], mask, tensor(unit.U), tensor(unit.p), unit.product_dtype)
    return {"state": states, "cell": cells}


def _attending_gru(decoder, inputs, state, memory):
    unit, alignment_model = decoder.recurrent_unit, decoder.alignment_model
    weights = StepWeights(*map(tensor, (alignment_model.W_a, alignment_model.v_a, unit.U, unit.U_gates)))
    return attending_gru(inputs, state["state"], memory, weights, decoder.product_dtype)


KERNELS = {("gru", False, None): _gru, ("lstm", False, None): _lstm, ("gru", False, "content"): _attending_gru}
"""Functions by unit, layer normalization and attention."""
