"""Models, searches and batches with which a search as a graph is compared with TensorFlow's."""

import dataclasses

import numpy as np
from tiny_systems import randomize, system_config

from rnnsearch_tf.config import END_ID, Config, SearchConfig
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.search.graphs import search_graph

SOURCE_SIZE, TARGET_SIZE = 20, 300  # more words than a block of search/beam.py
BATCHES = [
    np.array([[5, 9, 3, 1, 0, 0], [4, 1, 0, 0, 0, 0], [7, 7, 2, 8, 3, 1], [1, 0, 0, 0, 0, 0]]),
    np.array([[11, 12, 1]]),
    np.array([[3, 1], [6, 1], [19, 1]]),
]
TOGETHER = "rnnsearch and luong-general"
SEARCHES = {
    "beam": dict(beam_size=4),
    "greedy": dict(beam_size=1),
    "shrinking": dict(beam_size=5, shrinking_beam=True, minimum_length_ratio=0.5),
    "length penalty": dict(beam_size=4, length_penalty=0.7),
    "without unknown words": dict(beam_size=3, allow_unknown=False),
}


def model(name, **options):
    if name == TOGETHER:
        return Ensemble([model(member) for member in TOGETHER.split(" and ")])
    config = dataclasses.replace(Config(), model=system_config(name, **options))
    return randomize(build_model(config, SOURCE_SIZE, TARGET_SIZE), seed=7)


def model_of_many_lengths():
    """(a model with attention, SearchConfig): some hypotheses end early, others at the maximum
    length.
    """
    searched = model("rnnsearch")
    bias = searched.output_layer.b_softmax
    bias.assign(6.5 * (np.arange(TARGET_SIZE) == END_ID))
    config = SearchConfig(beam_size=3, maximum_length_ratio=3.0)
    lengths = search_graph(searched, config, 3)(BATCHES[0].astype(np.int32)).lengths.numpy()
    assert len(np.unique(lengths)) > 3, "the hypotheses have too few lengths to tell them apart"
    return searched, config


def assert_equal_searches(answer, searched, config, nbest, batches):
    """Compare a function of source ids, {name of an output: array}, with TensorFlow's search."""
    graph = search_graph(searched, config, nbest)
    for ids in batches:
        got = answer(ids.astype(np.int32))
        expected = graph(ids.astype(np.int32))._asdict()
        for name in ("ids", "lengths", "finished"):
            np.testing.assert_array_equal(got[name], expected[name], name)
        for name in ("scores", "log_probabilities", "token_log_probabilities", "alignments"):
            np.testing.assert_allclose(got[name], expected[name], 1e-4, 1e-5, err_msg=name)
