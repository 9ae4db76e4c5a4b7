"""A RUN as an ONNX file: its settings, its weights in eight bits, what is refused."""

import dataclasses
import json

import numpy as np
import onnx
import onnxruntime
import pytest
import searches
from tiny_run import write_run

from rnnsearch_tf.config import SearchConfig
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.extras.onnx import export
from rnnsearch_tf.extras.onnx.check import check_ties, compare
from rnnsearch_tf.extras.onnx.export import export_onnx
from rnnsearch_tf.extras.onnx.graph import search_onnx
from rnnsearch_tf.extras.onnx.loops import hoist_constants
from rnnsearch_tf.extras.onnx.weights import store_weights


def session_of(proto):
    return onnxruntime.InferenceSession(
        proto.SerializeToString(), providers=["CPUExecutionProvider"]
    )


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    return write_run(tmp_path_factory.mktemp("onnx") / "run")


@pytest.fixture(scope="module")
def exported(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("onnx") / "served"
    return export_onnx(run, folder, overrides=["weights=int8"])


def test_a_run_becomes_a_version(exported):
    assert exported.folder.name == "1"
    assert sorted(path.name for path in exported.folder.iterdir()) == [
        "model.onnx",
        "model_card.md",
        "profile.yaml",
    ]
    assert exported.compared == 0  # small weights change answers


def test_the_file_has_the_text_settings(exported, run):
    session = onnxruntime.InferenceSession(str(exported.folder / "model.onnx"))
    settings = json.loads(session.get_modelmeta().custom_metadata_map["rnnsearch"])
    assert settings["format"] == 1
    for side in ("source", "target"):
        tokens = (run / f"vocabulary.{side}.txt").read_text(encoding="utf-8").split("\n")
        assert settings[side]["tokens"] == [token for token in tokens if token]
    assert settings["search"]["beam_size"] == 3
    assert [value.name for value in session.get_inputs()] == ["source_ids"]
    assert [value.name for value in session.get_outputs()] == [
        "ids",
        "lengths",
        "log_probabilities",
        "scores",
        "alignments",
        "finished",
        "token_log_probabilities",
    ]


def test_int8_products_are_near_those_of_float64():
    generator = np.random.default_rng(1)
    weight = generator.normal(size=(80, 96)).astype(np.float32)
    bias = generator.normal(size=96).astype(np.float32)
    values = generator.normal(size=(7, 80)).astype(np.float32)
    make = onnx.helper
    proto = make.make_model(
        make.make_graph(
            [
                make.make_node("MatMul", ["x", "w"], ["product"]),
                make.make_node("Add", ["product", "b"], ["y"]),
                make.make_node("Gather", ["w", "rows"], ["looked_up"]),
            ],
            "graph",
            [
                make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, 80]),
                make.make_tensor_value_info("rows", onnx.TensorProto.INT64, [None]),
            ],
            [
                make.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None, 96]),
                make.make_tensor_value_info("looked_up", onnx.TensorProto.FLOAT, [None, 96]),
            ],
            [onnx.numpy_helper.from_array(weight, "w"), onnx.numpy_helper.from_array(bias, "b")],
        ),
        opset_imports=[make.make_opsetid("", 18)],
        ir_version=8,
    )
    store_weights(proto, "int8")
    assert [node.op_type for node in proto.graph.node].count("DynamicQuantizeMatMul") == 1
    session = session_of(proto)
    product, rows = session.run(None, {"x": values, "rows": np.array([3, 0])})
    expected = values.astype(np.float64) @ weight + bias
    # steps of rounding: 1/127 of the largest weight, 1/255 of the range of the values
    assert np.abs(product - expected).max() < 0.03 * np.abs(expected).max()
    assert np.abs(rows - weight[[3, 0]]).max() <= 0.51 * np.abs(weight).max() / 127


def test_a_product_that_is_read_twice_keeps_its_bias_apart():
    """Only one of those that read it adds the bias."""
    generator = np.random.default_rng(2)
    weight = generator.normal(size=(80, 96)).astype(np.float32)
    bias = 100 + np.zeros(96, np.float32)
    make = onnx.helper
    values = [make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [None, 80])]
    proto = make.make_model(
        make.make_graph(
            [
                make.make_node("MatMul", ["x", "w"], ["product"]),
                make.make_node("Add", ["product", "b"], ["y"]),
                make.make_node("Neg", ["product"], ["z"]),
            ],
            "graph",
            values,
            [
                make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [None, 96])
                for name in "yz"
            ],
            [onnx.numpy_helper.from_array(weight, "w"), onnx.numpy_helper.from_array(bias, "b")],
        ),
        opset_imports=[make.make_opsetid("", 18)],
        ir_version=8,
    )
    store_weights(proto, "int8")
    x = generator.normal(size=(3, 80)).astype(np.float32)
    y, z = session_of(proto).run(None, {"x": x})
    expected = x @ weight
    assert np.abs(y - expected - bias).max() < 0.03 * np.abs(expected).max()
    assert np.abs(z + expected).max() < 0.03 * np.abs(expected).max()


