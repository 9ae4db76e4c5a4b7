"""Whole sentences against the NumPy reference, 1e-10 in float64, for every variant option.

The model sees one padded batch; the reference sees each sentence alone.
"""

import numpy as np
import pytest
import tensorflow as tf
from reference import rnnsearch
from tiny_rnnsearch import END, PAIRS, VARIANTS, batch, tiny_model, variant_name

NEAR = dict(rtol=0, atol=1e-10)
SINGLE = dict(rtol=0, atol=2e-6)  # `step` returns float32: 7 digits of log-probabilities below 10

each_variant = pytest.mark.parametrize("options", VARIANTS, ids=variant_name)
each_order = pytest.mark.parametrize("order", rnnsearch.ORDERS)


@each_variant
def test_logits(options):
    model = tiny_model(**options)
    weights = model.paper_weights()
    logits = model(batch()).numpy()
    assert logits.dtype == np.float64
    for row, (source, target) in enumerate(PAIRS):
        expected, _, _ = rnnsearch.decode(weights, source, target, options["decoder_order"])
        np.testing.assert_allclose(logits[row, : len(target)], expected, **NEAR)


@each_variant
def test_sentence_losses(options):
    model = tiny_model(**options)
    for smoothing in (0.0, 0.2):
        losses, nll = model.token_losses(batch(), label_smoothing=smoothing)
        weights = model.paper_weights()
        order = options["decoder_order"]
        starts = np.cumsum([0] + [len(target) for _, target in PAIRS])
        assert len(losses) == starts[-1]
        for (source, target), first, last in zip(PAIRS, starts, starts[1:]):
            expected = rnnsearch.sentence_loss(weights, source, target, order, smoothing)
            assert losses[first:last].numpy().sum() == pytest.approx(expected, abs=1e-10)
            expected = rnnsearch.sentence_loss(weights, source, target, order)
            assert nll[first:last].numpy().sum() == pytest.approx(expected, abs=1e-10)


@each_order
@pytest.mark.parametrize("rank", (None, 3))
@pytest.mark.parametrize("scaled", (False, True))
def test_tied_embeddings(order, rank, scaled):
    model = tiny_model(
        decoder_order=order, tie_target_embeddings=True, scale_embeddings=scaled, output_rank=rank
    )
    weights = model.paper_weights()
    # what is looked up is √m times what meets the output
    factor = np.sqrt(weights["E_target"].shape[1]) if scaled else 1
    np.testing.assert_allclose(
        factor * weights["W_o2" if rank else "W_o"], weights["E_target"].T, rtol=1e-14
    )
    logits = model(batch()).numpy()
    losses, _ = model.token_losses(batch(), label_smoothing=0.2)
    total = rnnsearch.batch_loss(weights, PAIRS, order, label_smoothing=0.2)
    assert losses.numpy().sum() == pytest.approx(total, abs=1e-10)
    for row, (source, target) in enumerate(PAIRS):
        expected, _, _ = rnnsearch.decode(weights, source, target, order)
        np.testing.assert_allclose(logits[row, : len(target)], expected, **NEAR)


@each_order
def test_in_a_graph(order):
    model = tiny_model(decoder_order=order, output_rank=2)
    in_graph = tf.function(model.call)(batch())
    np.testing.assert_allclose(in_graph, model(batch()), rtol=0, atol=1e-12)


def with_hypotheses(state, count):
    """State leaves [B, ...] -> [B, K, ...]."""
    return tf.nest.map_structure(lambda leaf: tf.repeat(leaf[:, None], count, axis=1), state)


@each_variant
def test_steps_of_a_search(options):
    """`start` and `step`, with two hypotheses a sentence that go different ways."""
    order = options["decoder_order"]
    model = tiny_model(**options)
    weights = model.paper_weights()
    state, memory = model.start(batch()["source_ids"])
    state = with_hypotheses(state, 2)
    # [B, I, K]
    words = np.array([[[0, 0], [3, 5], [6, 2], [4, 4]], [[0, 0], [2, 6], [2, 3], [5, 1]]] * 2)
    for i in range(words.shape[1]):
        scores, alignment, state = model.step(tf.constant(words[:, i], tf.int32), state, memory)
        assert scores.dtype == alignment.dtype == tf.float32
        for row, (source, _) in enumerate(PAIRS):
            for k in range(2):
                target = [*words[row, 1 : i + 1, k], END]  # y_1 .. y_{i-1}, and any word to ask for
                logits, alignments, states = rnnsearch.decode(weights, source, target, order)
                np.testing.assert_allclose(scores[row, k], logits[-1], **SINGLE)
                np.testing.assert_allclose(
                    alignment[row, k, : len(source)], alignments[-1], **SINGLE
                )
                expected = states[i] if order == "look_generate_update" else states[i + 1]
                np.testing.assert_allclose(state["state"][row, k], expected, **NEAR)


@each_order
def test_greedy_search_by_steps(order):
    """Weights large enough that the words change along a sentence; id 0 is never a word."""
    model = tiny_model(decoder_order=order, seed=7, scale=1.5, biases="all")
    state, memory = model.start(batch()["source_ids"])
    state = with_hypotheses(state, 1)
    words = tf.zeros([len(PAIRS), 1], tf.int32)
    columns = []
    for _ in range(8):
        scores, _, state = model.step(words, state, memory)
        words = 1 + tf.argmax(scores[..., 1:], axis=-1, output_type=tf.int32)
        columns.append(words[:, 0].numpy())
    found = [
        rnnsearch.greedy(model.paper_weights(), source, order, 8, forbidden=(0,))[0]
        for source, _ in PAIRS
    ]
    assert max(len(set(ids)) for ids in found) >= 2  # a search that stands still would not show it
    for row, expected in enumerate(found):
        assert [column[row] for column in columns][: len(expected)] == expected


def test_the_three_orders_differ():
    """The comparison above would not see three options that do the same."""
    outputs = [tiny_model(decoder_order=order)(batch()).numpy()[0, 1] for order in rnnsearch.ORDERS]
    for first in range(3):
        for second in range(first):
            assert np.abs(outputs[first] - outputs[second]).max() > 1e-3
