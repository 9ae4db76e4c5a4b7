"""The attention page and its servers: refusals, a server that is gone, another server, an exported
model; nothing of a text runs as a program.
"""

import http.server
import json
import threading
import urllib.parse
import urllib.request

import grpc
import numpy as np
import pytest
from attention_page import SENTENCE, WAIT, said, texts, translated, weight_of

from rnnsearch_tf.extras.server.errors import ServingError


@pytest.mark.parametrize(
    "code, message",
    [
        (
            grpc.StatusCode.UNAVAILABLE,
            "The server has too much to do just now. Try again in a moment.",
        ),
        (
            grpc.StatusCode.DEADLINE_EXCEEDED,
            "The translation took longer than the server allows. Try a shorter sentence.",
        ),
        (grpc.StatusCode.INVALID_ARGUMENT, "The server refused the text: as asked"),
    ],
    ids=lambda each: getattr(each, "name", ""),
)
def test_a_refusal_is_said_in_words(open_page, core, code, message):
    core.refusal = ServingError(code, "as asked")
    try:
        page = open_page("?text=a")
        page.locator(".panel .problem").wait_for()
        assert said(page.locator(".panel .problem span")) == message
    finally:
        core.refusal = None
    page.click(".panel .problem button")
    assert not translated(page, "a").locator(".problem").is_visible()


def test_a_server_that_is_gone_is_said_and_tried_again(open_page, core):
    server = core.serve()
    page = open_page("?text=one", port=server.rest_port)
    translated(page, "one")
    server.stop(0)
    page.fill("#sentence", "two")
    page.locator(".panel .problem").wait_for()
    assert (
        said(page.locator(".panel .problem span"))
        == "The server does not answer any more. Start it again, then try again."
    )
    again = core.serve(server.rest_port)
    page.click(".panel .problem button")
    translated(page, "two")
    again.stop(0)


@pytest.fixture
def elsewhere(server):
    """elsewhere(header) → the address of another server, with tensorflow_model_server's paths only
    and this CORS header or none.
    """
    servers = []

    def begin(header):
        class Stock(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.answer(None)

            def do_POST(self):
                self.answer(self.rfile.read(int(self.headers["Content-Length"])))

            def answer(self, body):
                with urllib.request.urlopen(
                    f"http://127.0.0.1:{server.rest_port}{self.path}", body
                ) as answer:
                    text = answer.read()
                self.send_response(200)
                for name, value in {
                    "Content-Type": "application/json",
                    "Content-Length": str(len(text)),
                    **header,
                }.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(text)

            def log_message(self, *_):
                pass

        servers.append(http.server.ThreadingHTTPServer(("127.0.0.1", 0), Stock))
        threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{servers[-1].server_port}"

    yield begin
    for each in servers:
        each.shutdown()
        each.server_close()


def test_another_server_is_asked_where_it_allows_that(open_page, elsewhere):
    address = elsewhere({"Access-Control-Allow-Origin": "*"})
    page = open_page(f"?text={SENTENCE}")
    page.click("summary")
    page.fill("#server", address)
    page.click("text=Use it")
    translated(page)
    page.fill("#model", "pieces")  # it says no names
    page.locator("#model").blur()
    page.locator("h2", has_text="pieces").wait_for()
    translated(page)
    assert dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(page.url).query)) == {
        "text": SENTENCE,
        "model": "pieces",
        "server": address,
    }


def test_another_server_that_does_not_allow_it_is_said(open_page, elsewhere):
    address = elsewhere({})
    page = open_page(f"?text={SENTENCE}&model=plain&server={address}")
    page.locator(".panel .problem").wait_for()
    problem = said(page.locator(".panel .problem span"))
    assert problem.startswith(f"{address} does not answer this page.") and problem.endswith(
        "only with --rest_api_enable_cors_support."
    )


def test_text_is_never_taken_for_html(open_page):
    text = "<img src=x onerror=planted=1> <b>bold</b> <script>planted=1</script>"
    page = open_page(f"?text={urllib.parse.quote(text)}")
    panel = translated(page, text)
    assert panel.locator("img, b, script").count() == 0
    assert (
        page.evaluate("typeof planted") == "undefined"
        and "<B>BOLD</B>" in panel.locator(".nbest").inner_text()
    )


def test_the_policy_holds(open_page, server):
    page = open_page(locale="en-GB")
    logged = []
    page.on("console", lambda message: logged.append(message.text))

    def plant(route):
        answer = route.fetch()
        route.fulfill(
            response=answer,
            body=answer.text().replace(
                "<main>", "<script>window.planted = 1</script><main onclick='planted=1'>"
            ),
        )

    page.route(lambda url: urllib.parse.urlsplit(url).path == "/", plant)
    page.reload()
    page.wait_for_selector("html[data-ready]")
    assert page.locator("main[onclick]").count() == 1 and page.evaluate("window.planted") is None
    assert any("Content Security Policy" in text for text in logged)
    assert (
        page.evaluate(
            f"fetch('http://localhost:{server.rest_port}/v1/models/plain').then(() => 'sent', () =>"
            " 'stopped')"
        )
        == "stopped"
    )


@pytest.mark.slow
def test_an_exported_model(pages, exported):
    """The way from the page to a SavedModel and back, by the embedded server: what the page shows
    is what the model answers.
    """
    from rnnsearch_tf.export.session import SessionModel
    from rnnsearch_tf.extras.server.flags import FREE, Flags
    from rnnsearch_tf.extras.server.server import Server

    session = SessionModel(exported)
    text = "My sister reads an old book."
    aligned = session("translate_aligned", text=[text])
    listed = session("translate_nbest", text=[text])
    [best] = [each.decode() for each in aligned["translation"]]
    sure = session("confidence", source=[text], target=[best])
    base = {"tiny": str(exported.parent.resolve())}
    flags = Flags(base, port=0, rest_api_port=FREE, enable_model_warmup=False)
    with Server(flags) as server:
        page = pages.shared = pages.shared or pages.open({})
        page.goto(f"http://127.0.0.1:{server.rest_port}/?text={urllib.parse.quote(text)}")
        page.locator(".translation .word").first.wait_for(timeout=WAIT)
        assert page.locator(".translation").inner_text() == best
        assert (
            texts(page.locator(".heatmap tbody th")) == aligned["target_tokens"][0].decode().split()
        )
        alpha = np.array(json.loads(aligned["alignment"][0]))[
            : page.locator(".heatmap tbody th").count(), :-1
        ]
        np.testing.assert_allclose(
            [weight_of(cell) for cell in page.locator(".heatmap tbody td").all()],
            alpha.ravel(),
            atol=1e-3,
        )
        assert texts(page.locator(".nbest tbody td:first-child")) == [
            each.decode() for each in listed["translation"][0]
        ]
        assert (
            page.locator(".sureness")
            .inner_text()
            .startswith(f"{round(100 * sure['confidence'][0])}\u202f% sure")
        )
        assert (
            texts(page.locator("h2")) == ["tiny"]
            and page.locator(".translation .rated").count() > 0
        )
