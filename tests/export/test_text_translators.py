"""A Translator, its graph in memory, the exported model and a client of its server are used alike."""

import dataclasses

import pytest
from rnnsearch_tf.export.profile import read_profile
from rnnsearch_tf.export.signatures import Served
from rnnsearch_tf.export.translator import ExportedTranslator
from rnnsearch_tf.serving.client import Client
from rnnsearch_tf.serving.flags import FREE, Flags
from rnnsearch_tf.serving.server import Server
from rnnsearch_tf.translation import TextTranslator, Translator

TEXTS = ["The door is white.", "", "She goes to the hotel.", "Zyzzyva!"]


def test_four_translators_answer_the_same_question_alike(translator, exported):
    profile = read_profile(exported)
    config = dataclasses.replace(translator.config, search=profile.search)
    translator = Translator(translator.model, translator.source_text, translator.target_text, config)
    expected = translator.translate(TEXTS)
    assert all(each.text for each, text in zip(expected, TEXTS) if text)
    flags = Flags(model_name="m", model_base_path=str(exported.parent.resolve()), port=FREE, enable_model_warmup=False)
    with Server(flags) as server, Client(f"127.0.0.1:{server.grpc_port}", "m") as client:
        for each in (translator, Served(translator, profile), ExportedTranslator(exported), client):
            assert isinstance(each, TextTranslator)
            answers = each.translate(TEXTS)
            assert [answer.text for answer in answers] == [answer.text for answer in expected], type(each)
            assert [answer.score for answer in answers] == pytest.approx([answer.score for answer in expected], abs=1e-5), type(each)
