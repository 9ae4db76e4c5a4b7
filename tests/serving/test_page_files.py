"""The attention page over HTTP: which files there are, under which headers, and nothing else. What
it does in a browser: tests/export.
"""

import http.client
import json
import pathlib
import re
import types

import pytest

import rnnsearch_tf.extras.server
from rnnsearch_tf.extras.server.attention_page import AttentionPage, policy, read_about

FOLDER = pathlib.Path(rnnsearch_tf.extras.server.__file__).parent / "page"
SCRIPTS = {f"/{path.name}": "text/javascript; charset=utf-8" for path in FOLDER.glob("*.js")}
FILES = {
    "/": "text/html; charset=utf-8",
    "/page.css": "text/css; charset=utf-8",
    "/icon.svg": "image/svg+xml",
    **SCRIPTS,
}


@pytest.fixture
def server(shared_server):
    """Its `port` is that of REST."""
    return types.SimpleNamespace(port=shared_server.rest_port)


def ask(port, method, path):
    """(status, headers, body) of one request."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection.request(method, path)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return response.status, response.headers, body


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
    assert json.loads(body) == {"models": [{"name": "toy", "versions": [2], "about": {}}]}


def test_names_of_any_kind_are_listed():
    available = {"toy": (3, {"source": "en"}), 'é/"': (1, {})}
    page = AttentionPage(types.SimpleNamespace(available=lambda: available))
    status, headers, body = page.answer("GET", "/models.json", "")
    assert (status, headers["Content-Type"]) == (200, "application/json")
    assert json.loads(body)["models"] == [
        {"name": "toy", "versions": [3], "about": {"source": "en"}},
        {"name": 'é/"', "versions": [1], "about": {}},
    ]


@pytest.mark.parametrize(
    "text, about",
    [
        ('{"source": "en", "examples": ["é"]}', {"source": "en", "examples": ["é"]}),
        ("[1]", {}),
        ("no JSON", {}),
        ("[" * 10_000, {}),
        ('{"a": "' + "a" * (64 << 10) + '"}', {}),
        (None, {}),
    ],
    ids=["object", "list", "text", "nested", "long", "nothing"],
)
def test_what_an_export_says_of_its_model(tmp_path, text, about):
    if text is not None:
        (tmp_path / "assets.extra").mkdir()
        (tmp_path / "assets.extra" / "about.json").write_text(text, encoding="utf-8")
    assert read_about(tmp_path) == about


def test_of_a_file_that_is_too_long_only_the_beginning_is_read(tmp_path):
    (tmp_path / "assets.extra").mkdir()
    with (tmp_path / "assets.extra" / "about.json").open("wb") as file:
        file.truncate(1 << 42)  # which takes no place on the disk
    assert read_about(tmp_path) == {}


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
    without = served(toy_base, no_page=True)
    for path in (*FILES, "/models.json"):
        assert ask(without.rest_port, "GET", path)[0] == 404
    assert ask(without.rest_port, "GET", "/v1/models/toy")[0] == 200
