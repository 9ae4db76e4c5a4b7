"""The exported page in a real Chromium: its tokens are those of the package, and its translations
those of the Translator, with their confidence, without a network.

Skipped where there is no Chromium, or no playwright to drive it. The tests that translate also need
the npm package onnxruntime-web, a .tgz or its folder, named by RNNSEARCH_ONNXRUNTIME_WEB.
"""

import functools
import http.server
import json
import math
import os
import re
import threading

import pytest
from tiny_run import write_run
from unusual_text import CONFIGS, LINES, RUNS_OF_SIGNS, SHIPPED, is_moses, text_of

import rnnsearch_tf as rt
from rnnsearch_tf.data.phrasebook import phrasebook
from rnnsearch_tf.evaluation.confidence import Calibration
from rnnsearch_tf.export.graph_export import text_settings
from rnnsearch_tf.export.writer import calibration_of, opened_runs
from rnnsearch_tf.extras.web import writer
from rnnsearch_tf.runs.folder import Run

LIBRARY = os.environ.get("RNNSEARCH_ONNXRUNTIME_WEB")
WAIT = 60_000  # milliseconds, for a busy machine

needs_library = pytest.mark.skipif(
    LIBRARY is None, reason="expected RNNSEARCH_ONNXRUNTIME_WEB, from `npm pack onnxruntime-web`"
)


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


@pytest.fixture
def open_folder(browser):
    """open_folder(folder) → its index.html on a local web host, ready; afterwards: no error was
    logged, and no other host was asked.
    """
    servers, errors, hosts = [], [], set()

    def open_folder(folder):
        handler = functools.partial(Quiet, directory=folder)
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
        servers.append(server)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        page = browser.new_context().new_page()
        page.set_default_timeout(WAIT)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda request: hosts.add(request.url.split("/")[2]))
        page.goto(f"http://127.0.0.1:{server.server_port}/")
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_folder
    for server in servers:
        server.shutdown()
        server.server_close()
    assert not errors
    assert hosts == {f"127.0.0.1:{server.server_port}" for server in servers}


@pytest.mark.parametrize("name", [SHIPPED, *(name for name in CONFIGS if not is_moses(name))])
def test_tokens_ids_and_texts(open_folder, tmp_path, name):
    text = text_of(name)
    side = writer.page_settings(text_settings(text), "source")
    settings = {"name": "m", "about": {}, "bytes": 1, "source": side, "target": side}
    writer.write_page(tmp_path, settings, {})
    lines = [line.decode("utf-8", "replace") for line in [*LINES, *RUNS_OF_SIGNS]]
    tokens = text.tokenize(lines)
    ids = text.ids(tokens)
    script = """async (lines) => {
      const { Text } = await import("./text.js");
      const text = new Text((await (await fetch("model.json")).json()).source);
      return lines.map((line) => {
        const tokens = text.tokenize(line);
        const ids = text.encode(tokens);
        return [tokens, ids, text.detokenize(text.decode([...ids, 0, 0]))];
      });
    }"""
    (tmp_path / "worker.js").write_text("// no model")
    found = open_folder(tmp_path).evaluate(script, lines)
    expected = zip(tokens.to_list(), ids.to_list(), text.decode(ids).numpy())
    for line, got, (words, numbers, joined) in zip(lines, found, expected):
        assert got == [[word.decode() for word in words], numbers, joined.decode()], line


def test_a_vocabulary_of_many_pieces(open_folder, tmp_path):
    """More than a browser takes as the arguments of one call."""
    tokens = ["<pad>", "</s>", "<unk>", *(f"\u2581w{k}" for k in range(300_000))]
    side = {"tokenization": "sentencepiece", "lowercase": False, "unicode_form": "NFC"}
    side |= {"remove_invisible": True, "tokens": tokens, "scores": [-1.0] * len(tokens)}
    settings = {"name": "m", "about": {}, "bytes": 1, "source": side, "target": side}
    writer.write_page(tmp_path, settings, {})
    (tmp_path / "worker.js").write_text("// no model")
    script = """async () => {
      const { Text } = await import("./text.js");
      return new Text((await (await fetch("model.json")).json()).source).tokenize("w7 w299999");
    }"""
    assert open_folder(tmp_path).evaluate(script) == ["\u2581w7", "\u2581w299999"]


def translated(page, sentence):
    """The panel, once it has the answer to the sentence."""
    page.locator("#sentence").fill(sentence)
    page.locator("#sentence").press("Enter")
    panel = page.locator(".panel:not([aria-busy])")
    panel.locator(".result, .problem").locator("visible=true").first.wait_for()
    return panel


