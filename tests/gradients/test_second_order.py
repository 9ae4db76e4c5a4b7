"""Second derivatives through the hand-written gradients, by central differences of the gradients in
float64.

Differences of a loss in float32 cannot tell: rounding moves a second difference by more than it
amounts to.
"""

import numpy as np
import pytest
import tensorflow as tf
from gradients.test_hand_written import (
    B,
    J,
    N,
    TARGET_LENGTH,
    decoder_inputs,
    decoder_outputs,
    gru_inputs,
    gru_states,
    mask,
    numbers,
    variables,
)
from rnnsearch_tf.layers import Encoder
from rnnsearch_tf.layers.kernels.lstm import lstm
from rnnsearch_tf.layers.output import softmax_loss

STEPS = (1e-4, 1e-5)  # what is wrong by truncation falls with the square of the step


def gru_case():
    inputs = gru_inputs()
    outer = numbers(B, J, N, seed=9)
    return inputs, lambda: tf.reduce_sum(outer * gru_states(inputs))


def lstm_case():
    inputs = variables((B, J, 4 * N), (B, N), (B, N), (N, 4 * N), (3 * N,))
    outer = numbers(2, B, J, N, seed=9)

    def loss():
        values, state, cell, U, p = map(tf.identity, inputs)
        states = lstm(values, {"state": state, "cell": cell}, {"U": U, "p": p}, mask())
        return tf.reduce_sum(outer * tf.stack([states["state"], states["cell"]]))

    return inputs, loss


def decoder_case():
    inputs = decoder_inputs()
    outer_states = numbers(B, TARGET_LENGTH, N, seed=10)
    outer_alignments = numbers(B, TARGET_LENGTH, J, seed=11)

    def loss():
        states, alignments = decoder_outputs(inputs)
        return tf.reduce_sum(outer_states * states) + tf.reduce_sum(outer_alignments * alignments)

    return inputs, loss


def softmax_case():
    inputs = variables((4, 3), (3, 5), (5,))
    outer = numbers(4, seed=12)
    ids = tf.constant([2, 4, 2, 1])
    return inputs, lambda: tf.reduce_sum(
        outer * softmax_loss(*map(tf.identity, inputs), ids, 0.2)[0]
    )


def encoder_case():
    """The public layer: its input and every weight."""
    encoder = Encoder(N, biases="all", seed=1, dtype="float64")
    words = variables((B, J, 3))[0]
    encoder.build(words.shape)
    for k, weight in enumerate(encoder.weights):
        weight.assign(numbers(*weight.shape, seed=k))
    outer = numbers(B, J, 2 * N, seed=9)
    weights = [weight.value for weight in encoder.trainable_weights]
    return [words, *weights], lambda: tf.reduce_sum(outer * encoder(tf.identity(words), mask()))


CASES = {
    "gru": gru_case,
    "lstm": lstm_case,
    "decoder": decoder_case,
    "softmax": softmax_case,
    "encoder": encoder_case,
}


IN_GRAPH = ("lstm", "decoder", "softmax")
"""TensorFlow records the gradients in other ways in a graph and outside of one; what is not here is
slow or differs in nothing.
"""


@pytest.mark.parametrize(
    "case, in_graph",
    [
        pytest.param(case, graph, marks=[] if graph == (case in IN_GRAPH) else pytest.mark.slow)
        for case in CASES
        for graph in (False, True)
    ],
)
def test_second_derivatives_along_a_direction(case, in_graph):
    """H v from a tape around a tape is the slope of the gradients along v, for v that moves
    everything at once.
    """
    inputs, loss = CASES[case]()
    directions = [numbers(*variable.shape, seed=20 + k) for k, variable in enumerate(inputs)]

    def gradients():
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            value = loss()
        return [tf.convert_to_tensor(gradient) for gradient in tape.gradient(value, inputs)]

    def second():
        with tf.GradientTape() as tape:
            tape.watch(inputs)
            slope = tf.add_n(
                [
                    tf.reduce_sum(gradient * direction)
                    for gradient, direction in zip(gradients(), directions)
                ]
            )
        return [tf.convert_to_tensor(gradient) for gradient in tape.gradient(slope, inputs)]

    if in_graph:
        gradients, second = (
            tf.function(function, autograph=False) for function in (gradients, second)
        )
    found = second()
    values = [variable.numpy() for variable in inputs]
    for step in STEPS:
        sides = []
        for sign in (1, -1):
            for variable, value, direction in zip(inputs, values, directions):
                variable.assign(value + sign * step * direction)
            sides.append(gradients())
        for variable, value in zip(inputs, values):
            variable.assign(value)
        for ours, ahead, behind in zip(found, *sides, strict=True):
            slope = (ahead - behind) / (2 * step)
            tolerance = 100 * step**2 + 1e-8  # truncation, and rounding about 1e-16 / step
            np.testing.assert_allclose(ours, slope, rtol=0, atol=tolerance * np.abs(slope).max())
