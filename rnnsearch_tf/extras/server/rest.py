"""The REST interface: HTTP/1.1 on the same core as gRPC, with tensorflow_model_server's paths,
bodies and statuses.

    GET  /v1/models/NAME[/versions/N|/labels/L]            status
    GET  /v1/models/NAME[/versions/N|/labels/L]/metadata   signatures
    POST /v1/models/NAME[/versions/N|/labels/L]:predict    row or columnar JSON, see json_tensors.py
    GET  the metrics path, if there is one                 Prometheus
    GET  /                                                 the attention page, if it is asked for

Anything that is refused comes back as ``{"error": "…"}``. Waitress does the HTTP:
keep-alive, chunked bodies, limits, slow clients.
"""

from __future__ import annotations

import http
import logging
import re
import threading
import time
import zlib

import grpc
from google.protobuf import json_format
from tensorflow_serving.apis import get_model_metadata_pb2, get_model_status_pb2, model_pb2
from waitress import wasyncore

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.server import connections
from rnnsearch_tf.extras.server import json_tensors
from rnnsearch_tf.extras.server.errors import ServingError, deadline_exceeded, invalid_argument

log = logging.getLogger("rnnsearch_tf")

GZIP = 16 + zlib.MAX_WBITS  # zlib's way to say that data has a gzip header
HEADER_LIMIT = 64 << 10
SMALL_BODY = 64 << 10  # bytes; larger ones are read one after the other
VERSION_DIGITS = 19  # of the largest int64
DRAIN_INTERVAL = 0.01  # seconds between looks at whether the last answers have gone out

_MODEL = r"/v1/models/(?P<name>[^/:]+)(?:/versions/(?P<version>[0-9]+)|/labels/(?P<label>[^/:]+))?"
READING = "GET", "HEAD"  # a HEAD is answered as a GET is, without the body
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
REASONS = {status.value: status.phrase for status in http.HTTPStatus} | {
    499: "Client Closed Request"
}


class RestServer:
    """An HTTP server on one address; `start`, then `port`, then `stop`.

    Args:
        core: a Core.
        host, port: where to listen; port 0 takes a free one.
        threads: requests that are worked on at once.
        timeout: seconds that a :predict may take before it is answered with 504.
        metrics_path: where the Prometheus page is, or None for no such page.
        limits: connections.Limits, of bodies and of clients.
        page: AttentionPage, or None for no such page.

    Raises:
        UserError: from `start`, the address is taken or is none of this machine.
    """

    def __init__(
        self,
        core,
        host="127.0.0.1",
        port=0,
        *,
        threads=32,
        timeout=30.0,
        metrics_path=None,
        limits=connections.Limits(),
        page=None,
    ):
        self.host = host
        self.port = port
        self._application = Application(core, timeout, metrics_path, limits, page)
        self._threads = threads
        self._limits = limits
        self._sockets = {}  # of Waitress' loop, by descriptor
        self._ended = False
        self._server = self._thread = None

    def check_address(self):
        """Raise UserError if the address cannot be had now; long work may come before `start`."""
        self._listen().close()

    def start(self):
        listener = self._listen()
        self.port = listener.getsockname()[1]
        # a waiting request is not worth a line
        logging.getLogger("waitress.queue").setLevel(logging.ERROR)
        self._server = connections.listen(
            self._application,
            self._sockets,
            listener,
            self._threads,
            self._limits,
            ident="rnnsearch",
            max_request_header_size=HEADER_LIMIT,
            log_socket_errors=False,  # a client that leaves is nothing to report
            clear_untrusted_proxy_headers=True,
        )
        self._thread = threading.Thread(target=self._run, name="rest", daemon=True)
        self._thread.start()

    def stop(self, grace=None):
        """Take no new connection, finish what has been accepted for at most `grace` seconds (None:
        however long), end.
        """
        if self._server is None:
            return
        end = float("inf") if grace is None else time.monotonic() + grace
        self._in_loop(lambda: wasyncore.dispatcher.close(self._server))  # the listening socket only
        self._in_loop(self._close_idle)
        while self._server.active_channels and time.monotonic() < end:
            time.sleep(DRAIN_INTERVAL)
            self._in_loop(self._close_idle)
        self._server.task_dispatcher.shutdown(timeout=1)
        self._in_loop(self._end)
        self._thread.join()
        self._server.close()
        self._server = None

    def _run(self):
        while not self._ended:
            wasyncore.loop(timeout=1, use_poll=True, map=self._sockets, count=1)

    def _listen(self):
        try:
            return connections.bound(self.host, self.port)
        except OSError as error:
            raise UserError(
                f"{self.host}:{self.port}: expected a free address for REST, got: {error.strerror};"
                " choose another --rest-api-port or --host"
            ) from None

    def _in_loop(self, function):
        """Have the server's own thread call the function: only there no request can arrive
        meanwhile.
        """
        self._server.trigger.pull_trigger(function)

    def _close_idle(self):
        for channel in list(self._server.active_channels.values()):
            if not channel.requests and not channel.total_outbufs_len:
                channel.handle_close()

    def _end(self):
        for channel in list(self._server.active_channels.values()):
            channel.handle_close()
        self._ended = True


