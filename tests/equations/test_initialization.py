"""Initial distributions (Appendix B.1) and sizes (groundhog.md) of fresh models."""

import numpy as np
import tensorflow as tf
from reference import distributions
from rnnsearch_tf.config import ModelConfig, load_config
from rnnsearch_tf.models import RNNSearch
from rnnsearch_tf.runtime.backend import keras
from tiny_rnnsearch import batch, tiny_config

MEDIUM = dict(embedding_size=30, hidden_size=40, alignment_size=50, maxout_size=35)


def medium(seed=3, **options):
    keras.utils.set_random_seed(seed)
    return RNNSearch(ModelConfig(**{**MEDIUM, "output_rank": 20, **options}), 90, 100)


def test_every_weight_has_its_distribution():
    for symbol, value in medium().paper_weights().items():
        kind, deviation = distributions.expected(symbol)
        if kind == "zero":
            assert not value.any(), symbol
        elif kind == "orthogonal":
            assert distributions.distance_from_orthogonal(value.astype(np.float64)) < 1e-5, symbol
        else:  # the chance of one fair sample going past 5 standard errors is 6e-7
            assert np.abs(distributions.normal_deviations(value, deviation)).max() < 5, symbol


def test_no_two_weights_are_alike():
    """One seed for two matrices would start them equal."""
    weights = [
        (symbol, value.ravel()) for symbol, value in medium().paper_weights().items() if value.any()
    ]
    for index, (symbol, value) in enumerate(weights):
        for other, other_value in weights[:index]:
            size = min(len(value), len(other_value))
            one = value[:size] / value.std()
            two = other_value[:size] / other_value.std()
            assert abs((one * two).mean()) < 6 / np.sqrt(size), (symbol, other)


def test_blocks_of_one_matrix_are_not_alike():
    weights = medium().paper_weights()
    for prefix in ("encoder.forward.", "encoder.backward.", ""):
        for letters in (("U", "U_z", "U_r"), ("W", "W_z", "W_r")):
            blocks = [weights[prefix + letter] for letter in letters]
            assert (
                np.abs(blocks[0] - blocks[1]).max() > 1e-3
                and np.abs(blocks[1] - blocks[2]).max() > 1e-3
            )


def test_the_seed_decides():
    one, same, other = (medium(seed=seed).paper_weights() for seed in (3, 3, 4))
    for symbol, value in one.items():
        np.testing.assert_array_equal(value, same[symbol])
        assert not value.any() or np.abs(value - other[symbol]).max() > 0, symbol


def test_groundhog_has_84349101_parameters():
    config = load_config("groundhog")
    model = RNNSearch(config.model, 30_001, 30_001)
    assert model.count_params() == 84_349_101
    assert sum(int(np.prod(weight.shape)) for weight in model.trainable_weights) == 84_349_101


def formulas(K_x, K_y, m, n, alignment, maxout):
    """Parameters of the paper's formulas as printed: Appendix A.2 without biases."""
    encoder = K_x * m + 2 * (3 * m * n + 3 * n * n)
    decoder = K_y * m + 3 * m * n + 3 * n * n + 3 * 2 * n * n + n * n
    attention = n * alignment + 2 * n * alignment + alignment
    output = 2 * maxout * (n + m + 2 * n) + maxout * K_y
    return encoder + decoder + attention + output


def test_paper_has_the_parameters_of_the_formulas():
    assert formulas(30_000, 30_000, 620, 1000, 1000, 500) == 80_401_000  # groundhog.md
    config = load_config(
        "paper",
        [
            "model.embedding_size=6",
            "model.hidden_size=10",
            "model.alignment_size=9",
            "model.maxout_size=5",
        ]
    )
    model = RNNSearch(config.model, 70, 80)
    assert model.count_params() == formulas(70, 80, 6, 10, 9, 5)


def test_biases_by_option():
    """m=3 n=4 l=3 V=7: b_E twice, b three times, b_s, b_o, softmax."""
    model, plain = (RNNSearch(tiny_config(biases=b), 8, 7) for b in ("groundhog", "none"))
    assert model.count_params() - plain.count_params() == 2 * 3 + 3 * 4 + 4 + 2 * 3 + 7


def test_fresh_model_spreads_probability_evenly():
    """With the paper's initial weights the first loss is near log V a word."""
    log_p = tf.nn.log_softmax(RNNSearch(tiny_config(), 8, 7)(batch())).numpy()
    np.testing.assert_allclose(log_p, -np.log(7), atol=2e-3)
