"""Gradients of every system: slopes along a random direction of every weight, and exact zeros where
nothing may flow.
"""

import numpy as np
import pytest
import tensorflow as tf
from tiny_rnnsearch import END, PAIRS, batch
from tiny_systems import READ_THE_SOURCE, SYSTEMS, others_slow, tiny_system

STEP = 2e-5  # four points: truncation about STEP⁴, rounding about 1e-16 · loss / STEP = 1e-10

each_system = pytest.mark.parametrize("name", SYSTEMS)


def gradients(model, inputs):
    with tf.GradientTape() as tape:
        losses, _ = model.token_losses(inputs, label_smoothing=0.1, training=True)  # handwritten
        value = tf.reduce_sum(losses)
    weights = model.trainable_variables
    # The gradient is None where a weight has no effect: with predict_from=state, attention has none
    # on a sentence of one word.
    return [
        np.zeros(weight.shape) if found is None else tf.convert_to_tensor(found).numpy()
        for weight, found in zip(weights, tape.gradient(value, weights))
    ]


@pytest.mark.parametrize("name", others_slow(SYSTEMS))
def test_slope_along_a_direction_of_every_weight(name):
    model = tiny_system(name)
    inputs = batch(PAIRS[:3], extra_source=1)
    generator = np.random.default_rng(3)
    loss = tf.function(
        lambda: tf.reduce_sum(model.token_losses(inputs, label_smoothing=0.1)[0]), autograph=False
    )
    for variable, gradient in zip(model.trainable_variables, gradients(model, inputs)):
        value = variable.numpy()
        direction = generator.normal(size=variable.shape)
        slope = 0.0
        for steps, share in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
            variable.assign(value + steps * STEP * direction)
            slope += share * float(loss()) / (12 * STEP)
        variable.assign(value)
        assert (gradient * direction).sum() == pytest.approx(slope, rel=1e-6, abs=2e-7), (
            variable.path
        )


@pytest.mark.parametrize("name", others_slow(SYSTEMS))
def test_gradient_of_a_batch_is_the_sum_over_its_sentences(name):
    model = tiny_system(name)
    together = gradients(model, batch(extra_source=2, extra_target=3))
    alone = [gradients(model, batch([pair])) for pair in PAIRS]
    for whole, *parts in zip(together, *alone):
        np.testing.assert_allclose(whole, sum(parts), rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", others_slow(READ_THE_SOURCE))
def test_words_that_do_not_occur_get_exact_zeros(name):
    """Padding (id 0), unused words and the last word, which nothing is predicted from; and no NaN
    from an empty row.
    """
    model = tiny_system(name, tie_target_embeddings=False)
    inputs = batch([([3, 5, END], [4, 6, END]), ([5, END], [END])], 1, 2)
    inputs = {key: tf.pad(ids, [[0, 1], [0, 0]]) for key, ids in inputs.items()}
    found = dict(
        zip(
            (v.path.split("/")[-2] for v in model.trainable_variables if v.path.endswith("/E")),
            (
                g
                for v, g in zip(model.trainable_variables, gradients(model, inputs))
                if v.path.endswith("/E")
            ),
        )
    )
    source = found["source_embedding"]
    target = found["target_embedding"]
    assert np.isfinite(source).all() and np.isfinite(target).all()
    read = (3, 5, END) if model.config.read_end_symbol else (3, 5)
    assert [bool(row.any()) for row in source] == [word in read for word in range(len(source))]
    entering = (0, 4, 6) if model.config.begin_symbol else (4, 6)
    assert [bool(row.any()) for row in target] == [word in entering for word in range(len(target))]
