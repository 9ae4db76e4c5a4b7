"""A search reads its weights once, outside its loop, and sees those that are set later, unless they
are constants.
"""

import numpy as np
import pytest
from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.search.graphs import search_graph
from rnnsearch_tf.translation import Translator
from tiny_rnnsearch import padded
from tiny_run import write_run
from tiny_systems import THREE, others_slow, tiny_system


def operations(functions):
    return {node.op for function in functions for node in function.node_def}


@pytest.mark.parametrize("name", others_slow(THREE, ["rnnsearch"]))
def test_a_loop_reads_no_weights(name):
    """What a loop takes from outside comes in by name."""
    model = tiny_system(name, "mixed_bfloat16")
    search = search_graph(model, SearchConfig(beam_size=3, maximum_length_ratio=2.0))
    graph = search.get_concrete_function().graph.as_graph_def()
    loops = operations(f for f in graph.library.function if "while" in f.signature.name)
    assert "While" in loops or "MatMul" in loops, "the loop was not found"
    assert "ReadVariableOp" not in loops
    source_ids = padded([[3, 4, 1]])
    before = search(source_ids).scores.numpy()
    bias = model.output_layer.b_softmax
    bias.assign(bias + np.linspace(-1, 1, model.target_vocabulary_size))
    assert np.abs(search(source_ids).scores.numpy() - before).max() > 1e-3


def test_constant_weights_are_read_no_more():
    model = tiny_system("rnnsearch", "mixed_bfloat16")
    config = SearchConfig(beam_size=3)
    source_ids = padded([[3, 4, 1], [5, 1]])
    read = search_graph(model, config)(source_ids)
    search = search_graph(model, config, constant=True)
    graph = search.get_concrete_function().graph.as_graph_def()
    assert "ReadVariableOp" not in operations(graph.library.function)
    assert "ReadVariableOp" not in {node.op for node in graph.node}
    for constant, variable in zip(search(source_ids), read):
        np.testing.assert_array_equal(constant, variable)


def test_only_a_loaded_translator_keeps_its_first_weights(tmp_path):
    loaded = Translator.load(write_run(tmp_path / "run"))
    texts = loaded.source_text, loaded.target_text
    live = Translator(loaded.model, *texts, loaded.config)
    before = [translator.score(["a"], ["b"]) for translator in (loaded, live)]
    bias = loaded.model.output_layer.b_softmax
    bias.assign(bias + np.linspace(-1, 1, loaded.model.target_vocabulary_size))
    assert loaded.score(["a"], ["b"]) == before[0]
    assert abs(live.score(["a"], ["b"])[0] - before[1][0]) > 1e-3
