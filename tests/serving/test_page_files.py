"""The attention page over HTTP: which files there are, under which headers, and nothing else. What
it does in a browser: tests/export.
"""

import http.client
import json
import pathlib
import re

import grpc
import pytest
from fake_core import FakeCore

import rnnsearch_tf.extras.server
from rnnsearch_tf.extras.server import config_files
from rnnsearch_tf.extras.server.attention_page import AttentionPage, policy
from rnnsearch_tf.extras.server.errors import ServingError
from rnnsearch_tf.extras.server.flags import FREE, Flags
from rnnsearch_tf.extras.server.manager import Manager
from rnnsearch_tf.extras.server.rest import RestServer

FOLDER = pathlib.Path(rnnsearch_tf.extras.server.__file__).parent / "page"
SCRIPTS = {f"/{path.name}": "text/javascript; charset=utf-8" for path in FOLDER.glob("*.js")}
FILES = {
    "/": "text/html; charset=utf-8",
    "/page.css": "text/css; charset=utf-8",
    "/icon.svg": "image/svg+xml",
    **SCRIPTS,
}


@pytest.fixture(scope="module")
def server():
    server = RestServer(FakeCore(), page=AttentionPage(lambda: {"toy": [3, 1], "é": []}))
    server.start()
    yield server
    server.stop(0)


def ask(port, method, path):
    """(status, headers, body) of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, dict(response.getheaders()), body


@pytest.mark.parametrize("path", FILES)
def test_its_files_and_their_headers(server, path):
    status, headers, body = ask(server.port, "GET", path)
    assert status == 200 and body == (FOLDER / (path[1:] or "page.html")).read_bytes()
    assert headers["Content-Type"] == FILES[path]
    assert headers["X-Content-Type-Options"] == "nosniff" and headers["Cache-Control"] == "no-cache"
    assert (
        headers["Referrer-Policy"] == "no-referrer"
        and headers["Cross-Origin-Resource-Policy"] == "same-origin"
    )
    assert (
        "default-src 'none'" in headers["Content-Security-Policy"]
        and "script-src 'self'" in headers["Content-Security-Policy"]
    )
    assert (
        "unsafe" not in headers["Content-Security-Policy"]
        and "*" not in headers["Content-Security-Policy"]
    )
    status, head, nothing = ask(server.port, "HEAD", path)
    assert status == 200 and nothing == b"" and head["Content-Length"] == str(len(body))


def test_every_file_of_the_folder_is_one_of_them():
    assert {path.name for path in FOLDER.iterdir()} == {path[1:] or "page.html" for path in FILES}


def test_nothing_in_them_comes_from_elsewhere():
    for path in FOLDER.iterdir():
        text = path.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
        assert not re.search(r"(?:https?:)?//[\w.-]+\.\w", text), path
        assert not re.search(
            r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|style=|\son\w+=", text
        ), path


def test_the_models_are_listed(server):
    status, headers, body = ask(server.port, "GET", "/models.json")
    assert (
        status == 200
        and headers["Content-Type"] == "application/json"
        and headers["X-Content-Type-Options"] == "nosniff"
    )
    assert json.loads(body) == {
        "models": [{"name": "toy", "versions": [3, 1]}, {"name": "é", "versions": []}]
    }


def test_versions_that_do_not_answer_are_not_listed(tmp_path):
    def load(name, number, path):
        if number == 2:
            raise ServingError(grpc.StatusCode.UNKNOWN, "damaged")

    manager = Manager(load, Flags(model_base_path=str(tmp_path)))
    (tmp_path / "1").mkdir()
    manager.configure(config_files.single_model("toy", str(tmp_path)))
    (tmp_path / "2").mkdir()
    manager.update()
    assert [version.number for version in manager.versions("toy")] == [2, 1]
    assert manager.available() == {"toy": [1]}


@pytest.mark.parametrize(
    "path",
    [
        "/page.html",
        "/page.js/",
        "/../page.js",
        "/..%2fattention_page.py",
        "/page",
        "/PAGE.JS",
        "/%00",
        "/models.json/",
    ],
)
def test_nothing_else_is_served(server, path):
    status, headers, body = ask(server.port, "GET", path)
    assert (
        status == 404
        and headers["Content-Type"] == "application/json"
        and json.loads(body)["error"].startswith("Not found")
    )


@pytest.mark.parametrize("path", ["/", "/page.js", "/models.json"])
def test_other_methods_are_refused(server, path):
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        status, headers, body = ask(server.port, method, path)
        assert (
            status == 405
            and headers["Allow"] == "GET, HEAD"
            and "use GET" in json.loads(body)["error"]
        )


@pytest.mark.parametrize(
    "server_given, allowed",
    [
        ("http://gpu:8501", " http://gpu:8501"),
        ("https%3A%2F%2Fmt.example.org%2F", " https://mt.example.org"),
        ("http://[::1]:8501", " http://[::1]:8501"),
        ("", ""),
        ("gpu:8501", ""),
        ("http://a%20http://b", ""),
        ("http://a;%20script-src%20*", ""),
        ("http://*", ""),
        ("http://a/path", ""),
        ("http://a%0d%0aX:%20y", ""),
        ("javascript:alert(1)", ""),
    ],
    ids=str,
)
def test_the_policy_opens_for_the_named_server_alone(server_given, allowed):
    assert policy(f"text=a&server={server_given}").split("; ")[1] == f"connect-src 'self'{allowed}"


def test_no_page(served, toy_base):
    with_page = served(toy_base, rest_api_port=FREE)
    without = served(toy_base, rest_api_port=FREE, no_page=True)
    assert json.loads(ask(with_page.rest_port, "GET", "/models.json")[2]) == {
        "models": [{"name": "toy", "versions": [2]}]
    }
    assert ask(with_page.rest_port, "GET", "/")[0] == 200
    for path in (*FILES, "/models.json"):
        assert ask(without.rest_port, "GET", path)[0] == 404
