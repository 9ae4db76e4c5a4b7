"""A run as an ONNX file: its search, its settings, its weights in eight bits."""

import dataclasses
import pathlib

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper
from tiny_run import write_run
from tiny_systems import randomize, system_config

from rnnsearch_tf.config import END_ID, Config, SearchConfig
from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.onnx import export
from rnnsearch_tf.extras.onnx.check import compare
from rnnsearch_tf.extras.onnx.export import export_onnx
from rnnsearch_tf.extras.onnx.graph import search_onnx
from rnnsearch_tf.extras.onnx.loops import hoist_constants
from rnnsearch_tf.extras.onnx.weights import LEVELS, quantize_weights
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.search.graphs import search_graph
from rnnsearch_tf.translation import Translator

SOURCE_SIZE, TARGET_SIZE = 20, 300  # more words than a block of search/beam.py
BATCHES = [
    np.array([[5, 9, 3, 1, 0, 0], [4, 1, 0, 0, 0, 0], [7, 7, 2, 8, 3, 1], [1, 0, 0, 0, 0, 0]]),
    np.array([[11, 12, 1]]),
    np.array([[3, 1], [6, 1], [19, 1]]),
]


def session_of(proto):
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("onnx") / "run")


def model_of(nodes, values, weights):
    """A ModelProto with the inputs, outputs and constants of one graph."""
    infos = [
        [helper.make_tensor_value_info(name, kind, None) for name, kind in each.items()]
        for each in values
    ]
    constants = [onnx.numpy_helper.from_array(array, name) for name, array in weights.items()]
    graph = helper.make_graph(nodes, "graph", *infos, constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)


def test_int8_products_are_near_those_of_float64_and_each_row_stands_alone():
    generator = np.random.default_rng(1)
    weight = generator.normal(size=(80, 96)).astype(np.float32)
    values = generator.normal(size=(7, 80)).astype(np.float32)
    values *= np.array([[1, 10, 1e-3, 0, 1, 1, 1]], np.float32).T  # one is zero
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["y"]),
        helper.make_node("Gather", ["w", "rows"], ["looked_up"]),
    ]
    kinds = onnx.TensorProto
    inputs = {"x": kinds.FLOAT, "rows": kinds.INT64}
    outputs = {"y": kinds.FLOAT, "looked_up": kinds.FLOAT}
    proto = model_of(nodes, (inputs, outputs), {"w": weight})
    quantize_weights(proto)
    matrices = {each.name: each for each in proto.graph.initializer if len(each.dims) == 2}
    assert {array.data_type for array in matrices.values()} == {
        kinds.INT8,
        kinds.FLOAT,  # scales of the rows
    }
    factors = onnx.numpy_helper.to_array(matrices["w.int8.columns"]).astype(int)
    # what a processor without VNNI adds in 16 bits, where the row's factors are 0 … 2 · LEVELS
    assert 2 * 2 * LEVELS * np.abs(factors).max() < 2**15
    session = session_of(proto)
    product, rows = session.run(None, {"x": values, "rows": np.array([3, 0])})
    expected = values.astype(np.float64) @ weight
    # steps of rounding: 1/90 of the largest weight and of the row's largest value
    error = np.abs(product - expected).max(axis=1)
    assert (error <= 0.03 * np.abs(expected).max(axis=1)).all()
    assert np.abs(rows - weight[[3, 0]]).max() <= 0.51 * np.abs(weight).max() / 127
    for row in range(len(values)):
        [alone] = session.run(["y"], {"x": values[row : row + 1], "rows": np.array([0])})
        np.testing.assert_array_equal(alone[0], product[row])


def test_equal_weights_that_are_transposed_in_two_orders():
    """Each product reads the order that it asks for."""
    weight = np.random.default_rng(1).normal(size=(2, 3, 4)).astype(np.float32)
    orders = {"y": [1, 0, 2], "z": [2, 1, 0]}
    nodes = [
        node
        for name, order in orders.items()
        for node in (
            helper.make_node("Transpose", ["w"], [f"{name}_t"], perm=order),
            helper.make_node("Mul", ["x", f"{name}_t"], [name]),
        )
    ]
    kind = onnx.TensorProto.FLOAT
    proto = model_of(nodes, ({"x": kind}, dict.fromkeys(orders, kind)), {"w": weight})
    hoist_constants(proto.graph)
    assert {node.op_type for node in proto.graph.node} == {"Mul"}
    found = session_of(proto).run(None, {"x": np.ones([], np.float32)})
    for values, order in zip(found, orders.values()):
        np.testing.assert_array_equal(values, weight.transpose(order))


@pytest.mark.slow
def test_a_wrong_answer_is_not_published(run, tmp_path, monkeypatch):
    def wrong(model, config, nbest):
        longer = dataclasses.replace(config, length_penalty=0.0)
        return search_onnx(model, longer, nbest)

    monkeypatch.setattr(export, "search_onnx", wrong)
    with pytest.raises(UserError, match="expected the Python model's answer"):
        export_onnx(run, tmp_path / "served")
    assert not list((tmp_path / "served").glob("[0-9]*"))


