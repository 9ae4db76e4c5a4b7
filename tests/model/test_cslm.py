"""What is only the language model's: it looks at n − 1 words, at no source, and begins as its paper
says.
"""

import numpy as np
import tensorflow as tf
from tiny_rnnsearch import PAIRS, batch
from tiny_systems import fresh_system, tiny_system


def test_the_source_changes_nothing():
    model = tiny_system("cslm")
    others = [([7, 2, 2, 1], target) for _, target in PAIRS]
    np.testing.assert_array_equal(model(batch()), model(batch(others)))
    assert "E_source" not in model.paper_weights() and model.source_embedding is None


def test_words_beyond_the_order_are_forgotten():
    model = tiny_system("cslm")
    target = [4, 4, 2, 6, 3, 5, 1]
    logits = model(batch([([3, 1], target)])).numpy()[0]
    # y_1 is in the history of y_2 to y_4
    changed = model(batch([([3, 1], [6, *target[1:]])])).numpy()[0]
    moved = np.abs(logits - changed).max(axis=1) > 0
    np.testing.assert_array_equal(moved, [False, True, True, True, False, False, False])


def test_every_weight_begins_between_plus_and_minus_a_hundredth():
    for variable in fresh_system("cslm").trainable_variables:
        values = np.abs(variable.numpy())
        assert 0 < values.max() < 0.01
    large = fresh_system("cslm", hidden_size=400)
    assert abs(tf.math.reduce_std(large.rectified.W_1[:]) - 0.01 / np.sqrt(3)) < 1e-4
