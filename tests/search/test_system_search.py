"""Sampling, scoring and beams agree for every system: the search over a real model, not a toy."""

import itertools

import numpy as np
import pytest
from rnnsearch_tf.config import END_ID, SearchConfig
from rnnsearch_tf.search.graphs import score_graph, search_graph
from tiny_rnnsearch import PAIRS, TARGET_SIZE, padded
from tiny_systems import ONE_OF_EACH, tiny_system

each_system = pytest.mark.parametrize("name", ONE_OF_EACH)


@each_system
def test_probabilities_of_all_outputs_sum_to_one(name):
    """Every output of up to three tokens, and every beginning of three tokens that has not ended;
    `<pad>` is made impossible.
    """
    model = tiny_system(name, "float32")
    bias = model.output_layer.b_softmax
    bias.assign(np.concatenate([[-1e9], bias.numpy()[1:]]))
    words = range(END_ID + 1, TARGET_SIZE)
    limit = 3
    ended = [
        [*row, END_ID] for length in range(limit) for row in itertools.product(words, repeat=length)
    ]
    targets = padded(ended + [list(row) for row in itertools.product(words, repeat=limit)])
    score = score_graph(model)
    for source, _ in PAIRS[:2]:
        logs = score(padded([source] * len(targets)), targets).log_probabilities
        total = np.exp(np.sum(logs, axis=1)).sum()
        assert total == pytest.approx(1.0, abs=1e-5)


@each_system
def test_forced_scores_are_the_beams(name):
    model = tiny_system(name, "float32")
    bias = model.output_layer.b_softmax
    bias.assign(bias.numpy() + 2.0 * (np.arange(TARGET_SIZE) == END_ID))  # so that some outputs end
    source_ids = padded([source for source, _ in PAIRS])
    score = score_graph(model)
    found = search_graph(model, SearchConfig(beam_size=4, length_penalty=0.0), 3)(source_ids)
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


def test_scores_stop_at_padding():
    """Neither the padding of a target nor its neighbours count."""
    model = tiny_system("rnnsearch", "float32")
    sources, targets = (padded(rows, extra=2) for rows in zip(*PAIRS))
    scores = score_graph(model)(sources, targets)
    for row, (source, target) in enumerate(PAIRS):
        alone = score_graph(model)(padded([source]), padded([target]))
        together = scores.log_probabilities[row, : len(target)]
        np.testing.assert_allclose(together, alone.log_probabilities[0], rtol=0, atol=1e-5)
        assert not np.any(scores.log_probabilities[row, len(target) :])
        assert not np.any(scores.alignments[row, len(target) :])