def test_other_words_of_the_same_scores_are_a_tie():
    """Two programs round otherwise, which decides between hypotheses of the same score. A longer
    one pads the others of its batch.
    """

    def answer(ids, score=-1.5):
        shape = [1, 1, len(ids)]
        return dict(
            ids=np.reshape(ids, shape),
            lengths=np.array([[np.count_nonzero(ids)]]),
            scores=np.array([[score]]),
            log_probabilities=np.array([[score]]),
            alignments=np.ones([*shape, 1]),
            finished=np.array([[True]]),
            token_log_probabilities=np.full(shape, -0.75),
        )

    right = answer([4, 1])
    assert compare("file", [answer([4, 1, 0]), answer([6, 7, 1])], [right, right]) == 2
    wrong_answers = [answer([4, 1], -1.6), right | dict(alignments=np.zeros([1, 1, 2, 1]))]
    for wrong in wrong_answers:
        with pytest.raises(UserError, match="expected the Python model's answer"):
            compare("file", [wrong], [right])
    with pytest.raises(UserError, match="other text with the same scores"):
        compare("file", [answer([6, 1])], [right])  # always another text has another cause


def model(name):
    config = dataclasses.replace(Config(), model=system_config(name))
    return randomize(build_model(config, SOURCE_SIZE, TARGET_SIZE), seed=7)


def assert_searched_alike(searched, config, nbest):
    """ONNX Runtime's n-best lists are TensorFlow's. Returns the lengths of all."""
    session = session_of(search_onnx(searched, config, nbest))
    names = [output.name for output in session.get_outputs()]
    graph = search_graph(searched, config, nbest)
    lengths = set()
    for ids in BATCHES:
        ids = ids.astype(np.int32)
        got = dict(zip(names, session.run(names, {"source_ids": ids})))
        expected = graph(ids)._asdict()
        for name in ("ids", "lengths", "finished"):
            np.testing.assert_array_equal(got[name], expected[name], name)
        for name in ("scores", "log_probabilities", "token_log_probabilities", "alignments"):
            np.testing.assert_allclose(got[name], expected[name], 1e-4, 1e-5, err_msg=name)
        lengths |= {*got["lengths"].ravel().tolist()}
    return lengths


def test_a_search_with_attention_whose_hypotheses_end_early_or_at_the_maximum_length():
    searched = model("rnnsearch")
    searched.output_layer.b_softmax.assign(4.0 * (np.arange(TARGET_SIZE) == END_ID))
    config = SearchConfig(beam_size=3, maximum_length_ratio=3.0)
    assert len(assert_searched_alike(searched, config, nbest=3)) > 3


def test_a_search_without_attention():
    config = SearchConfig(beam_size=3, maximum_length_ratio=2.0)
    assert_searched_alike(model("rnnencdec"), config, nbest=2)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        dict(beam_size=1, length_penalty=0.7),
        dict(beam_size=5, shrinking_beam=True, minimum_length_ratio=0.5, allow_unknown=False),
    ],
    ids=["greedy", "shrinking"],
)
def test_options_of_the_search(options):
    config = SearchConfig(maximum_length_ratio=2.0, **options)
    assert_searched_alike(model("rnnsearch"), config, min(2, config.beam_size))


@pytest.mark.slow
def test_the_runtime_has_the_results_of_its_model(tmp_path, monkeypatch):
    words = ["source.tokenization=space", "target.tokenization=space"]
    run = write_run(tmp_path / "run", words, unknown_words=8.0)
    replaced = "search.replace_unknown=true"
    options = [replaced, "nbest=2", "maximum_length=150"]
    served = export_onnx(run, tmp_path / "served", overrides=options)
    monkeypatch.syspath_prepend(str(pathlib.Path(__file__).parents[2] / "runtime"))
    import rnnsearch_runtime

    translator = Translator.load(run, [replaced])
    translator.maximum_length = 150
    lines = ["My sister reads an old book.", "", "🙂 שלום", "book " * 200]
    found = rnnsearch_runtime.Translator(served.folder / "model.onnx").translate(lines)
    for ours, theirs in zip(found, translator.translate(lines, 2), strict=True):
        assert ours.source_tokens == theirs.source_tokens
        for one, other in zip(ours.nbest, theirs.nbest, strict=True):
            parts = [(each.text, each.tokens, each.finished) for each in (one, other)]
            assert parts[0] == parts[1]
            np.testing.assert_allclose(one.alignment, other.alignment, 1e-4, 1e-4)
            assert one.score == pytest.approx(other.score, abs=1e-4)


@pytest.mark.slow
def test_an_ensemble():
    config = SearchConfig(beam_size=3, maximum_length_ratio=2.0)
    assert_searched_alike(Ensemble([model("rnnsearch"), model("luong-general")]), config, nbest=2)
