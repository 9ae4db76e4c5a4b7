"""Sampling, scoring and beams agree for every system: the search over a real model, not a toy."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from rnnsearch_tf.config import END_ID, PAD_ID, SearchConfig
from rnnsearch_tf.search.graphs import search_graph
from tiny_rnnsearch import PAIRS, TARGET_SIZE, padded
from tiny_systems import ONE_OF_EACH, scores_of, tiny_system


@pytest.fixture(scope="module", params=ONE_OF_EACH)
def system(request):
    """(model, its search, its forced scores), each traced once."""
    model = tiny_system(request.param, "float32")
    search = search_graph(model, SearchConfig(beam_size=4, length_penalty=0.0), 3)
    return model, search, scores_of(model)


def set_bias(model, change):
    """The bias of the output words, as it was drawn but for a change."""
    drawn = np.random.default_rng(1).normal(scale=0.6, size=TARGET_SIZE)
    model.output_layer.b_softmax.assign(drawn + change)


def test_probabilities_of_all_outputs_sum_to_one(system):
    """Every output of up to three tokens, and every beginning of three tokens that has not ended;
    `<pad>` is made impossible.
    """
    model, _, score = system
    set_bias(model, -1e9 * (np.arange(TARGET_SIZE) == PAD_ID))
    words = range(END_ID + 1, TARGET_SIZE)
    limit = 3
    ended = [
        [*row, END_ID] for length in range(limit) for row in itertools.product(words, repeat=length)
    ]
    targets = padded(ended + [list(row) for row in itertools.product(words, repeat=limit)])
    for source, _ in PAIRS[:2]:
        logs = score(padded([source] * len(targets)), targets).log_probabilities
        total = np.exp(np.sum(logs, axis=1)).sum()
        assert total == pytest.approx(1.0, abs=1e-5)


def test_forced_scores_are_the_beams(system):
    model, search, score = system
    set_bias(model, 2.0 * (np.arange(TARGET_SIZE) == END_ID))  # so that some outputs end
    source_ids = padded([source for source, _ in PAIRS])
    found = search(source_ids)
    assert found.finished.numpy().any()
    for place in range(3):
        forced = score(source_ids, found.ids[:, place])
        expected = found.token_log_probabilities[:, place]
        np.testing.assert_allclose(forced.log_probabilities, expected, rtol=0, atol=2e-5)
        alignments = found.alignments[:, place]
        np.testing.assert_allclose(forced.alignments, alignments, rtol=0, atol=2e-5)
        total = found.log_probabilities[:, place][found.lengths[:, place] > 0]
        there = np.sum(expected, axis=1)[found.lengths[:, place] > 0]
        np.testing.assert_allclose(there, total, rtol=0, atol=2e-5)


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_greedy_search_takes_the_best_word_of_each_step(name):
    """Beam 1, as in every evaluation of a training; the logits of training are the reference."""
    model = tiny_system(name, "float32")
    source_ids = padded([source for source, _ in PAIRS])
    config = SearchConfig(beam_size=1, length_penalty=0.0)
    found = search_graph(model, config, alignments=False)(source_ids).ids[:, 0]
    logits = model((source_ids, found)).numpy()
    logits[..., PAD_ID] = -np.inf  # never chosen
    real = found.numpy() != PAD_ID
    assert real.any(axis=1).all()
    np.testing.assert_array_equal(logits.argmax(-1)[real], found.numpy()[real])


def test_no_sentence_has_no_answer(system):
    """A batch of nothing, as a server may be sent one."""
    _, search, _ = system
    assert search(tf.zeros([0, 3], tf.int32)).lengths.shape == (0, 3)


def test_scores_stop_at_padding():
    """Neither the padding of a target nor its neighbours count."""
    model = tiny_system("rnnsearch", "float32")
    sources, targets = (padded(rows, extra=2) for rows in zip(*PAIRS))
    score = scores_of(model)
    scores = score(sources, targets)
    for row, (source, target) in enumerate(PAIRS):
        alone = score(padded([source]), padded([target]))
        together = scores.log_probabilities[row, : len(target)]
        np.testing.assert_allclose(together, alone.log_probabilities[0], rtol=0, atol=1e-5)
        assert not np.any(scores.log_probabilities[row, len(target) :])
        assert not np.any(scores.alignments[row, len(target) :])
