"""Reading and setting weights by the letters of the papers."""

import numpy as np
import pytest
from rnnsearch_tf.errors import UsageError
from tiny_rnnsearch import batch
from tiny_systems import SYSTEMS, fresh_system, others_slow, tiny_system


def arrays(model):
    return {name: block.read() for name, block in model.blocks().items()}


@pytest.mark.parametrize("name", others_slow(SYSTEMS))
def test_weights_of_one_model_make_another_equal(name):
    model = tiny_system(name)
    other = fresh_system(name)
    other.assign_paper_weights(arrays(model))
    np.testing.assert_array_equal(model(batch()), other(batch()))
    assert sum(value.size for value in arrays(model).values()) == model.count_params()


@pytest.mark.parametrize(
    "change, message",
    [
        (lambda weights: weights.pop("U_z"), r"U_z: expected \(4, 4\), got none"),
        (lambda weights: weights.update(X=np.zeros(3)), r"X: expected no such weight, got \(3,\)"),
        (lambda weights: weights.update(v_a=np.zeros(4)), r"v_a: expected \(5,\), got \(4,\)"),
    ],
)
def test_other_weights_are_refused_and_nothing_is_set(change, message):
    model = tiny_system("rnnsearch")
    before = arrays(model)
    weights = {name: value + 1 for name, value in before.items()}
    change(weights)
    with pytest.raises(UsageError, match=message):
        model.assign_paper_weights(weights)
    for name, value in arrays(model).items():
        np.testing.assert_array_equal(value, before[name])
