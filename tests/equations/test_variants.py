"""RNNencdec and the variants of RNNsearch against their NumPy reference, 1e-10 in float64: every
attention and unit in every order.

tests/equations/test_systems.py has losses, steps of a search and graphs.
"""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from reference import systems
from rnnsearch_tf.config import load_config
from rnnsearch_tf.models import build_model
from tiny_rnnsearch import PAIRS, batch
from tiny_systems import ORDERS, tiny_system

NEAR = dict(rtol=0, atol=1e-10)
LOOKS = [
    (name, dict(unit=unit))
    for name in ("rnnsearch", "rnnsearch-windows", "rnnencdec")
    for unit in ("gru", "lstm")
]
COMBINATIONS = [
    (name, look | dict(decoder_order=order))
    for (name, look), order in itertools.product(LOOKS, ORDERS)
] + [(name, look | dict(biases="none")) for name, look in LOOKS]


def named(value):
    return value if isinstance(value, str) else "-".join(map(str, value.values()))


@pytest.mark.parametrize("name, options", COMBINATIONS, ids=named)
def test_logits(name, options):
    model = tiny_system(name, **options)
    weights = model.paper_weights()
    logits = model(batch(extra_source=1)).numpy()
    for row, (source, target) in enumerate(PAIRS):
        expected, _ = systems.decode(weights, source, target, dict(vars(model.config)))
        np.testing.assert_allclose(logits[row, : len(target)], expected, **NEAR)


def test_parameters_of_rnnencdec_in_the_authors_program():
    """72,487,101, counted by the authors' own program for 30,001 symbols a side; RNNsearch has
    84,349,101.
    """
    config = load_config("groundhog", ["model.system=rnnencdec"])
    with tf.device("cpu"):
        model = build_model(config, 30_001, 30_001)
    assert sum(int(np.prod(weight.shape)) for weight in model.trainable_variables) == 72_487_101


def test_the_configuration_for_phrases_is_the_authors_state():
    """prototype_phrase_state and prototype_state of their state.py. 17,269,501 parameters, by the
    shapes of their layers: embeddings 3,000,400, their projections 602,000, recurrent matrices
    6,000,000, s_0 1,001,000, context 3,000,000, readout 2,101,000, output 1,565,101.
    """
    config = load_config("encoder-decoder-groundhog")
    assert (config.source.vocabulary_size, config.target.vocabulary_size) == (15_001, 15_001)
    data = config.data
    assert (data.batching, data.batch_size, data.variants) == ("paper", 64, 0)
    assert (config.model.embedding_size, config.model.output_rank) == (100, 100)
    with tf.device("cpu"):
        model = build_model(config, 15_001, 15_001)
    assert sum(int(np.prod(weight.shape)) for weight in model.trainable_variables) == 17_269_501
    assert not {"V", "O_w"} & set(model.paper_weights()), "layers of the paper alone"
    one = load_config("groundhog", ["training.checkpoint_every_minutes=30"])
    assert (config.training, config.search) == (one.training, one.search)


def test_windows_begin_with_heights_that_sum_to_one():
    model = build_model(
        load_config(
            values={"model": dict(attention="gaussian_window", hidden_size=4, embedding_size=4)}
        ),
        8,
        7,
    )
    weights = model.paper_weights()
    assert np.exp(weights["b_alpha"]).sum() == pytest.approx(1.0, abs=1e-6)
    assert not weights["b_beta"].any() and not weights["b_kappa"].any()


def test_windows_move_right_only():
    model = tiny_system("rnnsearch-windows")
    state, memory = model.start(batch()["source_ids"])
    state = tf.nest.map_structure(lambda leaf: leaf[:, None], state)
    for word in (0, 3, 5, 4):
        before = state["location"].numpy()
        _, _, state = model.step(tf.fill([len(PAIRS), 1], word), state, memory)
        assert (state["location"].numpy() > before).all()
