"""Gradients of every system: slopes along a random direction of every weight, and exact zeros where
nothing may flow.
"""

import numpy as np
import pytest
import tensorflow as tf
from tiny_rnnsearch import END, PAIRS, batch
from tiny_systems import ONE_OF_EACH, READ_THE_SOURCE, SYSTEMS, others_slow, tiny_system

STEP = 2e-5  # four points: truncation about STEP⁴, rounding about 1e-16 · loss / STEP = 1e-10

OFTEN = [*ONE_OF_EACH, "rnnsearch-paper", "rnnsearch-update"]


def with_empty_row(inputs):
    return {key: tf.pad(ids, [[0, 1], [0, 0]]) for key, ids in inputs.items()}


def gradients(model, inputs):
    with tf.GradientTape() as tape:
        losses, _ = model.token_losses(inputs, label_smoothing=0.1, training=True)
        value = tf.reduce_sum(losses)
    weights = model.trainable_variables
    found = zip(tape.gradient(value, weights), weights)  # None: one position has no recurrence
    return [np.zeros(w.shape) if g is None else tf.convert_to_tensor(g).numpy() for g, w in found]


@pytest.mark.parametrize("name", others_slow(SYSTEMS, OFTEN))
def test_slope_along_a_direction_of_every_weight(name):
    assert_slopes(tiny_system(name))


@pytest.mark.parametrize("name", ["rnnsearch", "luong-general"])
def test_slopes_with_dropout(name):
    rates = dict(embedding_dropout=0.2, hidden_dropout=0.3, readout_dropout=0.3)
    assert_slopes(tiny_system(name, **rates))


def assert_slopes(model):
    """The same units are dropped each time."""
    dropouts = [layer for layer in model._flatten_layers() if getattr(layer, "rate", 0)]
    states = [layer.seed_generator.state for layer in dropouts]
    first = [np.array(state) for state in states]
    inputs = batch(PAIRS[:3], extra_source=1)
    generator = np.random.default_rng(3)
    traced = tf.function(
        lambda: tf.reduce_sum(model.token_losses(inputs, label_smoothing=0.1, training=True)[0]),
        autograph=False,
    )

    def loss():
        for state, value in zip(states, first):
            state.assign(value)
        return float(traced())

    found = gradients(model, inputs)  # begins with the same states
    for variable, gradient in zip(model.trainable_variables, found):
        value = variable.numpy()
        direction = generator.normal(size=variable.shape)
        slope = 0.0
        for steps, share in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
            variable.assign(value + steps * STEP * direction)
            slope += share * loss() / (12 * STEP)
        variable.assign(value)
        assert (gradient * direction).sum() == pytest.approx(slope, rel=1e-6, abs=2e-7), (
            variable.path
        )


@pytest.mark.parametrize("name", others_slow(SYSTEMS, OFTEN))
def test_gradient_of_a_batch_is_the_sum_over_its_sentences(name):
    """A row of padding adds nothing."""
    model = tiny_system(name)
    together = gradients(model, with_empty_row(batch(extra_source=2, extra_target=3)))
    alone = [gradients(model, batch([pair])) for pair in PAIRS]
    for whole, *parts in zip(together, *alone):
        np.testing.assert_allclose(whole, sum(parts), rtol=0, atol=1e-11)


@pytest.mark.parametrize("name", others_slow(READ_THE_SOURCE, OFTEN))
def test_words_that_do_not_occur_get_exact_zeros(name):
    """Padding (id 0), unused words and the last word, which nothing is predicted from; and no NaN
    from an empty row.
    """
    model = tiny_system(name, tie_target_embeddings=False)
    inputs = with_empty_row(batch([([3, 5, END], [4, 6, END]), ([5, END], [END])], 1, 2))
    found = {
        variable.path.split("/")[-2]: gradient
        for variable, gradient in zip(model.trainable_variables, gradients(model, inputs))
        if variable.path.endswith("/E")
    }
    source = found["source_embedding"]
    target = found["target_embedding"]
    assert np.isfinite(source).all() and np.isfinite(target).all()
    assert [bool(row.any()) for row in source] == [
        word in (3, 5, END) for word in range(len(source))
    ]
    assert [bool(row.any()) for row in target] == [word in (4, 6) for word in range(len(target))]
