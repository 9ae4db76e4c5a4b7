"""The REST interface: HTTP/1.1 with tensorflow_model_server's paths, bodies and statuses.

    GET  /v1/models/NAME[/versions/N]            status
    GET  /v1/models/NAME[/versions/N]/metadata   signatures
    POST /v1/models/NAME[/versions/N]:predict    row or columnar JSON, see json_tensors.py
    GET  /monitoring/prometheus/metrics          Prometheus
    GET  /                                       the attention page

Anything that is refused comes back as ``{"error": "…"}``. uvicorn does the HTTP, and leaves the
body out where a HEAD is answered; h11 refuses what is none.
"""

from __future__ import annotations

import asyncio
import logging
import re
import ssl
import urllib.parse
import zlib
from typing import Any

import grpc
import starlette.requests
import starlette.responses
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from rnnsearch_tf.extras.server import metrics
from rnnsearch_tf.extras.server.core import CLIENT_SECONDS, Core, Held
from rnnsearch_tf.extras.server.errors import ServingError, invalid_argument
from rnnsearch_tf.extras.server.frames import Kind
from rnnsearch_tf.extras.server.json_bytes import encode, encode_message
from rnnsearch_tf.extras.server.models import Spec
from rnnsearch_tf.extras.server.attention_page import AttentionPage

log = logging.getLogger("rnnsearch_tf")

IDLE_SECONDS = 120
"""For a connection without a request."""

CONNECTIONS = 2000
HEADER_LIMIT = 64 << 10
PART = 256 << 10  # bytes of an answer that are sent at once
GZIP = 16 + zlib.MAX_WBITS  # zlib's way to say that data has a gzip header
READING = "GET", "HEAD"
VERSION_DIGITS = 19  # of the largest int64

_MODEL = r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?"
PREDICTION = re.compile(_MODEL + ":(?P<method>classify|regress|predict)", re.IGNORECASE)
INFORMATION = re.compile(_MODEL + "(?P<metadata>/metadata)?", re.IGNORECASE)

HTTP_STATUS = {
    grpc.StatusCode.OK: 200,
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.OUT_OF_RANGE: 400,
    grpc.StatusCode.UNAUTHENTICATED: 401,
    grpc.StatusCode.PERMISSION_DENIED: 403,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.ALREADY_EXISTS: 409,
    grpc.StatusCode.ABORTED: 409,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.CANCELLED: 499,
    grpc.StatusCode.UNKNOWN: 500,
    grpc.StatusCode.INTERNAL: 500,
    grpc.StatusCode.DATA_LOSS: 500,
    grpc.StatusCode.UNIMPLEMENTED: 501,
    grpc.StatusCode.UNAVAILABLE: 503,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}


class BodyTooLarge(ServingError):
    """A request has more bytes than it may have: 413 instead of 429."""


def server(application: Any, flags: Any) -> uvicorn.Server:
    """uvicorn with our limits; `serve` runs it."""
    config = uvicorn.Config(
        application,
        http=Protocol,
        ws="none",
        lifespan="off",
        log_config=None,
        log_level="critical",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        h11_max_incomplete_event_size=HEADER_LIMIT,
        timeout_keep_alive=IDLE_SECONDS,
        ssl_certfile=flags.tls_certificate or None,
        ssl_keyfile=flags.tls_key or None,
        ssl_ca_certs=flags.tls_client_ca or None,
        ssl_cert_reqs=ssl.CERT_REQUIRED if flags.tls_client_ca else ssl.CERT_NONE,
    )
    return uvicorn.Server(config)


class Protocol(H11Protocol):
    """A connection of uvicorn that is closed if the client does not send the head of a request, or
    take the answer, in time.
    """

    def connection_made(self, transport: Any) -> None:
        self._timers: dict[str, asyncio.TimerHandle] = {}
        super().connection_made(transport)
        self._expect("head")

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._expect_no_more("head")
        else:
            self._expect("head")

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        for what in list(self._timers):
            self._expect_no_more(what)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._expect("taking")

    def on_response_complete(self) -> None:
        self._expect_no_more("taking")
        super().on_response_complete()
        if self.transport.is_closing():
            self._expect("taking")

    def send_400_response(self, msg: str) -> None:
        super().send_400_response(msg)
        self._expect("taking")

    def timeout_keep_alive_handler(self) -> None:
        self.transport.abort()

    def _expect(self, what: str) -> None:
        """Break off if it does not happen in time; close() would wait for the client."""
        if what not in self._timers:
            self._timers[what] = self.loop.call_later(CLIENT_SECONDS, self.transport.abort)

    def _expect_no_more(self, what: str) -> None:
        if what in self._timers:
            self._timers.pop(what).cancel()


