"""Every system of the family as a SavedModel: a session answers as the functions do here."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from tiny_systems import ONE_OF_EACH, READ_THE_SOURCE, randomize, system_config

from rnnsearch_tf.config import Config, SearchConfig, TextConfig
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.export.saved_model import SavedModel
from rnnsearch_tf.export.signatures import saved_module, signatures_of
from rnnsearch_tf.export.weights import StoredWeights
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.text.pipeline import build_text
from rnnsearch_tf.translation.functions import TextFunctions

LINES = ["My sister reads an old book.", "", "Zoé 🙂 opened the doors of the houses."]
TOGETHER = "rnnsearch and luong-general"
# the others are left to ``make test-all``; the run of conftest.py is an RNNsearch
OFTEN = (TOGETHER, "rnnencdec")
EXPORTED = [*(name for name in ONE_OF_EACH if name in READ_THE_SOURCE), TOGETHER]


@pytest.fixture(scope="module")
def texts():
    lines = phrasebook(100, "train")
    return [build_text(TextConfig(language=code), side) for code, side in zip(("en", "fr"), lines)]


def model_of(name, sizes):
    if name == TOGETHER:
        return Ensemble([model_of(member, sizes) for member in TOGETHER.split(" and ")])
    config = dataclasses.replace(Config(), model=system_config(name))
    return randomize(build_model(config, *sizes), seed=7)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in OFTEN else pytest.mark.slow) for name in EXPORTED],
)
def test_answers_of_every_system(name, texts, tmp_path):
    model = model_of(name, [text.vocabulary.size for text in texts])
    weights = StoredWeights(model.weights)
    search = SearchConfig(beam_size=3, maximum_length_ratio=1.5)
    functions = TextFunctions(model, *texts, search, 2, 200, weights.tensors)
    graph = functions.traced("translate").get_concrete_function().graph.as_graph_def()
    steps = [node.op for body in graph.library.function for node in body.node_def]
    assert "MatMul" in steps and "ReadVariableOp" not in steps  # weights are read before the loops
    signatures = signatures_of(functions, ("translate", "score"))
    tf.saved_model.save(saved_module(functions, weights), str(tmp_path), signatures=signatures)
    session = SavedModel(tmp_path)
    requests = {"translate": {"text": LINES}, "score": {"source": LINES, "target": LINES[::-1]}}
    for signature, inputs in requests.items():
        answer = session(signature, **inputs)
        for key, expected in functions(signature, **inputs).items():
            if expected.dtype == np.float32:
                np.testing.assert_allclose(answer[key], expected, 1e-5, 1e-5, err_msg=key)
            else:
                np.testing.assert_array_equal(answer[key], expected, key)
