"""RNNencdec and the variants of RNNsearch against their NumPy reference, 1e-10 in float64: every
attention and unit in every order.

tests/equations/test_systems.py has losses, steps of a search and graphs.
"""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from reference import systems
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


def test_windows_move_right_only():
    model = tiny_system("rnnsearch-windows")
    state, memory = model.start(batch()["source_ids"])
    state = tf.nest.map_structure(lambda leaf: leaf[:, None], state)
    for word in (0, 3, 5, 4):
        before = state["location"].numpy()
        _, _, state = model.step(tf.fill([len(PAIRS), 1], word), state, memory)
        assert (state["location"].numpy() > before).all()
