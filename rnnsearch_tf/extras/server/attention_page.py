"""The attention page: a page for people, which asks the REST interface beside it what a model does
with a sentence.

    GET /             the page; its style, script and icon are files of their own
    GET /models.json  the models that answer, and what their exports say of them in
                      assets.extra/about.json: {"models": [{"name": "mt", "versions": [2],
                      "about": {"source": "en", "target": "fr", "examples": ["A book."]}}]}

Nothing else is served: the files are read once, by name. The content security policy lets the page
run its own script and talk to its own server only, and to the one that its address names:
``/?server=http://HOST:PORT``.
"""

from __future__ import annotations

import importlib.resources
import json
import pathlib
import re
import urllib.parse
from typing import Any

from rnnsearch_tf.extras.server.json_bytes import encode

TYPES = {
    "page.html": "text/html; charset=utf-8",
    "page.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
    **{
        name: "text/javascript; charset=utf-8"
        for name in ("page.js", "panel.js", "server.js", "words.js")
    },
}
MODELS = "/models.json"
ABOUT = pathlib.PurePath("assets.extra", "about.json")
LONGEST_ABOUT = 64 << 10  # bytes
JSON = {"Content-Type": "application/json"}
ORIGIN = re.compile(r"https?://(?:[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::[0-9]{1,5})?")
HEADERS = {
    "Cache-Control": "no-cache",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}


class AttentionPage:
    """The page's files and the list of models.

    Args:
        models: Models.
    """

    def __init__(self, models: Any):
        folder = importlib.resources.files("rnnsearch_tf.extras.server") / "page"
        self._files = {
            f"/{name}": (kind, (folder / name).read_bytes()) for name, kind in TYPES.items()
        }
        self._files["/"] = self._files.pop("/page.html")
        self._models = models

    def __contains__(self, path: str) -> bool:
        return path == MODELS or path in self._files

    def answer(self, method: str, path: str, query: str) -> tuple[int, dict[str, str], bytes]:
        """(status, headers, body) of a request for one of its paths; methods but GET and HEAD are
        refused.
        """
        if method not in ("GET", "HEAD"):
            message = f"Method not allowed: {method} {path}; use GET"
            return 405, HEADERS | JSON | {"Allow": "GET, HEAD"}, encode({"error": message})
        if path == MODELS:
            models = [
                {"name": name, "versions": [number], "about": about}
                for name, (number, about) in self._models.available().items()
            ]
            return 200, HEADERS | JSON, encode({"models": models})
        kind, body = self._files[path]
        headers = {"Content-Type": kind, "Content-Security-Policy": policy(query)}
        return 200, HEADERS | headers, body


def read_about(folder: pathlib.Path) -> dict[str, Any]:
    """What an export says of its model; empty where it says nothing, or something else."""
    try:
        with (folder / ABOUT).open("rb") as file:
            about = json.loads(file.read(LONGEST_ABOUT))
        return about if isinstance(about, dict) else {}
    except (OSError, ValueError, RecursionError):
        return {}


def policy(query: str) -> str:
    """The content security policy of the page with this query string.

    Example:
        >>> policy("server=http://gpu:8501&text=a").split("; ")[1]
        "connect-src 'self' http://gpu:8501"
    """
    server = urllib.parse.parse_qs(query).get("server", [""])[0].rstrip("/")
    other = f" {server}" if ORIGIN.fullmatch(server) else ""
    return (
        f"default-src 'none'; connect-src 'self'{other}; script-src 'self'; style-src 'self';"
        " img-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    )
