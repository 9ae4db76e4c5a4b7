"""The page in a real Chromium: what it shows of a model's answers, by pointer and by keyboard, and
what it says when something is wrong.

Skipped where there is no Chromium, or no playwright to drive it. A scripted model turns the order
of a sentence's words round and writes them in capitals; word i looks at the word that it came from
with weight 0.8, at the end of the sentence with 0.2. A word DOUBTFUL has the probability 0.25, any
other 0.5.
"""

import os
import re
import shutil
import urllib.parse

import grpc
import numpy as np
import pytest
import tensorflow as tf
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef, TensorInfo

from rnnsearch_tf.extras.server import server
from rnnsearch_tf.extras.server.servable import Servable, ServingError

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
)
WAIT = 30_000  # milliseconds, for a busy machine
SENTENCE = "she was never doubtful here"


def translation(text):
    return " ".join(text.upper().split()[::-1])


SIGNATURE = SignatureDef(inputs={"text": TensorInfo(dtype=tf.string.as_datatype_enum)})


class ScriptedModel(Servable):
    about = {"source": "de", "target": "fr", "examples": ["<b>guten tag</b>"]}
    signatures = {"nbest": SIGNATURE}
    refusal = None

    def __init__(self):
        self.name, self.version = "mt", 1

    def close(self):
        pass

    def run(self, name, inputs, outputs, seconds):
        if self.refusal:
            raise self.refusal
        text = inputs["text"][0].decode()
        words, best = text.split(), translation(text)
        matrix = np.eye(len(words) + 1)
        matrix[:-1, :-1] = 0.8 * np.eye(len(words))[::-1]
        matrix[:-1, -1] = 0.2
        logs = np.log([0.25 if w == "DOUBTFUL" else 0.5 for w in [*best.split(), "</s>"]])
        texts = [best.encode(), f"{best} INDEED".encode(), b""]
        row = {
            "translation": texts,
            "tokens": texts,
            "score": np.float32([-0.25, -0.5, -9.0]),
            "probability": np.float32([np.exp(logs.mean()), 0.5, 0.0]),
            "log_probability": np.log(np.float32([0.63, 0.025, 1e-30])),
            "token_log_probabilities": np.float32([logs] * 3),
            "alignment": np.float32([matrix] * 3),
            "length": np.int32([len(words) + 1, len(words) + 2, 0]),
            "source_tokens": text.encode(),
            "source_truncated": np.bool_("long" in text),
        }
        strings = ("translation", "tokens", "source_tokens")
        return {
            key: np.array([value], object if key in strings else None) for key, value in row.items()
        }


@pytest.fixture(scope="module")
def model():
    return ScriptedModel()


@pytest.fixture(scope="module")
def address(model):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(server, "Servable", lambda *_: model)
        with server.Server("mt", "", port=0, rest_api_port=0) as running:
            yield f"http://127.0.0.1:{running.rest_api_port}/"


@pytest.fixture(scope="module")
def browser():
    if CHROMIUM is None:
        pytest.skip("expected a Chromium, found none")
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="expected the extra `browser`, which drives Chromium"
    )
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def open_page(browser, address):
    """open_page(text, **context) → a page that is ready; afterwards: no error was logged, and
    nothing left the host.
    """
    errors, hosts = [], set()

    def open_page(text="", **options):
        context = browser.new_context(**{"viewport": {"width": 1200, "height": 900}} | options)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("request", lambda each: hosts.add(urllib.parse.urlsplit(each.url).hostname))
        page.goto(f"{address}?text={urllib.parse.quote(text)}")
        page.wait_for_selector("html[data-ready]")
        return page

    yield open_page
    for context in browser.contexts:
        context.close()
    assert not errors and hosts == {"127.0.0.1"}


def wait_for(page, text):
    page.locator(
        "#translation", has_text=re.compile(f"^{re.escape(translation(text))}$")
    ).wait_for()


def texts(locator):
    return [text.strip() for text in locator.all_text_contents()]


def said(locator):
    """The text, without marks of direction."""
    return re.sub("[\u2068\u2069]", "", locator.inner_text())


