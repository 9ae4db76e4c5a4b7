"""A Translator, an exported model and a client of its server are used alike."""

import json
import pathlib
import re
import shlex
import subprocess

import numpy as np
import pytest

from rnnsearch_tf.config import UNKNOWN_ID
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.export.opening import open_translator
from rnnsearch_tf.extras.server.client import Client
from rnnsearch_tf.extras.server.server import Server
from rnnsearch_tf.search.graphs import search_graph

GUIDE = pathlib.Path(__file__).parents[2] / "docs" / "guides" / "serving.md"
TEXTS = ["The door is white.", "", "She goes to the hotel.", "Zyzzyva!"]


@pytest.fixture(scope="module")
def opened(exported):
    return open_translator(exported)


def test_a_translation_is_a_search_between_two_texts(translator):
    """By hand: ids, search, an unknown word becomes the source word of the largest weight."""
    source_text, target_text = translator.source_text, translator.target_text
    lines = [text for text in TEXTS if text]
    sources = source_text.tokenize(lines).to_list()
    search = search_graph(translator.model, translator.config.search, nbest=2)
    result = search(source_text.encode(lines).to_tensor())
    replaced = 0
    for row, translation in enumerate(translator.translate(lines, nbest=2)):
        for n, hypothesis in enumerate(translation.nbest):
            length = int(result.lengths[row, n])
            ids = result.ids[row, n, :length].numpy().tolist()
            ids = ids[:-1] if result.finished[row, n] else ids
            tokens = target_text.vocabulary.words(ids).numpy().tolist()
            weights = result.alignments[row, n, :length, : len(sources[row])].numpy()
            for i, word in enumerate(ids):
                if word == UNKNOWN_ID:
                    tokens[i] = sources[row][weights[i].argmax()]
                    replaced += 1
            assert hypothesis.tokens == [token.decode() for token in tokens]
            logs = result.token_log_probabilities[row, n, :length]
            np.testing.assert_allclose(hypothesis.token_log_probabilities, logs, rtol=1e-5)
            assert hypothesis.probability == pytest.approx(np.exp(np.mean(logs)), rel=1e-5)
            assert hypothesis.log_probability == pytest.approx(np.sum(logs), rel=1e-5)
    assert replaced


def test_an_export_has_the_results_of_its_model(translator, opened):
    """All of them: of the same numbers, whoever translates."""
    for ours, theirs in zip(translator.translate(TEXTS, 2), opened.translate(TEXTS, 2)):
        assert theirs.source_tokens == ours.source_tokens
        for one, other in zip(theirs.nbest, ours.nbest, strict=True):
            for name, value in vars(other).items():
                if isinstance(value, (str, list, bool)):
                    assert getattr(one, name) == value
                else:
                    np.testing.assert_allclose(getattr(one, name), value, rtol=1e-5, atol=1e-5)
    assert (
        opened.translate(TEXTS[0]).attention()[1:] == translator.translate(TEXTS[0]).attention()[1:]
    )
    assert opened.score(TEXTS, TEXTS[::-1]) == pytest.approx(translator.score(TEXTS, TEXTS[::-1]))
    assert opened.sample(TEXTS, 2)[0] == translator.sample(TEXTS, 2)[0]
    assert opened.has_pieces == translator.has_pieces
    assert opened.config.target == translator.config.target


def test_what_an_export_lacks_is_said(opened, tmp_path, monkeypatch):
    with pytest.raises(UsageError, match="got an export, which has no model"):
        opened.save(tmp_path / "run")
    with pytest.raises(UsageError, match="search.beam_size: expected 3, which"):
        opened.translate(TEXTS, beam_size=5)
    with pytest.raises(UsageError, match="nbest: expected at most 2, which"):
        opened.translate(TEXTS, nbest=3)
    monkeypatch.delitem(opened._model.signatures, "sample")
    with pytest.raises(UsageError, match="expected a model exported with signature sample"):
        opened.sample(TEXTS, 1)


def test_a_client_and_curl_get_the_same_texts(translator, exported):
    """curl as docs/guides/serving.md says it, but for the port."""
    expected = translator.translate(TEXTS)
    text = GUIDE.read_text(encoding="utf-8").replace("\\\n", " ")
    commands = [
        shlex.split(line, comments=True)
        for line in re.findall("^    (curl .*)", text, re.MULTILINE)
    ]
    with (
        Server("mine", exported.parent, port=0, rest_api_port=0) as server,
        Client(f"127.0.0.1:{server.port}", "mine") as client,
    ):
        answers = client.translate(TEXTS)
        for words in commands:
            words = [word.replace(":8501", f":{server.rest_api_port}") for word in words]
            answer = json.loads(subprocess.run(words, capture_output=True, check=True).stdout)
            assert answer.keys() & {"predictions", "model_version_status"}
            for row in answer.get("predictions", ()):
                assert (
                    row["translation"][0]
                    == translator.translate("My sister sells an old book.").text
                )
    assert answers == [each.text for each in expected]


def test_one_door_opens_every_form_of_a_model(run_folder, exported):
    assert open_translator(exported.parent).folder == exported  # the newest version
    assert type(open_translator([run_folder, run_folder]).model).__name__ == "Ensemble"
    with pytest.raises(UsageError, match="expected run folders for an ensemble, got the exported"):
        open_translator([run_folder, exported])
    with pytest.raises(UsageError, match="search.beam_size=1: expected a run folder with it"):
        open_translator(exported, ["search.beam_size=1"])
    with pytest.raises(UserError, match="no-such-model: expected a folder with a model"):
        open_translator("no-such-model")
