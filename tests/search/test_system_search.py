"""Sampling, scoring and beams agree for every system: the search over a real model, not a toy."""

import itertools

import numpy as np
import pytest
import tensorflow as tf
from rnnsearch_tf.config import END_ID, SearchConfig
from rnnsearch_tf.search.beam import beam_search
from rnnsearch_tf.search.scoring import score_targets
from tiny_rnnsearch import PAIRS, TARGET_SIZE, padded
from tiny_systems import ONE_OF_EACH, tiny_system

each_system = pytest.mark.parametrize("name", ONE_OF_EACH)


def functions(model, config=SearchConfig(nbest=1)):
    """(log p(target | source) of each row by forcing, beam search), each traced once for every
    shape, as Translator does.
    """
    ids = tf.TensorSpec([None, None], tf.int32)

    @tf.function(autograph=False, input_signature=[ids, ids])
    def score(source_ids, target_ids):
        return tf.reduce_sum(
            score_targets(*model.start(source_ids), model.step, target_ids).log_probabilities,
            axis=-1,
        )

    @tf.function(autograph=False, input_signature=[ids])
    def search(source_ids):
        lengths = tf.reduce_sum(tf.cast(source_ids > 0, tf.int32), axis=1)
        return beam_search(*model.start(source_ids), model.step, lengths, config)

    return score, search


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
    score, _ = functions(model)
    for source, _ in PAIRS[:2]:
        total = np.exp(score(padded([source] * len(targets)), targets)).sum()
        assert total == pytest.approx(1.0, abs=1e-5)


@each_system
def test_forced_scores_are_the_beams(name):
    model = tiny_system(name, "float32")
    bias = model.output_layer.b_softmax
    bias.assign(bias.numpy() + 2.0 * (np.arange(TARGET_SIZE) == END_ID))  # so that some outputs end
    source_ids = padded([source for source, _ in PAIRS])
    config = SearchConfig(beam_size=4, nbest=3, length_penalty=0.0, maximum_length_ratio=1.5)
    score, search = functions(model, config)
    found = search(source_ids)
    assert found.finished.numpy().any()
    for place in range(config.nbest):
        there = found.lengths[:, place] > 0
        forced = score(source_ids, found.ids[:, place])
        np.testing.assert_allclose(
            forced[there], found.log_probabilities[:, place][there], rtol=0, atol=2e-5
        )
