"""Search under tf.function: one trace for all shapes."""

import numpy as np
import pytest
import search_reference as reference
import tensorflow as tf
from search_toy import Toy
from tiny_rnnsearch import batch, tiny_model

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.search.beam import beam_search
from rnnsearch_tf.search.graphs import IDS
from rnnsearch_tf.search.sampling import sample

CONFIG = SearchConfig(beam_size=4)
SENTENCES = (3, 5, 2, 6)


@pytest.fixture(scope="module")
def module():
    toy = Toy(seed=9, vocabulary_size=9, source_lengths=SENTENCES, end_bias=1.0)
    module = tf.Module()
    module.traces = []
    module.toy = toy

    @tf.function(autograph=False, input_signature=[IDS])
    def search(source_ids):
        module.traces.append("search")
        return beam_search(toy, source_ids, CONFIG, 2, True)._asdict()

    @tf.function(autograph=False, input_signature=[IDS, tf.TensorSpec([None], tf.int64)])
    def draw(source_ids, seeds):
        module.traces.append("draw")
        return sample(toy, source_ids, seeds, CONFIG)._asdict()

    module.search = search
    module.draw = draw
    return module


@pytest.mark.parametrize("sentences", [[0, 1, 2, 3], [3], [1, 1, 1]])
def test_one_trace_serves_every_shape(module, sentences, no_room):
    source_ids = module.toy.source_ids(sentences)
    found = module.search(source_ids)
    for row, sentence in enumerate(sentences):
        for n, expected in enumerate(reference.beam(module.toy, sentence, CONFIG, 2)):
            assert (
                found["ids"][row, n, : found["lengths"][row, n]].numpy().tolist() == expected.words
            )
    drawn = module.draw(source_ids, tf.fill([len(sentences)], tf.constant(3, tf.int64)))
    assert drawn["ids"].shape[0] == len(sentences)
    assert module.traces.count("search") == module.traces.count("draw") == 1


def test_a_graph_of_known_sizes_gives_the_same():
    """Sizes known when it is traced vary in the loop all the same: the optimizer must not take the
    first step's for good.
    """
    model = tiny_model("float32")
    ids = batch()["source_ids"]

    def search(ids):
        return beam_search(model, ids, CONFIG, 2, True)._asdict()

    expected = tf.function(search, autograph=False, input_signature=[IDS])(ids)
    for name, found in tf.function(search, autograph=False)(ids).items():
        np.testing.assert_allclose(found, expected[name], atol=1e-6)