ANSWERS = """async (sentences) => {
  const { Server } = await import("./server.js");
  const server = new Server();
  const { signal } = new AbortController();
  const answers = [];
  for (const sentence of sentences) answers.push(await server.translate("", sentence, signal));
  return answers;
}"""


def assert_same_answers(page, translator, sentences, calibration):
    answers = page.evaluate(ANSWERS, sentences)
    for answer, expected in zip(answers, translator.translate(sentences, nbest=3)):
        best = answer["best"]
        assert best["translation"] == [expected.text]
        assert best["source_tokens"] == [" ".join(expected.source_tokens)]
        assert best["target_tokens"] == [" ".join(expected.tokens)]
        rows = expected.alignment[: len(expected.tokens)]
        assert json.loads(best["alignment"][0]) == [pytest.approx(row, abs=1e-4) for row in rows]
        if expected.text:
            assert answer["list"]["translation"] == [[each.text for each in expected.nbest]]
            scores = [each.score for each in expected.nbest]
            assert answer["list"]["score"][0] == pytest.approx(scores, abs=1e-4)
        length = len(expected.tokens) + 1
        features = 1.0, expected.log_probability / length, math.log(length)
        x = sum(weight * feature for weight, feature in zip(calibration, features))
        confidence = 1 / (1 + math.exp(-x)) if expected.source_tokens else 0.0
        assert answer["sure"] == {"confidence": [pytest.approx(confidence, abs=1e-4)]}


@needs_library
def test_a_tiny_model_with_unknown_words(open_folder, tmp_path):
    space = ["source.tokenization=space", "target.tokenization=space"]
    run = write_run(tmp_path / "run", [*space, "search.replace_unknown=true"])
    weights = [0.5, 2.0, -0.25]
    Calibration([1.0] * 4, [1.0] * 3, 60, "nothing", weights).save(Run(run))
    settings = ["search.nbest=3", "maximum_source_length=6"]
    folder = writer.export_web(run, tmp_path / "p", overrides=settings, library=LIBRARY).folder
    translator = rt.Translator.load(run)
    sentences = [*phrasebook(20, 3, "test")[0], "", "two unseen words"]
    short = [sentence for sentence in sentences if len(sentence.split()) <= 6]
    page = open_folder(folder)
    assert_same_answers(page, translator, short, weights)
    panel = translated(page, "the " * 9)
    assert panel.locator(".cut").inner_text().startswith("The sentence is longer than the model")
    sureness = panel.locator(".sureness").inner_text()
    assert re.match(r"\d+\u202f% sure of the sentence\. The sentence seems unlike", sureness)
    assert page.locator("#asking fieldset").is_hidden()


@needs_library
def test_the_page_shows_translation_alignment_and_list(open_folder, tmp_path):
    settings = ["search.nbest=3", "weights=int8"]
    folder = writer.export_web(
        "tatoeba-en-fr", tmp_path, overrides=settings, library=LIBRARY
    ).folder
    page = open_folder(folder)
    assert page.locator("#examples").inner_text().startswith("From English to French. Try:")
    page.locator("#examples button").first.click()
    page.locator(".translation", has_text="Ma sœur vend un vieux livre.").wait_for()
    assert page.locator(".nbest tbody tr").count() == 3
    assert page.locator(".strands path").count() > 5
    assert page.locator("#progress").is_hidden()
    page.locator("#sentence").fill("")
    page.locator(".panel").wait_for(state="hidden")


@needs_library
@pytest.mark.slow
def test_the_shipped_model_in_float32(open_folder, tmp_path):
    folder = writer.export_web(
        "tatoeba-en-fr", tmp_path, overrides=["search.nbest=3"], library=LIBRARY
    ).folder
    translator = rt.Translator.load("tatoeba-en-fr", precision="float32")
    sentences = [*phrasebook(100, 3, "test")[0], "日本語", "aaaa 11111", ""]
    calibration = calibration_of(opened_runs("tatoeba-en-fr")).total
    assert_same_answers(open_folder(folder), translator, sentences, calibration)


@needs_library
def test_missing_and_damaged_files_are_said(open_folder, tmp_path):
    run = write_run(tmp_path / "run", ["source.tokenization=space", "target.tokenization=space"])
    folder = writer.export_web(run, tmp_path / "p", library=LIBRARY).folder
    model = folder / "model.onnx"
    whole = model.read_bytes()
    for content, settings in ((whole[:2000], None), (None, None), (whole, b"{")):
        model.unlink(missing_ok=True)
        if content is not None:
            model.write_bytes(content)
        if settings is not None:
            (folder / "model.json").write_bytes(settings)
        problem = translated(open_folder(folder), "a book").locator(".problem span").inner_text()
        assert "opy" in problem and "folder again" in problem
