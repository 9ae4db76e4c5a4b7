"""A search as one graph, for ONNX Runtime and for LiteRT: its n-best lists are TensorFlow's."""

import numpy as np
import pytest
import searches
from tiny_systems import ONE_OF_EACH, READ_THE_SOURCE

from rnnsearch_tf.config import SearchConfig

SENTENCES = [row[np.newaxis] for batch in searches.BATCHES for row in batch]
SENTENCES += [row[:, : np.argmax(row[0] == 1) + 1] for row in SENTENCES[:3]]


def onnx_answer(*search):
    import onnxruntime

    from rnnsearch_tf.extras.onnx.graph import search_onnx

    session = onnxruntime.InferenceSession(
        search_onnx(*search).SerializeToString(), providers=["CPUExecutionProvider"]
    )
    names = [output.name for output in session.get_outputs()]
    return lambda ids: dict(zip(names, session.run(names, {"source_ids": ids})))


def litert_answer(*search):
    from rnnsearch_tf.extras.litert.graph import search_litert

    interpreter = pytest.importorskip("ai_edge_litert.interpreter")
    runner = interpreter.Interpreter(model_content=search_litert(*search)).get_signature_runner()
    return lambda ids: runner(source_ids=ids)


FORMATS = {"onnx": (onnx_answer, searches.BATCHES), "litert": (litert_answer, SENTENCES)}
"""{name: (function of a search that gives a function of source ids, batches to compare)}."""

every_format = pytest.mark.parametrize("form", FORMATS)


def assert_equal_searches(form, model, config, shortlist=None):
    answer, batches = FORMATS[form]
    searches.assert_equal_searches(
        answer(model, config, shortlist), model, config, batches, shortlist
    )


@pytest.mark.parametrize("form", ["onnx", pytest.param("litert", marks=pytest.mark.slow)])
def test_a_model_with_attention(form):
    assert_equal_searches(form, *searches.model_of_many_lengths())


@pytest.mark.slow
@every_format
@pytest.mark.parametrize(
    "name", [*(name for name in ONE_OF_EACH[1:] if name in READ_THE_SOURCE), searches.TOGETHER]
)
def test_every_other_system(form, name):
    config = SearchConfig(beam_size=3, nbest=2, maximum_length_ratio=2.0)
    assert_equal_searches(form, searches.model(name), config)


@pytest.mark.slow
@every_format
@pytest.mark.parametrize("options", searches.SEARCHES.values(), ids=searches.SEARCHES)
def test_options_of_the_search(form, options):
    config = SearchConfig(maximum_length_ratio=2.0, **options)
    assert_equal_searches(form, searches.model("rnnsearch"), config)


@pytest.mark.slow
@every_format
def test_shortlist(form):
    config = SearchConfig(beam_size=3, nbest=2, maximum_length_ratio=2.0)
    assert_equal_searches(form, searches.model("rnnsearch"), config, searches.some_candidates())