def property_of(locator, name):
    return float(locator.evaluate(f"each => each.style.getPropertyValue('--{name}')"))


def test_a_sentence_is_translated_while_it_is_typed(open_page):
    page = open_page()
    assert not page.locator("#result").is_visible()
    page.locator("#sentence").press_sequentially(SENTENCE, delay=5)
    wait_for(page, SENTENCE)
    target = translation(SENTENCE).split()
    words = page.locator("#translation .word")
    assert texts(words) == target
    probabilities = [property_of(word, "probability") for word in words.all()]
    assert probabilities == [0.25 if word == "DOUBTFUL" else 0.5 for word in target]
    mean = 100 * (0.5**5 * 0.25) ** (1 / 6)
    assert f"Mean probability of a token: {mean:.0f}\u202f%." in said(page.locator("#probability"))
    assert texts(page.locator("#heatmap thead th")) == SENTENCE.split()
    assert texts(page.locator("#heatmap tbody th")) == target
    weights = [property_of(cell, "weight") for cell in page.locator("#heatmap tbody td").all()]
    np.testing.assert_allclose(np.reshape(weights, (5, 5)), 0.8 * np.eye(5)[:, ::-1], atol=1e-3)
    rows = [texts(row.locator("td")) for row in page.locator("#nbest tbody tr").all()]
    best = translation(SENTENCE)
    assert rows == [[best, "63\u202f%", "-0.25"], [f"{best} INDEED", "2.5\u202f%", "-0.50"]]
    assert page.locator("#status").text_content() == best
    query = urllib.parse.urlsplit(page.url).query
    assert dict(urllib.parse.parse_qsl(query)) == {"text": SENTENCE}


def test_the_pointer_and_tab_follow_a_word(open_page):
    page = open_page(SENTENCE)
    wait_for(page, SENTENCE)
    readout = page.locator("#readout")
    page.locator("#translation .word", has_text="NEVER").hover()
    looks = "“NEVER” looks at “never” 80\u202f%, “the end” 20\u202f%. Probability 50\u202f%."
    assert said(readout) == looks
    assert texts(page.locator("#heatmap tbody tr:not(.dimmed) th")) == ["NEVER"]
    page.mouse.move(2, 2)
    assert said(readout).startswith("Point at a word") and not page.locator(".dimmed").count()
    page.locator("#translation .word").first.focus()
    heard = []
    for _ in range(4):
        page.keyboard.press("Tab")
        heard.append(said(readout).split()[0])
    assert heard == [f"“{word}”" for word in translation(SENTENCE).split()[1:]]


def test_an_example_and_what_goes_wrong(open_page, model, monkeypatch):
    page = open_page()
    assert said(page.locator("#examples")).startswith("From German to French. Try: ")
    page.locator("#examples button").click()
    wait_for(page, "<b>guten tag</b>")
    page.fill("#sentence", "a long story")
    wait_for(page, "a long story")
    assert page.locator("#cut").is_visible()
    error = ServingError(grpc.StatusCode.DEADLINE_EXCEEDED, "too late")
    monkeypatch.setattr(model, "refusal", error)
    page.fill("#sentence", SENTENCE)
    page.locator("#problem", has_text="took longer than the server allows").wait_for()
    assert not page.locator("#result").is_visible()
    monkeypatch.setattr(model, "refusal", None)
    page.reload()
    wait_for(page, SENTENCE)
    assert not page.locator("#problem").is_visible()


def test_accessibility(open_page):
    """In light and dark, on a wide screen and on a phone."""
    axe = pytest.importorskip(
        "axe_playwright_python.sync_playwright",
        reason="expected the extra `browser`, which has axe",
    ).Axe()
    page = open_page(SENTENCE, reduced_motion="reduce")
    wait_for(page, SENTENCE)
    for scheme, width in (("light", 1200), ("dark", 340)):
        page.emulate_media(color_scheme=scheme)
        page.set_viewport_size({"width": width, "height": 900})
        page.locator("#translation .word").first.focus()
        assert page.evaluate("document.scrollingElement.scrollWidth") == width
        found = axe.run(page)
        assert not found.response["violations"], f"{scheme} {width}: {found.generate_report()}"
