"""The session that takes in one signature after the other answers as one that has all of them."""

import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2
from tensorflow.python.util import deprecation

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.export.lazy_session import LazySession

TEXTS = np.array([b"My sister sells an old book.", b"The door is white."], object)
REQUESTS = [
    ("translate_nbest", {"text": TEXTS}),
    ("translate", {"text": TEXTS}),
    ("score", {"source": TEXTS, "target": TEXTS[::-1]}),
    ("tokenize", {"text": TEXTS}),
    ("serving_default", {"text": TEXTS}),
]


@pytest.mark.slow
def test_every_signature_answers_as_in_the_stock_session(exported, session):
    lazy = LazySession(exported)
    for signature, inputs in [*REQUESTS, REQUESTS[0]]:
        for name, expected in session(signature, **inputs).items():
            found = lazy(signature, **inputs)[name]
            if expected.dtype == np.float32:
                np.testing.assert_allclose(
                    found, expected, rtol=1e-5, atol=1e-5, err_msg=f"{signature} {name}"
                )
            else:
                assert found.tolist() == expected.tolist(), (signature, name)


def test_a_signature_brings_its_own_functions_only(exported, monkeypatch):
    """Counted where TensorFlow takes in a part of the graph."""
    taken = set()
    take_in = tf.graph_util.import_graph_def

    def watched(graph, **options):
        taken.update(function.signature.name for function in graph.library.function)
        take_in(graph, **options)

    monkeypatch.setattr(tf.graph_util, "import_graph_def", watched)
    lazy = LazySession(exported)
    before = len(taken)
    lazy("tokenize", text=TEXTS)
    saved = saved_model_pb2.SavedModel.FromString((exported / "saved_model.pb").read_bytes())
    assert before < len(taken) < len(saved.meta_graphs[0].graph_def.library.function) / 2


def test_it_says_nothing_of_what_tensorflow_deprecates(exported, monkeypatch):
    """In Python a user would see it, and could do nothing."""
    said = []
    monkeypatch.setattr(deprecation, "_PRINTED_WARNING", {})  # each is said once a process
    monkeypatch.setattr(deprecation.logging, "warning", lambda *message: said.append(message))
    LazySession(exported)("tokenize", text=TEXTS)
    assert not said


def test_a_damaged_graph_is_named(exported, tmp_path):
    (tmp_path / "saved_model.pb").write_bytes((exported / "saved_model.pb").read_bytes()[:-100])
    with pytest.raises(UserError, match=r"saved_model\.pb"):
        LazySession(tmp_path)
