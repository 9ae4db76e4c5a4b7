"""Every system against its NumPy reference, 1e-10 in float64: the model sees a padded batch, the
reference one sentence.

The rows of tests/tiny_systems.py name the systems and, between them, each option of theirs.
"""

import dataclasses
import itertools

import numpy as np
import pytest
import tensorflow as tf
from reference import systems
from tiny_rnnsearch import END, PAIRS, batch
from tiny_systems import ORDERS, SYSTEMS, shared_system, tiny_system, with_hypotheses

NEAR = dict(rtol=0, atol=1e-10)
SINGLE = dict(rtol=0, atol=2e-6)  # `step` returns float32: 7 digits of log-probabilities below 10

each_system = pytest.mark.parametrize("name", SYSTEMS)


def options_of(model):
    return dataclasses.asdict(model.config)


@each_system
def test_logits_and_losses(name):
    model, call = shared_system(name)
    weights = model.paper_weights()
    options = options_of(model)
    logits = call(batch(extra_source=2)).numpy()
    assert logits.dtype == np.float64
    losses, nll = (values.numpy() for values in model.token_losses(batch(), label_smoothing=0.2))
    starts = np.cumsum([0] + [len(target) for _, target in PAIRS])
    assert len(losses) == starts[-1]
    for row, (source, target) in enumerate(PAIRS):
        expected, _ = systems.decode(weights, source, target, options)
        np.testing.assert_allclose(logits[row, : len(target)], expected, **NEAR)
        words = slice(starts[row], starts[row + 1])
        assert losses[words].sum() == pytest.approx(
            systems.sentence_loss(weights, source, target, options, 0.2), abs=1e-10
        )
        assert nll[words].sum() == pytest.approx(
            systems.sentence_loss(weights, source, target, options), abs=1e-10
        )


@each_system
def test_steps_of_a_search(name):
    """`start` and `step`, with two hypotheses a sentence that go different ways."""
    model, _ = shared_system(name)
    weights = model.paper_weights()
    options = options_of(model)
    state, memory = model.start(batch()["source_ids"])
    state = with_hypotheses(state, 2)
    # [B, I, K]
    words = np.array([[[0, 0], [3, 5], [6, 2], [4, 4]], [[0, 0], [2, 6], [2, 3], [5, 1]]] * 2)
    step = tf.function(model.step, autograph=False)
    for i in range(words.shape[1]):
        scores, alignment, state = step(tf.constant(words[:, i], tf.int32), state, memory)
        assert scores.dtype == alignment.dtype == tf.float32
        for row, (source, _) in enumerate(PAIRS):
            for k in range(2):
                target = [*words[row, 1 : i + 1, k], END]  # y_1 .. y_{i-1}, and any word to ask for
                logits, alignments = systems.decode(weights, source, target, options)
                np.testing.assert_allclose(scores[row, k], logits[-1], **SINGLE)
                np.testing.assert_allclose(
                    alignment[row, k, : len(source)], alignments[-1], **SINGLE
                )


def test_the_three_orders_differ():
    """The comparisons above would not see three options that do the same."""
    outputs = [tiny_system("rnnsearch", decoder_order=o)(batch()).numpy()[0, 1] for o in ORDERS]
    for one, other in itertools.combinations(outputs, 2):
        assert np.abs(one - other).max() > 1e-3


@each_system
def test_has_attention_says_whether_alignments_mean_anything(name):
    model, _ = shared_system(name)
    state, memory = model.start(batch()["source_ids"])
    _, alignment, _ = model.step(
        tf.zeros([len(PAIRS), 1], tf.int32),
        with_hypotheses(state),
        memory,
    )
    total = tf.reduce_sum(alignment, axis=-1).numpy()
    if model.config.attention == "gaussian_window":  # its weights do not sum to one
        assert (total > 0).all()
    else:
        np.testing.assert_allclose(total, 1.0 if model.has_attention else 0.0, atol=1e-6)
