"""Fresh weights and sizes as the papers of the other systems say."""

import numpy as np
import pytest
from reference import distributions
from rnnsearch_tf.config import ModelConfig
from rnnsearch_tf.models.encoder_decoder import EncoderDecoder
from rnnsearch_tf.models.layered import DeepLSTM

MEDIUM = dict(embedding_size=30, hidden_size=40)


def deep_lstm(layers=2, **options):
    return DeepLSTM(
        ModelConfig(system="deep_lstm", layers=layers, **{**MEDIUM, **options}), 90, 100
    )


def test_uniform_everywhere():
    """Sutskever et al. 2014, §3.4: all parameters are within ±0.08, biases and peepholes too."""
    values = deep_lstm(initialization="uniform", peepholes=True).paper_weights()
    for symbol, value in values.items():
        assert value.any() and np.abs(value).max() <= 0.08, symbol
    together = np.concatenate([value.ravel() for value in values.values()])
    count = len(together)
    deviation = 0.08 / np.sqrt(3)
    assert abs(together.mean()) < 5 * deviation / np.sqrt(count)
    # x² of a uniform: variance 0.8 E[x²]²
    assert together.var() == pytest.approx(deviation**2, rel=5 * np.sqrt(0.8 / count))


def test_no_two_biases_are_alike():
    values = deep_lstm(initialization="uniform", peepholes=True).paper_weights()
    vectors = [value for value in values.values() if value.shape == (40,)]
    assert len({tuple(vector) for vector in vectors}) == len(vectors) == 2 * 2 * (4 + 3)


def parameters(K_x, K_y, m, n, layers):
    """Embeddings, softmax with bias, and of each layer 4 gates from below and from before, biases
    and 3 peepholes.
    """
    below = [m] + [n] * (layers - 1)
    stack = sum(4 * n * (size + n) + 4 * n + 3 * n for size in below)
    return (K_x + K_y) * m + (n + 1) * K_y + 2 * stack


def test_parameters_of_the_deep_lstm():
    """384M of which 64M are recurrent connections (§3.4); built here at a smaller size."""
    assert deep_lstm(3, peepholes=True).count_params() == parameters(90, 100, 30, 40, 3)
    whole = parameters(160_000, 80_000, 1000, 1000, 4)
    assert round(whole / 1e6) == 384
    assert round((whole - 320e6) / 1e6) == 64


def test_encoder_decoder_starts_as_cho_et_al():
    """§4.1.1: N(0, 0.01²); recurrent matrices 0.01 times orthogonal; biases 0."""
    config = ModelConfig(system="encoder_decoder", maxout_size=35, output_rank=20, **MEDIUM)
    for symbol, value in EncoderDecoder(config, 90, 100).paper_weights().items():
        last = symbol.rpartition(".")[2]
        if last.startswith("b"):
            assert not value.any(), symbol
        elif last.startswith("U"):
            assert distributions.distance_from_orthogonal(100 * value.astype(np.float64)) < 1e-4, (
                symbol
            )
        else:
            assert np.abs(distributions.normal_deviations(value, 0.01)).max() < 5, symbol


def test_rank_100_and_500_maxout_units():
    """Cho et al. 2014a at their sizes but for the vocabulary: embeddings, unit, summary, output."""
    sizes = dict(
        embedding_size=100,
        hidden_size=1000,
        maxout_size=500,
        output_rank=100,
        biases="none",
        initialization="uniform",
    )
    model = EncoderDecoder(ModelConfig(system="encoder_decoder", **sizes), 70, 80)
    units = 3 * 1000 * (100 + 1000) + 3 * 1000 * (100 + 1000 + 1000)
    output = 1000 * (1000 + 100 + 1000 + 100) + 500 * 100 + 100 * 80
    assert model.count_params() == (70 + 80) * 100 + units + 2 * 1000**2 + output
