"""The REST interface, with tensorflow_model_server's paths, bodies and statuses; and the page.

    GET  /v1/models/NAME[/versions/N]            status
    GET  /v1/models/NAME[/versions/N]/metadata   signatures
    POST /v1/models/NAME[/versions/N]:predict    JSON in rows or columns, see json_tensors.py
    GET  /                                       the page; /model.json says which model it asks

A request that is refused is answered with ``{"error": "…"}``; one with a foreign Host header, or
one too many at once, with plain text.
"""

from __future__ import annotations

import json
import pathlib
import time
from typing import Any

import grpc
from google.protobuf import json_format
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from rnnsearch_tf.extras.server import json_tensors
from rnnsearch_tf.extras.server.grpc_services import status_of
from rnnsearch_tf.extras.server.servable import Servable, ServingError

REST_TIMEOUT = 30.0
"""Seconds after which a request is answered with 504."""

LONGEST_BODY = 4 << 20
"""Bytes of a request."""

PAGE = pathlib.Path(__file__).parent / "page"
STATUS = {
    grpc.StatusCode.INVALID_ARGUMENT: 400,
    grpc.StatusCode.FAILED_PRECONDITION: 400,
    grpc.StatusCode.NOT_FOUND: 404,
    grpc.StatusCode.RESOURCE_EXHAUSTED: 429,
    grpc.StatusCode.DEADLINE_EXCEEDED: 504,
}


def application(model: Servable, hosts: list[str]) -> Starlette:
    """The interface as an ASGI application.

    Args:
        hosts: names that the Host header may have, so that no page of another server can ask a
            server on the loopback by a name of its own; ["*"]: any.
    """

    async def status(request: Request) -> Response:
        model.check(**request.path_params)
        return _body(_as_json(status_of(model)))

    async def metadata(request: Request) -> Response:
        model.check(**request.path_params)
        signatures = {name: _as_json(each) for name, each in model.signatures.items()}
        spec = {"name": model.name, "signature_name": "", "version": str(model.version)}
        return _body(
            {"model_spec": spec, "metadata": {"signature_def": {"signature_def": signatures}}}
        )

    async def predict(request: Request) -> Response:
        model.check(**request.path_params)
        length = request.headers.get("content-length")
        if length is None:
            return _body({"error": "expected a body with a Content-Length, got none; send it"}, 411)
        if int(length) > LONGEST_BODY:
            return _body({"error": f"expected a body of at most {LONGEST_BODY:,} bytes"}, 413)
        body = await request.body()
        deadline = time.monotonic() + REST_TIMEOUT

        def answer() -> Response:
            document = json_tensors.parse(body)
            name = document.get("signature_name", "")
            inputs = json_tensors.to_inputs(document, model.signature(name).inputs)
            outputs = model.run(name, inputs, [], deadline - time.monotonic())
            return _body(json_tensors.to_body(outputs, "instances" in document))

        return await run_in_threadpool(answer)

    async def about(request: Request) -> Response:
        return _body({"name": model.name, "about": model.about})

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, ServingError)
        return _body({"error": str(error)}, STATUS.get(error.code, 500))

    routes = [Route("/model.json", about)]
    for path in ("/v1/models/{name}/versions/{version:int}", "/v1/models/{name}"):
        routes += [
            Route(f"{path}:predict", predict, methods=["POST"]),
            Route(f"{path}/metadata", metadata),
            Route(path, status),
        ]
    return Starlette(
        routes=[*routes, Mount("/", StaticFiles(directory=PAGE, html=True))],
        exception_handlers={
            ServingError: refused,
            HTTPException: lambda _, error: _body({"error": error.detail}, error.status_code),
            ClientDisconnect: lambda *_: Response(status_code=499),  # nobody reads it
        },
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts)],
    )


def _as_json(message: Any) -> Any:
    return json_format.MessageToDict(
        message, preserving_proto_field_name=True, always_print_fields_with_no_presence=True
    )


def _body(document: Any, code: int = 200) -> Response:
    text = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
    return Response(text, code, media_type="application/json")
