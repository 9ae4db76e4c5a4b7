"""Calls of a server's REST interface, as a test writes them."""

import contextlib
import http.client
import json
import socket

PATIENCE = 30  # seconds for any one answer
HEAD = b"POST /v1/models/toy:predict HTTP/1.1\r\nHost: localhost\r\n"
"""Of a prediction, without its end."""


def ask(server, method, path, body=None, headers={}, connection=None):
    """(status, decoded JSON) of one request, on the connection or on one of its own."""
    own = connection or http.client.HTTPConnection("127.0.0.1", server.rest_port, timeout=PATIENCE)
    text = body if isinstance(body, (bytes, str, type(None))) else json.dumps(body)
    own.request(method, path, text, headers)
    response = own.getresponse()
    document = json.loads(response.read())
    if connection is None:
        own.close()
    assert response.getheader("Content-Type") == "application/json"
    return response.status, document


def post(server, body, path="/v1/models/toy:predict", **options):
    """(status, decoded JSON) of a prediction."""
    return ask(server, "POST", path, body, **options)


def connected(server):
    """A socket that is connected to the interface."""
    return socket.create_connection(("127.0.0.1", server.rest_port), timeout=PATIENCE)


def read_to_the_end(connection) -> bytes:
    """All that comes until the server closes, or breaks the connection off."""
    parts = []
    with contextlib.suppress(ConnectionError):
        while data := connection.recv(1 << 16):
            parts.append(data)
    return b"".join(parts)
