"""The hand-written gradients of the recurrences and of the loss, by central differences.

Each function is taken by itself here, with random weights on all its outputs and with
gradients of all its inputs; test_model_gradients.py takes the whole model.
"""

import numpy as np
import pytest
import tensorflow as tf
from gradients.differences import check_gradients
from rnnsearch_tf.layers.attention import AttentionMemory
from rnnsearch_tf.layers.decoder import StepWeights, scan
from rnnsearch_tf.layers.encoder import recurrence
from rnnsearch_tf.layers.softmax_loss import softmax_loss

B, I, J, N, ALIGNMENT = 3, 3, 4, 2, 3
SOURCE_LENGTHS = (4, 1, 3)


def numbers(*shape, seed):
    return tf.constant(np.random.default_rng(seed).normal(size=shape))


def variables(*shapes):
    return [tf.Variable(numbers(*shape, seed=k), name=f"input_{k}") for k, shape in enumerate(shapes)]


def encoder_mask():
    """[J, D, B, 1], the second network's time reversed."""
    real = tf.transpose(tf.sequence_mask(SOURCE_LENGTHS, dtype=tf.float64))[:, :, None]
    return tf.stack([real, tf.reverse(real, [0])], axis=1)


def test_encoder_recurrence():
    inputs = variables((J, 2, B, 3 * N), (2, N, N), (2, N, 2 * N))
    outer = numbers(J, 2, B, N, seed=9)

    @tf.function
    def loss():
        return tf.reduce_sum(outer * recurrence(inputs[0], encoder_mask(), *map(tf.identity, inputs[1:])))

    check_gradients(loss, inputs)


def decoder_inputs():
    shapes = [(B, I, 3 * N), (B, N), (B, J, 3 * N), (B, J, ALIGNMENT)]
    shapes += [(N, ALIGNMENT), (ALIGNMENT, 1), (N, N), (N, 2 * N)]
    return variables(*shapes)


def decoder_outputs(inputs):
    inputs = list(map(tf.identity, inputs))
    memory = AttentionMemory(inputs[2], inputs[3], tf.sequence_mask(SOURCE_LENGTHS))
    return scan(inputs[0], inputs[1], memory, StepWeights(*inputs[4:]))


@pytest.mark.parametrize("outputs", ("states", "alignments", "both"))
def test_decoder_recurrence(outputs):
    inputs = decoder_inputs()
    outer_states = numbers(B, I, N, seed=10) * (outputs != "alignments")
    outer_alignments = numbers(B, I, J, seed=11) * (outputs != "states")

    @tf.function
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
    outer, ids = numbers(4, seed=12), tf.constant([2, 4, 2, 1])

    def loss():
        features, matrix, *bias = map(tf.identity, inputs)
        losses, _ = softmax_loss(features, matrix, bias[0] if bias else None, ids, smoothing, transpose=transpose)
        return tf.reduce_sum(outer * losses)

    check_gradients(loss, inputs)


def test_a_word_of_no_probability_has_its_loss():
    """exp(−200) is 0 in float32; the loss is 200 and the gradient that of the softmax, for every word of the batch."""
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
    """Exact zeros: padded words of the encoder, summands and keys at padded source positions."""
    inputs = variables((J, 2, B, 3 * N), (2, N, N), (2, N, 2 * N))
    with tf.GradientTape() as tape:
        value = tf.reduce_sum(recurrence(inputs[0], encoder_mask(), *map(tf.identity, inputs[1:])) ** 2)
    gradient = tape.gradient(value, inputs[0]).numpy()
    real = np.broadcast_to(encoder_mask().numpy() > 0, gradient.shape)
    assert not gradient[~real].any()
    assert gradient[..., :N][real[..., :N]].all()  # candidates; a reset gate that meets the zero state has 0 too

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
