"""Search under tf.function, of sizes that are known when it is traced and of others."""

import numpy as np
import tensorflow as tf
from tiny_rnnsearch import batch, tiny_model

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.search.beam import beam_search
from rnnsearch_tf.search.graphs import IDS, search_graph

CONFIG = SearchConfig(beam_size=4)


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


def test_no_step_multiplies_by_a_transposed_matrix():
    """The tied output matrix is transposed once, before the loop: with few rows, TensorFlow's
    product of a transposed matrix takes many times as long.
    """
    model = tiny_model("float32", tie_target_embeddings=True)
    graph = search_graph(model, CONFIG).get_concrete_function().graph
    bodies = graph.as_graph_def().library.function
    products = [node for body in bodies for node in body.node_def if node.op == "MatMul"]
    assert products and not any(node.attr["transpose_b"].b for node in products)
