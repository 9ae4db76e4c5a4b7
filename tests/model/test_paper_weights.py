"""Reading and setting weights by the letters of the papers."""

import numpy as np
import pytest
from rnnsearch_tf.errors import UsageError
from tiny_rnnsearch import batch
from tiny_systems import SYSTEMS, fresh_system, others_slow, tiny_system


@pytest.mark.parametrize("name", others_slow(SYSTEMS))
def test_weights_of_one_model_make_another_equal(name):
    model = tiny_system(name)
    other = fresh_system(name)
    other.assign_paper_weights(model.paper_weights())
    # a scaled embedding is divided by its factor again
    np.testing.assert_allclose(model(batch()), other(batch()), rtol=1e-10)
    assert len(model.letters()) == len(model.weights)


@pytest.mark.parametrize(
    "name, options",
    [
        ("rnnsearch", dict(scale_embeddings=True)),
        ("rnnsearch", dict(scale_embeddings=True, tie_target_embeddings=True)),
        ("rnnencdec", dict(tie_target_embeddings=True)),
        ("encoder_decoder", dict(scale_embeddings=True)),
        ("encoder_decoder", dict(tie_target_embeddings=True, output_rank=3)),
    ],
)
def test_scaled_and_tied_embeddings_are_assigned_as_they_are_read(name, options):
    """Also of lists."""
    model, other = (tiny_system(name, seed=seed, **options) for seed in (1, 2))
    given = model.paper_weights()
    assert name != "encoder_decoder" or {"G_r", "G_l"} <= given.keys()
    other.assign_paper_weights({name: value.tolist() for name, value in given.items()})
    for letter, value in other.paper_weights().items():
        np.testing.assert_allclose(value, given[letter], rtol=1e-6, err_msg=letter)


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
    before = model.paper_weights()
    weights = {name: value + 1 for name, value in model.paper_weights().items()}
    change(weights)
    with pytest.raises(UsageError, match=message):
        model.assign_paper_weights(weights)
    for name, value in model.paper_weights().items():
        np.testing.assert_array_equal(value, before[name])
