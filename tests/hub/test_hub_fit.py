"""What fit and evaluate see of two pairs, by hand; their numbers against the reference in NumPy."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from reference import systems
from words_by_hand import SOURCES, TARGETS, preprocessor, small_model

INPUTS = {
    "encoder_token_ids": [[3, 4, 1, 0], [4, 1, 0, 0]],
    "encoder_padding_mask": [[1, 1, 1, 0], [1, 1, 0, 0]],
    "decoder_token_ids": [[1, 3, 4], [1, 5, 1]],
    "decoder_padding_mask": [[1, 1, 1], [1, 1, 1]],
}
LABELS = [[3, 4, 1], [5, 1, 0]]
WEIGHTS = [[2.0, 2.0, 2.0], [0.5, 0.5, 0.0]]
PAIR_WEIGHTS = np.array([2.0, 0.5])


@pytest.fixture(scope="module")
def model():
    return small_model()


def same(given, expected):
    inputs, labels, weights = given
    assert inputs.keys() == expected[0].keys()
    for name, values in expected[0].items():
        np.testing.assert_array_equal(np.asarray(inputs[name]).astype(int), values, err_msg=name)
    np.testing.assert_array_equal(labels, expected[1])
    np.testing.assert_array_equal(weights, expected[2])


def test_ids_labels_and_weights_of_two_pairs():
    own = preprocessor()
    texts = {"encoder_text": SOURCES, "decoder_text": TARGETS}
    ones = np.sign(WEIGHTS)
    same(own(SOURCES, TARGETS), (INPUTS, LABELS, ones))
    same(own(texts), (INPUTS, LABELS, ones))
    same(own(SOURCES, TARGETS, PAIR_WEIGHTS), (INPUTS, LABELS, WEIGHTS))
    pairs = tf.data.Dataset.from_tensor_slices((SOURCES, TARGETS, PAIR_WEIGHTS))
    same(next(iter(pairs.map(own).batch(2))), (INPUTS, LABELS, WEIGHTS))  # a text at a time
    same(next(iter(pairs.batch(2).map(own))), (INPUTS, LABELS, WEIGHTS))


def test_text_beyond_the_limit_is_cut_and_an_empty_text_is_an_end_symbol():
    inputs, labels, weights = preprocessor()(["a b a", "a b a b", ""], ["x y", "x y z", ""])
    np.testing.assert_array_equal(inputs["encoder_token_ids"], [[3, 4, 3, 1]] * 2 + [[1, 0, 0, 0]])
    np.testing.assert_array_equal(inputs["decoder_token_ids"], [[1, 3, 4]] * 2 + [[1, 1, 0]])
    np.testing.assert_array_equal(labels, [[3, 4, 1]] * 2 + [[1, 0, 0]])
    np.testing.assert_array_equal(weights, [[1, 1, 1]] * 2 + [[1, 0, 0]])
    lengths = dict(encoder_sequence_length=5, decoder_sequence_length=2)
    inputs, labels, _ = preprocessor()(["a b a b"], ["x y z"], **lengths)
    np.testing.assert_array_equal(inputs["encoder_token_ids"], [[3, 4, 3, 4, 1]])
    np.testing.assert_array_equal(labels, [[3, 1]])


def losses(model):
    """Negative log-likelihoods of the two pairs, by the reference."""
    system = model.backbone.system
    options = dataclasses.asdict(system.config)
    pairs = [([3, 4, 1], [3, 4, 1]), ([4, 1], [5, 1])]
    return np.array(
        [systems.sentence_loss(system.paper_weights(), *pair, options) for pair in pairs]
    )


@pytest.mark.parametrize("weights", [None, PAIR_WEIGHTS])
def test_evaluate_is_the_weighted_loss_of_the_reference(model, weights):
    given = model.evaluate(SOURCES, TARGETS, sample_weight=weights, verbose=0, return_dict=True)
    weights = np.ones(2) if weights is None else weights
    total = weights @ losses(model)
    # Keras's mean is over all 2 · 3 places
    assert given["loss"] == pytest.approx(total / 6, rel=1e-5)
    assert given["perplexity"] == pytest.approx(np.exp(total / (weights @ [3, 2])), rel=1e-5)


def test_dropout_is_active_under_fit_and_not_under_evaluate():
    plain, dropping = small_model(), small_model(hidden_dropout=0.9)
    expected = losses(plain).sum() / 6
    assert dropping.evaluate(SOURCES, TARGETS, verbose=0)[0] == pytest.approx(expected, rel=1e-5)
    for model, same_loss in ((plain, True), (dropping, False)):
        [loss] = model.fit(SOURCES, TARGETS, verbose=0).history["loss"]
        assert (abs(loss - expected) < 1e-4) == same_loss


def test_it_learns_from_raw_pairs():
    model = small_model()
    model.compile("adam")
    history = model.fit(SOURCES * 4, TARGETS * 4, epochs=2, verbose=0).history
    assert history["loss"][1] < history["loss"][0]
    assert history["perplexity"][1] < history["perplexity"][0]
