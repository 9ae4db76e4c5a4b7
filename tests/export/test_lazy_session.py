"""The session that takes in one signature after the other answers as one that has all of them."""

import numpy as np
import pytest

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


def test_every_signature_answers_as_in_the_stock_session(exported, session):
    lazy = LazySession(exported)
    for signature, inputs in [*REQUESTS, REQUESTS[0]]:
        for name, expected in session(signature, **inputs).items():
            found = lazy(signature, **inputs)[name]
            if expected.dtype == np.float32:
                np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5, err_msg=f"{signature} {name}")
            else:
                assert found.tolist() == expected.tolist(), (signature, name)


def test_a_signature_brings_its_own_functions_only(exported):
    lazy = LazySession(exported)
    functions = lambda: len(lazy._session.graph.as_graph_def().library.function)  # noqa: E731
    before = functions()
    lazy("tokenize", text=TEXTS)
    assert before < functions() < len(lazy._saved.graph_def.library.function) / 2


def test_a_damaged_graph_is_named(exported, tmp_path):
    (tmp_path / "saved_model.pb").write_bytes((exported / "saved_model.pb").read_bytes()[:-100])
    with pytest.raises(UserError, match=r"saved_model\.pb"):
        LazySession(tmp_path)