class Application:
    """The interface as an ASGI application; see the module.

    Args:
        status: function of (name, version, label): the GetModelStatusResponse.
        page: AttentionPage, or None for no such page.
    """

    def __init__(self, core: Core, status: Any, page: AttentionPage | None = None):
        self._core = core
        self._status = status
        self._page = page

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        request = starlette.requests.Request(scope, receive)
        with self._core.held() as held:
            status, headers, body = await self._answer(request, held)
            response = starlette.responses.Response(body, status, headers)
            start = {"type": "http.response.start", "status": status}
            await send(start | {"headers": response.raw_headers})
            # in parts, so that the bytes are held until the client has taken nearly all of them
            for position in range(0, len(body), PART):
                part = body[position : position + PART]
                await send({"type": "http.response.body", "body": part, "more_body": True})
            await send({"type": "http.response.body"})

    async def _answer(self, request: Any, held: Held) -> tuple[int, dict[str, str], bytes]:
        """(status, headers, body)."""
        headers = {"Content-Type": "application/json"}
        method, path = request.method, request.scope["path"]
        try:
            self._check_host(request)
            if self._page is not None and path in self._page:
                return self._page.answer(method, path, request.scope["query_string"].decode())
            if path == metrics.PATH and method in READING:
                headers["Content-Type"] = "text/plain; version=0.0.4; charset=utf-8"
                return 200, headers, self._core.metrics.page()
            if not path.lower().startswith("/v1/"):
                message = f"Not found: {path}; the interface is under /v1/models/"
                return 404, headers, encode({"error": message})
            return 200, headers, await self._models(request, method, path, held)
        except BodyTooLarge as error:
            return 413, headers | {"Connection": "close"}, encode({"error": error.message})
        except ServingError as error:
            return HTTP_STATUS[error.code], headers, encode({"error": error.message})
        except asyncio.CancelledError:  # the grace of a stop has passed
            return 503, headers, encode({"error": "The server is shutting down; try again later"})
        except Exception:
            log.exception("error: internal error in %s %s", method, path)
            return 500, headers, encode({"error": "Internal error; the server's log says more"})

    async def _models(self, request: Any, method: str, path: str, held: Held) -> bytes:
        if method == "POST" and (match := PREDICTION.fullmatch(path)):
            with self._core.counted("REST", match["name"]), self._core.admitted():
                return await self._predict(request, match, held)
        if method in READING and (match := INFORMATION.fullmatch(path)):
            if match["metadata"]:
                return await self._call(match, Kind.REST_METADATA, b"")
            return encode_message(self._status(*_spec(match)))
        if method in READING and path.lower() == "/v1/models":
            raise invalid_argument("Missing model name in request.")
        raise invalid_argument(f"Malformed request: {method} {path}")

    async def _predict(self, request: Any, match: Any, held: Held) -> bytes:
        if match["method"].lower() != "predict":
            raise ServingError(
                grpc.StatusCode.UNIMPLEMENTED, f":{match['method']} is not served; use :predict"
            )
        self._core.models.process(*_spec(match))  # report unknown models before the body is read
        try:
            body = await asyncio.wait_for(self._body(request, held), CLIENT_SECONDS)
        except asyncio.TimeoutError:
            raise ServingError(
                grpc.StatusCode.DEADLINE_EXCEEDED,
                f"expected the whole request within {CLIENT_SECONDS} s",
            ) from None
        except starlette.requests.ClientDisconnect:
            raise ServingError(grpc.StatusCode.CANCELLED, "The client has gone") from None
        if request.headers.get("content-encoding", "").lower() == "gzip":
            body = await asyncio.to_thread(unpacked, body, self._core.flags.max_request_bytes)
            held.add(len(body))
        answer = await self._call(match, Kind.REST_PREDICT, body)
        held.add(len(answer))
        return answer

    async def _call(self, match: Any, kind: Kind, data: bytes) -> bytes:
        seconds = self._core.flags.rest_api_timeout_in_ms / 1000
        return await self._core.call(_spec(match), kind, data, seconds)

    async def _body(self, request: Any, held: Held) -> bytes:
        """The request's body. One that is too large is read to its end and thrown away: a client
        that still sends would not see why it was refused.
        """
        limit = self._core.flags.max_request_bytes
        chunks: list[bytes] = []
        size = 0
        async for chunk in request.stream():
            size += len(chunk)
            if size <= limit:
                held.add(len(chunk))
                chunks.append(chunk)
            else:
                chunks.clear()
        if size > limit:
            raise BodyTooLarge(
                grpc.StatusCode.RESOURCE_EXHAUSTED,
                f"expected a body of at most {limit} bytes, got {size}",
            )
        return b"".join(chunks)

    def _check_host(self, request: Any) -> None:
        """Refuse other names of this server (DNS rebinding)."""
        hosts = self._core.flags.hosts
        try:
            host = urllib.parse.urlsplit(f"//{request.headers.get('host', '')}").hostname
        except ValueError:  # half of a pair of brackets
            host = None
        if hosts and host not in hosts:
            raise invalid_argument(
                f"expected one of these hosts: {', '.join(hosts)}; got {host}; name it in"
                " --allowed_hosts"
            )


def unpacked(body: bytes, limit: int) -> bytes:
    """The data of a gzip body, one member as clients send it; unpacked only as far as the limit
    goes.

    Raises:
        ServingError: RESOURCE_EXHAUSTED beyond the limit; INVALID_ARGUMENT: it is not whole, or no
            gzip.
    """
    unpacker = zlib.decompressobj(GZIP)
    try:
        data = unpacker.decompress(body, limit + 1)
    except zlib.error as error:
        raise invalid_argument(
            f"expected gzip data after Content-Encoding: gzip, got: {error}"
        ) from None
    if len(data) > limit:
        raise ServingError(
            grpc.StatusCode.RESOURCE_EXHAUSTED,
            f"expected a request of at most {limit} bytes, got a gzip body of more; send fewer rows"
            " at once",
        )
    if not unpacker.eof or unpacker.unused_data:
        raise invalid_argument(
            "expected one whole gzip member after Content-Encoding: gzip, got a part of one, or"
            " more"
        )
    return data


def _spec(match: Any) -> Spec:
    """The model of a path."""
    version = match["version"]
    if version and (len(version) > VERSION_DIGITS or int(version) >= 2**63):
        raise invalid_argument(f"Failed to convert version: {version} to numeric.")
    return match["name"], int(version) if version else None, match["label"] or ""
