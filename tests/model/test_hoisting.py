"""Weights are read and cast once for a search, outside its loop; the answers are the same, and
later weights are seen.
"""

import numpy as np
import pytest
from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.search.graphs import score_graph, search_graph
from tiny_rnnsearch import batch, padded
from tiny_systems import SYSTEMS, THREE, others_slow, tiny_system

CONFIG = SearchConfig(beam_size=3, maximum_length_ratio=2.0)


def operations(graph):
    """Types of the operations in the loops of a graph; what a loop takes from outside comes in by
    name.
    """
    library = graph.as_graph_def().library.function
    return [
        node.op
        for function in library
        if "while" in function.signature.name
        for node in function.node_def
    ]


@pytest.mark.parametrize("name", others_slow(SYSTEMS, THREE))
def test_a_loop_reads_no_weights(name):
    graph = search_graph(tiny_system(name, "mixed_bfloat16"), CONFIG)
    found = operations(graph.get_concrete_function().graph)
    assert "While" in found or "MatMul" in found, "the loop was not found"
    assert "ReadVariableOp" not in found


def test_a_loop_casts_no_weights():
    """Casts to bfloat16 in the loops: of what a step computed and what it carries, not of what came
    in from outside.
    """
    model = tiny_system("rnnsearch", "mixed_bfloat16")
    definition = search_graph(model, CONFIG).get_concrete_function().graph.as_graph_def()
    bodies = [f for f in definition.library.function if "while_body" in f.signature.name]
    arguments = {argument.name for body in bodies for argument in body.signature.input_arg}
    # so TensorFlow calls what a loop carries
    outside = {name for name in arguments if "placeholder" not in name}
    nodes = [
        node
        for body in bodies
        for node in body.node_def
        if node.op == "Cast" and "DT_BFLOAT16" in str(node.attr["DstT"])
    ]
    assert nodes and not [node.name for node in nodes if node.input[0].split(":")[0] in outside]


@pytest.mark.parametrize("dtype", ("float32", "mixed_bfloat16"))
@pytest.mark.parametrize("name", others_slow(SYSTEMS, THREE))
def test_the_numbers_are_those_without(name, dtype):
    model = tiny_system(name, dtype)
    inputs = batch()
    hoisted = score_graph(model)(inputs["source_ids"], inputs["target_ids"])
    plain = model.score_targets(inputs["source_ids"], inputs["target_ids"])
    np.testing.assert_allclose(
        hoisted.log_probabilities, plain.log_probabilities, rtol=0, atol=1e-5
    )


def test_new_weights_are_seen():
    model = tiny_system("rnnsearch", "float32")
    search = search_graph(model, CONFIG)
    source_ids = padded([[3, 4, 1]])
    before = search(source_ids).scores.numpy()
    model.output_layer.b_softmax.assign_add(np.linspace(-1, 1, model.target_vocabulary_size))
    assert np.abs(search(source_ids).scores.numpy() - before).max() > 1e-3
