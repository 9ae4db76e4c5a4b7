"""A Translator, the exported model and a client of its server are used alike."""

import dataclasses

import numpy as np
import pytest
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.export.opening import open_translator
from rnnsearch_tf.export.profile import read_profile
from rnnsearch_tf.export.translator import ExportedTranslator
from rnnsearch_tf.extras.server.client import Client
from rnnsearch_tf.extras.server.server import Server
from rnnsearch_tf.translation import TextTranslator, Translator

TEXTS = ["The door is white.", "", "She goes to the hotel.", "Zyzzyva!"]


def test_an_exported_model_refuses_what_a_translator_refuses(translator, exported):
    for each in (translator, ExportedTranslator(exported)):
        with pytest.raises(
            UsageError, match="search: expected options .*, got 'beam'; did you mean beam_size"
        ):
            each.translate(TEXTS, beam=5)
        with pytest.raises(UsageError, match="texts: expected a list of sentences, got None"):
            each.translate(None)
        with pytest.raises(UsageError, match="nbest: expected a whole number from 1 .*, got 'two'"):
            each.translate(TEXTS, nbest="two")
        with pytest.raises(UsageError, match="nbest: expected a whole number from 1 .*, got 99"):
            each.translate(TEXTS, nbest=99)
        assert (
            each.translate([text.encode() for text in TEXTS])[0].text
            == each.translate(TEXTS)[0].text
        )


def test_one_sentence_has_one_translation_with_its_attention(translator, exported):
    """Of the same numbers, whoever translates."""
    one = ExportedTranslator(exported)
    ours = translator.translate(TEXTS[0], replace_unknown=True)  # as the export does
    exported_one = one.translate(TEXTS[0])
    assert exported_one.text == ours.text
    weights, target, source = exported_one.attention()
    np.testing.assert_allclose(weights, ours.attention()[0], atol=1e-4)
    assert (target, source) == ours.attention()[1:]
    assert exported_one.plot().axes[0].images[0].get_array().shape == weights.shape
    with pytest.raises(UserError, match="returns them with the signature translate_aligned"):
        one.translate(TEXTS[0], nbest=2).plot()
    with pytest.raises(UserError, match="attention: expected .* a sentence without words"):
        one.translate("").attention()


def test_three_translators_answer_the_same_question_alike(translator, exported):
    profile = read_profile(exported)
    config = dataclasses.replace(translator.config, search=profile.search)
    translator = Translator(
        translator.model, translator.source_text, translator.target_text, config
    )
    expected = translator.translate(TEXTS)
    assert all(each.text for each, text in zip(expected, TEXTS) if text)
    with (
        Server("m", exported.parent, port=0, rest_api_port=0) as server,
        Client(f"127.0.0.1:{server.port}", "m") as client,
    ):
        for each in (translator, ExportedTranslator(exported), client):
            assert isinstance(each, TextTranslator)
            answers = each.translate(TEXTS)
            assert [answer.text for answer in answers] == [answer.text for answer in expected], (
                type(each)
            )
            assert [answer.score for answer in answers] == pytest.approx(
                [answer.score for answer in expected], abs=1e-5
            ), type(each)


@pytest.mark.parametrize("options", [{}, {"nbest": 3}])
def test_no_translation_is_an_error_not_an_empty_line(exported, monkeypatch, options):
    one = ExportedTranslator(exported)
    request = one._request

    def nothing_found(signature, **inputs):
        answer = request(signature, **inputs)
        return answer | {"score": np.full_like(answer["score"], -1e9)}

    monkeypatch.setattr(one, "_request", nothing_found)
    with pytest.raises(
        UserError, match="expected a translation of sentence 1 of a batch, got none"
    ):
        one.translate(["a"], **options)


@pytest.mark.slow
def test_one_door_opens_every_form_of_a_model(run_folder, exported):
    def texts(models):
        return [each.text for each in open_translator(models).translate(TEXTS)]

    expected = texts(run_folder)
    assert texts([run_folder]) == texts([run_folder, run_folder]) == expected
    assert isinstance(open_translator(exported), ExportedTranslator)
    assert open_translator(exported.parent).folder == exported  # the newest version
    assert texts(exported) == texts([exported.parent])
    with pytest.raises(UsageError, match="expected RUNs for an ensemble, got the exported model"):
        open_translator([run_folder, exported])
    with pytest.raises(UserError, match="no-such-model: expected a RUN folder"):
        open_translator("no-such-model")


def test_white_space_within_a_token_does_not_cut_it(exported, monkeypatch):
    """Imported vocabularies have such tokens."""
    token = "10\u00a0000"
    joined = np.array([f"{token} euros".encode()], object)
    numbers = dict.fromkeys(("score", "log_probability"), np.float32([[-1.0]]))
    nbest = numbers | {"translation": joined[:, None], "tokens": joined[:, None], "length": [[3]]}
    answers = {
        "translate_aligned": {
            "translation": joined,
            "score": np.float32([-1.0]),
            "target_tokens": joined,
            "source_tokens": joined,
            "alignment": [b"[[1,0,0],[0,1,0],[0,0,1]]"],
            "token_log_probabilities": [b"[-0.5,-0.25,-0.25]"],
        },
        "translate_nbest": nbest,
    }
    one = ExportedTranslator(exported)
    monkeypatch.setattr(
        one, "_model", lambda signature, **_: answers[signature] | {"source_truncated": [False]}
    )
    translation = one.translate("?")
    assert translation.tokens == translation.source_tokens == [token, "euros"]
    np.testing.assert_array_equal(translation.alignment, np.eye(3))
    assert one.translate("?", nbest=2).tokens == [token, "euros"]