class Application:
    """The interface as a WSGI application; see the module."""

    def __init__(self, core, timeout, metrics_path, limits, page=None):
        self._core = core
        self._timeout = timeout
        self._metrics_path = metrics_path
        self._limits = limits
        self._page = page
        self._reading = threading.Lock()

    def __call__(self, environ, start_response):
        method = environ["REQUEST_METHOD"]
        # WSGI's bytes-in-strings
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
        content_type = "application/json"
        if self._page is not None and path in self._page:
            status, headers, body = self._page.answer(method, path, environ["QUERY_STRING"])
            start_response(
                f"{status} {REASONS[status]}", [*headers, ("Content-Length", str(len(body)))]
            )
            return [body if method != "HEAD" else b""]
        try:
            if path == self._metrics_path and method in READING:
                status = 200
                body = self._core.metrics.page().encode()
                content_type = "text/plain; version=0.0.4; charset=utf-8"
            elif not path.lower().startswith("/v1/"):
                status = 404
                body = json_tensors.encode(
                    {"error": f"Not found: {path}; the interface is under /v1/models/"}
                )
            else:
                status = 200
                body = self._answer(method, path, environ)
        except ServingError as error:
            status = HTTP_STATUS[error.code]
            body = json_tensors.encode({"error": error.message})
        except Exception:  # the last line of defence: the client gets an answer, the log says where
            log.exception("REST: %s %s", method, path)
            status = 500
            body = json_tensors.encode({"error": "Internal error; the server's log says more"})
        start_response(
            f"{status} {REASONS[status]}",
            [("Content-Type", content_type), ("Content-Length", str(len(body)))],
        )
        # what followed the head would be read as the next answer
        return [body if method != "HEAD" else b""]

    def _answer(self, method, path, environ) -> bytes:
        if method == "POST" and (match := PREDICTION.fullmatch(path)):
            return self._counted(match, environ)
        if method in READING and (match := INFORMATION.fullmatch(path)):
            return self._metadata(_spec(match)) if match["metadata"] else self._status(_spec(match))
        if method in READING and path.lower() == "/v1/models":
            raise invalid_argument("Missing model name in request.")
        raise invalid_argument(f"Malformed request: {method} {path}")

    def _counted(self, match, environ) -> bytes:
        """The answer to a :predict, counted in the metrics under its status."""
        started = time.monotonic()
        status = "INTERNAL"
        try:
            if match["method"].lower() != "predict":
                raise ServingError(
                    grpc.StatusCode.UNIMPLEMENTED, f":{match['method']} is not served; use :predict"
                )
            body = self._predict(_spec(match), environ, started + self._timeout)
            status = "OK"
            return body
        except ServingError as error:
            status = error.code.name
            raise
        finally:
            if self._core.metrics is not None:
                self._core.metrics.request(
                    match["name"], status, "REST", time.monotonic() - started
                )

    def _predict(self, spec, environ, deadline) -> bytes:
        compressed = environ.get("HTTP_CONTENT_ENCODING", "").lower() == "gzip"
        if int(environ.get("CONTENT_LENGTH") or 0) <= SMALL_BODY and not compressed:
            inputs, form = self._inputs(spec, environ["wsgi.input"].read())
        else:
            inputs, form = self._inputs_in_turn(spec, environ["wsgi.input"], compressed, deadline)
        _, outputs = self._core.predict(spec, inputs, deadline=deadline)
        return json_tensors.to_body(outputs, form)

    def _inputs_in_turn(self, spec, stream, compressed, deadline):
        """Large bodies unfold to many times their size: one at a time."""
        if not self._reading.acquire(timeout=max(0.0, deadline - time.monotonic())):
            raise deadline_exceeded()
        try:
            body = stream.read()
            return self._inputs(spec, unpacked(body, self._limits.body) if compressed else body)
        finally:
            self._reading.release()

    def _inputs(self, spec, body):
        """(inputs, form of the answer) of a body; the spec gets its signature."""
        document = json_tensors.parse(body, self._limits.values)
        spec.signature_name = json_tensors.signature_name(document)
        try:
            signature = self._core.signature(spec)
        except ServingError as error:
            if error.code is grpc.StatusCode.FAILED_PRECONDITION:  # gRPC's way to say it
                name = spec.signature_name or "serving_default"
                raise invalid_argument(
                    f'Serving signature name: "{name}" not found in signature def'
                ) from None
            raise
        self._core.check_rows(json_tensors.row_count(document))
        return json_tensors.to_inputs(document, signature.inputs)

    def _status(self, spec) -> bytes:
        answer = self._core.status(get_model_status_pb2.GetModelStatusRequest(model_spec=spec))
        return _message(answer, names=False)

    def _metadata(self, spec) -> bytes:
        request = get_model_metadata_pb2.GetModelMetadataRequest(
            model_spec=spec, metadata_field=["signature_def"]
        )
        answer = self._core.metadata(request)
        signatures = get_model_metadata_pb2.SignatureDefMap()
        answer.metadata["signature_def"].Unpack(signatures)
        return b'{"model_spec": %s, "metadata": {"signature_def": %s}}' % (
            _message(answer.model_spec),
            _message(signatures),
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


def _spec(match) -> model_pb2.ModelSpec:
    spec = model_pb2.ModelSpec(name=match["name"])
    if match["version"]:
        if len(match["version"]) > VERSION_DIGITS or int(match["version"]) >= 2**63:
            raise invalid_argument(f"Failed to convert version: {match['version']} to numeric.")
        spec.version.value = int(match["version"])
    if match["label"]:
        spec.version_label = match["label"]
    return spec


def _message(message, names=True) -> bytes:
    """A protocol buffer as JSON; names: fields as in the .proto file, not as its JSON names."""
    text = json_format.MessageToJson(
        message,
        preserving_proto_field_name=names,
        always_print_fields_with_no_presence=True,
        ensure_ascii=False,
    )
    return text.encode("utf-8", "replace")
