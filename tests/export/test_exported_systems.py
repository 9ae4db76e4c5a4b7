"""Every system of the family as a SavedModel: the session's answers are the Python model's."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from tiny_systems import ONE_OF_EACH, READ_THE_SOURCE, randomize, system_config

from rnnsearch_tf.config import Config, TextConfig
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.export.saved_model import SavedModel
from rnnsearch_tf.export.signatures import saved_module, signatures_of
from rnnsearch_tf.export.weights import StoredWeights
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.text.pipeline import build_text
from rnnsearch_tf.translation import Translator
from rnnsearch_tf.translation.functions import TextFunctions

LINES = [
    "My sister reads an old book.",
    "",
    "the blue door",
    "Zoé 🙂 opened the doors of the houses.",
]
CONFIG = Config(source=TextConfig(language="en"), target=TextConfig(language="fr"))
TOGETHER = "rnnsearch and luong-general"
# the others are left to ``make test-all``; the run of conftest.py is an RNNsearch
OFTEN = (TOGETHER, "rnnencdec")
EXPORTED = [*(name for name in ONE_OF_EACH if name in READ_THE_SOURCE), TOGETHER]


@pytest.fixture(scope="module")
def texts():
    source, target = phrasebook(100, "train")
    return build_text(CONFIG.source, source), build_text(CONFIG.target, target)


def model_of(name, texts):
    if name == TOGETHER:
        return Ensemble([model_of(member, texts) for member in TOGETHER.split(" and ")])
    config = dataclasses.replace(CONFIG, model=system_config(name))
    return randomize(build_model(config, *(text.vocabulary.size for text in texts)), seed=7)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in OFTEN else pytest.mark.slow) for name in EXPORTED],
)
def test_answers_of_every_system(name, texts, tmp_path):
    model = model_of(name, texts)
    search = dataclasses.replace(CONFIG.search, beam_size=3, maximum_length_ratio=1.5)
    translator = Translator(model, *texts, dataclasses.replace(CONFIG, search=search))
    weights = StoredWeights(model.trainable_variables)
    limits = translator.maximum_lengths
    functions = TextFunctions(model, *texts, search, 2, limits, weights.tensors)
    signatures = signatures_of(functions, ("translate", "nbest", "score"))
    tf.saved_model.save(saved_module(functions, weights), str(tmp_path), signatures=signatures)
    session = SavedModel(tmp_path)

    expected = translator.translate(LINES, 2)
    answer = session("translate", text=LINES)
    assert [text.decode() for text in answer["translation"]] == [each.text for each in expected]
    np.testing.assert_allclose(
        answer["score"], [each.score for each in expected], rtol=1e-5, atol=1e-5
    )
    answer = session("nbest", text=LINES)
    for row, translation in enumerate(expected):
        texts_of_row = answer["translation"][row][: len(translation.nbest)]
        assert [text.decode() for text in texts_of_row] == [n.text for n in translation.nbest]
    answer = session("score", source=LINES, target=LINES[::-1])
    np.testing.assert_allclose(
        answer["log_probability"], translator.score(LINES, LINES[::-1]), rtol=1e-5
    )
