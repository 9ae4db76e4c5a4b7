"""Every system of the family as a SavedModel: the session's answers are the Python model's."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from tiny_systems import ONE_OF_EACH, READ_THE_SOURCE, randomize, system_config

from rnnsearch_tf.config import Config, TextConfig
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.export.profile import load_profile
from rnnsearch_tf.export.session import SessionModel
from rnnsearch_tf.export.signatures import Served
from rnnsearch_tf.models import build_model
from rnnsearch_tf.models.ensemble import Ensemble
from rnnsearch_tf.text.pipeline import build_text
from rnnsearch_tf.translation import Translator

LINES = [
    "My sister reads an old book.",
    "",
    "the blue door",
    "Zoé 🙂 opened the doors of the houses.",
]
CONFIG = Config(source=TextConfig(language="en"), target=TextConfig(language="fr"))
TOGETHER = "rnnsearch and luong-general"
# the others are left to ``make test-all``; the RUN of conftest.py is an RNNsearch
OFTEN = (TOGETHER, "rnnencdec")
EXPORTED = [*(name for name in ONE_OF_EACH if name in READ_THE_SOURCE), TOGETHER]


@pytest.fixture(scope="module")
def texts():
    source, target = phrasebook(100, "train")
    return build_text(CONFIG.source, source), build_text(CONFIG.target, target)


def model(name, texts):
    if name == TOGETHER:
        return Ensemble([model(member, texts) for member in TOGETHER.split(" and ")])
    config = dataclasses.replace(CONFIG, model=system_config(name))
    return randomize(build_model(config, *(text.vocabulary.size for text in texts)), seed=7)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[] if name in OFTEN else pytest.mark.slow) for name in EXPORTED],
)
def test_answers_of_every_system(name, texts, tmp_path):
    translator = Translator(model(name, texts), *texts, CONFIG)
    names = ("translate", "score")
    profile = load_profile(
        CONFIG.search,
        overrides=["search.beam_size=3", "nbest=1", "search.maximum_length_ratio=1.5"],
    )
    served = Served(translator, profile)
    tf.saved_model.save(served.module(), str(tmp_path), signatures=served.signatures(names))
    session = SessionModel(tmp_path)

    answer = session("translate", text=LINES)
    expected = translator.translate(LINES, **dataclasses.asdict(profile.search))
    assert [text.decode() for text in answer["translation"]] == [
        translation.text for translation in expected
    ]
    np.testing.assert_allclose(
        answer["score"], [translation.score for translation in expected], rtol=1e-5, atol=1e-5
    )
    answer = session("score", source=LINES, target=LINES[::-1])
    np.testing.assert_allclose(
        answer["log_probability"], translator.score(LINES, LINES[::-1]), rtol=1e-5
    )
