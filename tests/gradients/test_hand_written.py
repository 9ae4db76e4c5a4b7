"""The hand-written gradients of the recurrences and of the loss, by central differences.

Each function is taken by itself here, with random weights on all its outputs and with
gradients of all its inputs; test_model_gradients.py takes the whole model.
"""

import numpy as np
import pytest
import tensorflow as tf
from gradients.differences import check_gradients
from rnnsearch_tf.layers.attention import AttentionMemory
from rnnsearch_tf.layers.output import softmax_loss
from rnnsearch_tf.layers.kernels.gru import attending_gru, gru
from rnnsearch_tf.layers.kernels.lstm import lstm

B = 3
TARGET_LENGTH = 3
J = 4
N = 2
ALIGNMENT = 3
SOURCE_LENGTHS = (4, 1, 3)


def numbers(*shape, seed):
    return tf.constant(np.random.default_rng(seed).normal(size=shape))


def variables(*shapes):
    return [
        tf.Variable(numbers(*shape, seed=k), name=f"input_{k}") for k, shape in enumerate(shapes)
    ]


def mask():
    return tf.sequence_mask(SOURCE_LENGTHS)


def gru_inputs():
    return variables((B, J, 3 * N), (B, N), (N, N), (N, 2 * N))


def gru_states(inputs):
    inputs, state, U, U_gates = map(tf.identity, inputs)
    return gru(inputs, {"state": state}, {"U": U, "U_gates": U_gates}, mask())["state"]


def test_gru():
    inputs = gru_inputs()
    outer = numbers(B, J, N, seed=9)
    check_gradients(
        tf.function(lambda: tf.reduce_sum(outer * gru_states(inputs)), autograph=False), inputs
    )


def test_lstm():
    inputs = variables((B, J, 4 * N), (B, N), (B, N), (N, 4 * N), (3 * N,))
    outer = numbers(2, B, J, N, seed=9)

    @tf.function(autograph=False)
    def loss():
        values, state, cell, U, p = map(tf.identity, inputs)
        states = lstm(values, {"state": state, "cell": cell}, {"U": U, "p": p}, mask())
        return tf.reduce_sum(outer * tf.stack([states["state"], states["cell"]]))

    check_gradients(loss, inputs)


def decoder_inputs():
    shapes = [(B, TARGET_LENGTH, 3 * N), (B, N), (B, J, 3 * N), (B, J, ALIGNMENT)]
    shapes += [(N, ALIGNMENT), (ALIGNMENT, 1), (N, N), (N, 2 * N)]
    return variables(*shapes)


def decoder_outputs(inputs):
    inputs = list(map(tf.identity, inputs))
    memory = AttentionMemory(inputs[2], inputs[3], tf.sequence_mask(SOURCE_LENGTHS))
    return attending_gru(
        inputs[0],
        {"state": inputs[1]},
        dict(zip(("W_a", "v_a", "U", "U_gates"), inputs[4:])),
        memory,
    )


@pytest.mark.parametrize("outputs", ("states", "alignments", "both"))
def test_attending_gru(outputs):
    inputs = decoder_inputs()
    outer_states = numbers(B, TARGET_LENGTH, N, seed=10) * (outputs != "alignments")
    outer_alignments = numbers(B, TARGET_LENGTH, J, seed=11) * (outputs != "states")

    @tf.function(autograph=False)
    def loss():
        states, alignments = decoder_outputs(inputs)
        return tf.reduce_sum(outer_states * states) + tf.reduce_sum(outer_alignments * alignments)

    check_gradients(loss, inputs)


@pytest.mark.parametrize("smoothing", (0.0, 0.2))
@pytest.mark.parametrize("transpose", (False, True))
@pytest.mark.parametrize("biased", (False, True))
def test_softmax_loss(smoothing, transpose, biased):
    size = 5
    inputs = variables((4, 3), (size, 3) if transpose else (3, size), (size,))[: 3 if biased else 2]
    outer = numbers(4, seed=12)
    ids = tf.constant([2, 4, 2, 1])

    def loss():
        features, matrix, *bias = map(tf.identity, inputs)
        losses, _ = softmax_loss(
            features, matrix, bias[0] if bias else None, ids, smoothing, transpose=transpose
        )
        return tf.reduce_sum(outer * losses)

    check_gradients(loss, inputs)


def test_a_word_of_no_probability_has_its_loss():
    """exp(−200) is 0 in float32; the loss is 200 and the gradient that of the softmax, for every
    word of the batch.
    """
    logits = tf.constant([[0.0, -200.0], [1.0, 0.0]])
    identity = tf.eye(2)
    with tf.GradientTape() as tape:
        tape.watch(logits)
        losses, nll = softmax_loss(logits, identity, None, tf.constant([1, 1]))
    expected = [200.0, np.log1p(np.e)]
    np.testing.assert_allclose(losses, expected, rtol=1e-6)
    np.testing.assert_allclose(nll, expected, rtol=1e-6)
    p = np.e / (1 + np.e)
    np.testing.assert_allclose(tape.gradient(losses, logits), [[1, -1], [p, -p]], rtol=1e-5)


def test_nothing_flows_into_masked_places():
    """Exact zeros: padded words of the encoder, C h_j and keys at padded source positions."""
    inputs = gru_inputs()
    with tf.GradientTape() as tape:
        value = tf.reduce_sum(gru_states(inputs) ** 2)
    gradient = tape.gradient(value, inputs[0]).numpy()
    assert not gradient[~mask().numpy()].any()
    assert gradient[mask().numpy()].all()

    inputs = decoder_inputs()
    with tf.GradientTape() as tape:
        states, alignments = decoder_outputs(inputs)
        value = tf.reduce_sum(states**2) + tf.reduce_sum(alignments**2)
    for gradient in tape.gradient(value, inputs[2:4]):
        for row, length in enumerate(SOURCE_LENGTHS):
            assert not gradient.numpy()[row, length:].any()
    assert gradient.numpy()[0].all()


def test_nothing_flows_back_from_later_outputs_that_are_not_used():
    """A loss on the first position alone: inputs of later positions have gradient exactly 0."""
    inputs = decoder_inputs()
    with tf.GradientTape() as tape:
        states, alignments = decoder_outputs(inputs)
        value = tf.reduce_sum(states[:, 0] ** 2) + tf.reduce_sum(alignments[:, 0] ** 2)
    gradient = tape.gradient(value, inputs[0]).numpy()
    assert gradient[:, 0].all() and not gradient[:, 1:].any()