def test_equal_weights_that_are_transposed_in_two_orders():
    """Each product reads the order that it asks for."""
    weight = np.random.default_rng(1).normal(size=(2, 3, 4)).astype(np.float32)
    make = onnx.helper
    orders = {"y": [1, 0, 2], "z": [2, 1, 0]}
    graph = make.make_graph(
        [make.make_node("Transpose", ["w"], [f"{name}_t"], perm=orders[name]) for name in orders]
        + [make.make_node("Mul", ["x", f"{name}_t"], [name]) for name in orders],
        "graph",
        [make.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [])],
        [make.make_tensor_value_info(name, onnx.TensorProto.FLOAT, None) for name in orders],
        [onnx.numpy_helper.from_array(weight, "w")],
    )
    hoist_constants(graph)
    assert {node.op_type for node in graph.node} == {"Mul"}
    proto = make.make_model(graph, opset_imports=[make.make_opsetid("", 18)], ir_version=8)
    for values, order in zip(
        session_of(proto).run(None, {"x": np.ones([], np.float32)}), orders.values()
    ):
        np.testing.assert_array_equal(values, weight.transpose(order))


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("weights=bfloat16", "expected float32, float16 or int8"),
        ("precision=mixed_bfloat16", "precision: it has no effect on an ONNX file"),
        ("search.batch_size=8", "search.batch_size: it has no effect on an ONNX file"),
        ("maximum_target_length=9", "maximum_target_length: it has no effect"),
        ("signatures=[translate]", "signatures: it has no effect"),
    ],
)
def test_options_without_effect_are_refused(run, tmp_path, setting, says):
    with pytest.raises(UsageError, match=says):
        export_onnx(run, tmp_path / "served", overrides=[setting])


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
    """Two programs round otherwise, which decides between hypotheses of the same score."""
    answer = dict(
        ids=np.array([[[4, 5]]]),
        lengths=np.array([[2]]),
        scores=np.array([[-1.5]]),
        log_probabilities=np.array([[-1.5]]),
        alignments=np.ones([1, 1, 2, 1]),
        finished=np.array([[True]]),
        token_log_probabilities=np.array([[[-1.0, -0.5]]]),
    )
    logs = np.array([[[-0.5, -1.0]]])
    other = answer | dict(ids=np.array([[[6, 7]]]), token_log_probabilities=logs)
    assert compare("file", [answer, other], [answer, answer]) == (2, 1)
    for wrong in (dict(scores=np.array([[-1.6]])), dict(alignments=np.zeros([1, 1, 2, 1]))):
        with pytest.raises(UserError, match="expected the Python model's answer"):
            compare("file", [answer | wrong], [answer])
    check_ties("file", 5, 10)
    with pytest.raises(UserError, match="other text with the same scores"):
        check_ties("file", 6, 10)  # always another text has another cause


def test_each_sentence_of_a_batch_is_compared_by_itself():
    """A hypothesis that is longer in one of the programs pads the others to another length."""

    def batch(ids):
        width = max(map(len, ids))
        return dict(
            ids=np.array([[[*row, *[0] * (width - len(row))]] for row in ids]),
            lengths=np.array([[len(row)] for row in ids]),
            scores=np.full([2, 1], -1.5),
            log_probabilities=np.full([2, 1], -1.5),
            alignments=np.ones([2, 1, width, 3]),
            finished=np.full([2, 1], True),
            token_log_probabilities=np.full([2, 1, width], -0.5),
        )

    assert compare("file", [batch([[4, 1], [5, 6, 1]])], [batch([[4, 1], [7, 1]])]) == (2, 1)


def assert_searched_alike(searched, config, nbest):
    """ONNX Runtime's n-best lists are TensorFlow's."""
    session = session_of(search_onnx(searched, config, nbest))
    names = [output.name for output in session.get_outputs()]

    def answer(ids):
        return dict(zip(names, session.run(names, {"source_ids": ids})))

    searches.assert_equal_searches(answer, searched, config, nbest, searches.BATCHES)


def test_a_search_with_attention():
    assert_searched_alike(*searches.model_of_many_lengths(), nbest=3)


def test_a_search_without_attention():
    config = SearchConfig(beam_size=3, maximum_length_ratio=2.0)
    assert_searched_alike(searches.model("rnnencdec"), config, nbest=2)


@pytest.mark.slow
@pytest.mark.parametrize("options", searches.SEARCHES.values(), ids=searches.SEARCHES)
def test_options_of_the_search(options):
    config = SearchConfig(maximum_length_ratio=2.0, **options)
    assert_searched_alike(searches.model("rnnsearch"), config, min(2, config.beam_size))


@pytest.mark.slow
def test_an_ensemble():
    config = SearchConfig(beam_size=3, maximum_length_ratio=2.0)
    assert_searched_alike(searches.model(searches.TOGETHER), config, nbest=2)
