"""Gradients of the whole model: central differences at every weight, and plain automatic
differentiation.
"""

import numpy as np
import pytest
import tensorflow as tf
from gradients.differences import check_gradients
from tiny_rnnsearch import PAIRS, batch, padded, tiny_model
from tiny_systems import ORDERS

FEWER = dict(hidden_size=2, alignment_size=4, maxout_size=2)
VARIANTS = [
    dict(decoder_order="look_generate_update", output_rank=2),
    dict(decoder_order="paper", output_rank=None, biases="none"),
    dict(decoder_order="look_update_generate", output_rank=3, tie_target_embeddings=True),
]


def gradients(model, inputs, label_smoothing=0.0):
    with tf.GradientTape() as tape:
        losses, _ = model.token_losses(inputs, label_smoothing, training=True)  # handwritten
        value = tf.reduce_sum(losses)
    return [
        tf.convert_to_tensor(g).numpy() for g in tape.gradient(value, model.trainable_variables)
    ]


@pytest.mark.parametrize("options", VARIANTS, ids=lambda options: options["decoder_order"])
def test_every_weight_by_central_differences(options):
    model = tiny_model(**FEWER, **options)
    inputs = batch(PAIRS[:3])

    @tf.function(autograph=False)
    def loss():
        return tf.reduce_sum(model.token_losses(inputs, label_smoothing=0.1, training=True)[0])

    check_gradients(loss, [variable.value for variable in model.trainable_variables])


def plain_loss(model, source, target):
    """Loss of one sentence from `start` and the one-step functions of the layers: no hand-written
    gradient.

    (`model.step` would do, were its logits not cast to float32.)
    """
    decoder = model.decoder
    order = model.config.decoder_order
    words = model.source_embedding(padded([source]))[0]
    annotations = plain_annotations(model.encoder, words)
    memory = decoder.alignment_model.memory(annotations, tf.ones([1, len(source)], tf.bool))
    state = {"state": decoder.initial_state(annotations, memory)["state"][:, None]}
    total = 0.0
    for i, word in enumerate(target):
        before = model.target_embedding(tf.constant([[target[i - 1] if i else 0]]))
        entering = (
            model.target_embedding(tf.constant([[word]]))
            if order == "look_generate_update"
            else before
        )
        context, _, _ = decoder.attend(state, memory)
        next_state = decoder.update(
            state, decoder.inputs(entering), decoder.project_context(context)
        )
        seen = next_state if order == "look_update_generate" else state
        output_matrix = (
            tf.convert_to_tensor(model.target_embedding.E)
            if model.config.tie_target_embeddings
            else None
        )
        logits = model.output_layer(seen["state"], before, context, output_matrix)
        total -= tf.nn.log_softmax(logits)[0, 0, word]
        state = next_state
    return total


def plain_annotations(encoder, words):
    """[1, J, 2n] word by word, as equations on one row, differentiated by TensorFlow."""
    n = encoder.hidden_size
    halves = []
    for direction, unit in enumerate(encoder.units):
        W, U, U_gates = (tf.convert_to_tensor(weight) for weight in (unit.W, unit.U, unit.U_gates))
        inputs = words @ W
        if unit.b is not None:
            inputs += tf.pad(tf.convert_to_tensor(unit.b), [[0, 3 * n - unit.b.shape[-1]]])
        state = tf.zeros([1, n], tf.float64)
        states = []
        for row in tf.unstack(inputs)[:: -1 if direction else 1]:
            z, r = tf.split(tf.sigmoid(row[None, n:] + state @ U_gates), 2, axis=1)
            candidate = tf.tanh(row[None, :n] + (r * state) @ U)
            state = (1 - z) * state + z * candidate
            states.append(state)
        halves.append(tf.concat(states[:: -1 if direction else 1], axis=0))
    return tf.concat(halves, axis=1)[None]


@pytest.mark.parametrize("order", ORDERS)
@pytest.mark.parametrize("biases", ("groundhog", "none"))
def test_against_automatic_differentiation(order, biases):
    """A padded batch through the hand-written gradients equals single sentences through
    TensorFlow's.
    """
    model = tiny_model(decoder_order=order, biases=biases, output_rank=2, hidden_size=6)
    with tf.GradientTape() as tape:
        value = tf.add_n([plain_loss(model, source, target) for source, target in PAIRS])
    expected = tape.gradient(value, model.trainable_variables)
    for variable, ours, theirs in zip(
        model.trainable_variables, gradients(model, batch()), expected
    ):
        np.testing.assert_allclose(
            ours, tf.convert_to_tensor(theirs), rtol=0, atol=1e-10, err_msg=variable.path
        )
