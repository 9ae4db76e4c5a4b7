"""The gRPC interface: PredictionService, ModelService, health and reflection.

Messages of predictions pass through as bytes. They are read and written here, not by gRPC before
the handler is called, so that a client that sends half of one has a time limit, and an answer is
counted until its client has taken it.
"""

from __future__ import annotations

import asyncio
import collections
import time
from collections.abc import Callable
from typing import Any

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory
from google.protobuf.message import DecodeError
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection, reflection_pb2

from rnnsearch_tf.extras.server.core import CLIENT_SECONDS, Core, Held
from rnnsearch_tf.extras.server.errors import ServingError, invalid_argument
from rnnsearch_tf.extras.server.frames import Kind
from rnnsearch_tf.extras.server.models import Spec

PREDICTIONS = "tensorflow.serving.PredictionService"
MANAGEMENT = "tensorflow.serving.ModelService"
SERVICES = PREDICTIONS, MANAGEMENT

UPLOADS = 32
"""Messages received at once. If all places are taken, a new message replaces the oldest one that is
slow.
"""

FEWEST_UPLOADS = 2
UPLOADED_BYTES = 128 << 20
"""Limit on their total size: where messages may be large, fewer are received at once."""

SLOW = 1.0
"""Seconds after which a message may be replaced."""

OPTIONS = [
    ("grpc.so_reuseport", 0),  # two servers on one port would each get half of the requests
    ("grpc.max_send_message_length", -1),
    ("grpc.max_concurrent_streams", 256),  # of a connection
    # calls that the loop has not taken yet; by default some of more than 1,000 are CANCELLED
    ("grpc.server.max_pending_requests", 10_000),
    ("grpc.server.max_pending_requests_hard_limit", 10_000),
    # otherwise gRPC buffers up to 4 MiB of each message before we read it
    ("grpc.http2.bdp_probe", 0),
    # an answer that is never taken ends with its connection; clients connect again by themselves
    ("grpc.max_connection_age_ms", 60_000),
]
WATCH_INTERVAL = 0.1
"""Seconds between looks for a change of health, for those who watch it."""

OTHER_CALLS = 10_000
"""Calls at once beside the predictions that wait: health, those who watch it, and predictions that
are about to be refused.
"""

ROUNDING = 0.02
"""Part of a deadline by which a client may round up what it tells the server."""


class GrpcFront:
    """The interface on one address; `start`, then `port`, then `stop`.

    Args:
        address: HOST:PORT.
        credentials: grpc.ServerCredentials, or None for no TLS.
    """

    def __init__(self, core: Core, address: str, credentials: Any = None):
        self.port: int | None = None
        self._core = core
        self._address = address
        self._credentials = credentials
        self._uploads = Uploads(core.flags.max_request_bytes)
        self._health = Health(lambda: core.models.answer)

    async def start(self) -> None:
        """Listen; RuntimeError if the address cannot be had."""
        flags = self._core.flags
        longest_call = flags.request_timeout_in_seconds + 2 * CLIENT_SECONDS
        options = [
            *OPTIONS,
            ("grpc.max_receive_message_length", flags.max_request_bytes),
            ("grpc.max_connection_age_grace_ms", min(round(1000 * longest_call), 2**31 - 1)),
        ]
        self._server = grpc.aio.server(
            options=options,
            maximum_concurrent_rpcs=OTHER_CALLS + flags.max_waiting_requests,
        )
        pool = self.read_messages()
        for service, methods in (  # all others are UNIMPLEMENTED
            (PREDICTIONS, {"Predict": self.predict, "GetModelMetadata": self.metadata}),
            (MANAGEMENT, {"GetModelStatus": self.status}),
        ):
            handlers = {name: _guarded(self._core, method) for name, method in methods.items()}
            handler = grpc.method_handlers_generic_handler(service, handlers)
            self._server.add_generic_rpc_handlers((handler,))
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        names = (*SERVICES, health.SERVICE_NAME, reflection.SERVICE_NAME)
        reflection.enable_server_reflection(names, self._server, pool)
        if self._credentials is None:
            self.port = self._server.add_insecure_port(self._address)
        else:
            self.port = self._server.add_secure_port(self._address, self._credentials)
        await self._server.start()

    def read_messages(self) -> descriptor_pool.DescriptorPool:
        """Make the classes of messages. Without gRPC, REST needs only this."""
        pool = _pool(self._core.models.messages)
        self._status_request, self._status_response = (
            message_factory.GetMessageClass(
                pool.FindMessageTypeByName(f"tensorflow.serving.{name}")
            )
            for name in ("GetModelStatusRequest", "GetModelStatusResponse")
        )
        return pool

    async def stop(self, grace: float | None) -> None:
        """Take no new request, finish those under way for at most `grace` seconds."""
        self._health.end()
        await self._server.stop(grace)

    async def predict(self, context: Any, held: Held) -> bytes:
        """PredictRequest → PredictResponse."""
        given = _seconds(context)
        with (
            self._core.counted(
                "GRPC", late=lambda: _seconds(context) < ROUNDING * given
            ) as counted,
            self._core.admitted(),
        ):
            data = await self._uploads.receive(context)
            held.add(len(data))
            model = self._model(data)
            counted.model = model[0]
            answer = await self._core.call(model, Kind.PREDICT, data, _seconds(context))
            held.add(len(answer))
            return answer

    async def metadata(self, context: Any, held: Held) -> bytes:
        """GetModelMetadataRequest → GetModelMetadataResponse."""
        with self._core.admitted():
            data = await self._uploads.receive(context)
            held.add(len(data))
            model = self._model(data)
            return await self._core.call(model, Kind.METADATA, data, _seconds(context))

    async def status(self, context: Any, held: Held) -> bytes:
        """GetModelStatusRequest → GetModelStatusResponse."""
        data = await self._uploads.receive(context)
        answer = self.status_of(*self._model(data, with_name=False))
        return answer.SerializeToString()

    def status_of(self, name: str, version: int | None, label: str) -> Any:
        """The GetModelStatusResponse of a model, or of one version."""
        answer = self._status_response()
        for number, known in self._core.models.versions(name, version, label).items():
            row = answer.model_version_status.add(version=number, state=known.state)
            row.status.error_code = known.error.code.value[0] if known.error else 0
            row.status.error_message = known.error.message if known.error else ""
        return answer

    def _model(self, data: bytes, with_name: bool = True) -> Spec:
        """The model of a request: its ModelSpec, which is field 1 of all of them."""
        request = self._status_request.FromString(data)
        if not request.HasField("model_spec"):
            raise invalid_argument("Missing ModelSpec")
        spec = request.model_spec
        if with_name and not spec.name:
            raise invalid_argument("ModelSpec has no name specified.")
        version = spec.version.value if spec.HasField("version") else None
        return spec.name, version, spec.version_label


class Health(health_pb2_grpc.HealthServicer):
    """The health service. Unlike the one of grpcio-health-checking, a client that watches but does
    not read delays neither other clients nor a stop.

    Args:
        answers: function without arguments: whether the models answer.
    """

    def __init__(self, answers: Callable[[], bool]) -> None:
        self._answers = answers
        self._ended = False

    def end(self) -> None:
        """Say NOT_SERVING from now on, and let those go who watch."""
        self._ended = True

    async def Check(self, request: Any, context: Any) -> Any:
        status = self._status(request.service)
        if status is None:
            await context.abort(grpc.StatusCode.NOT_FOUND)
        return health_pb2.HealthCheckResponse(status=status)

    async def Watch(self, request: Any, context: Any) -> None:
        told = None
        while not self._ended or told is None or told == health_pb2.HealthCheckResponse.SERVING:
            status = self._status(request.service)
            if status is None:
                status = health_pb2.HealthCheckResponse.SERVICE_UNKNOWN
            if status != told:
                answer = health_pb2.HealthCheckResponse(status=status)
                try:
                    await asyncio.wait_for(context.write(answer), CLIENT_SECONDS)
                except asyncio.TimeoutError:
                    return
                told = status
            await asyncio.sleep(WATCH_INTERVAL)

    def _status(self, service: str) -> Any:
        if service not in ("", *SERVICES):
            return None
        if self._answers() and not self._ended:
            return health_pb2.HealthCheckResponse.SERVING
        return health_pb2.HealthCheckResponse.NOT_SERVING


class Uploads:
    """Limits how many messages are received at once, since each may be large. A new message
    replaces the oldest one that is slow.

    Args:
        most_bytes: of a message.
    """

    def __init__(self, most_bytes: int) -> None:
        self._most = max(FEWEST_UPLOADS, min(UPLOADS, UPLOADED_BYTES // most_bytes))
        self._begun: collections.OrderedDict[asyncio.Task, float] = collections.OrderedDict()

    async def receive(self, context: Any) -> bytes:
        """The message of a call.

        Raises:
            ServingError: UNAVAILABLE: it was slow and others waited; DEADLINE_EXCEEDED: it did not
                come in time; INTERNAL: there is none.
        """
        while len(self._begun) >= self._most:
            task, begun = next(iter(self._begun.items()))
            if time.monotonic() - begun > SLOW:
                del self._begun[task]
                task.cancel()
            else:
                await asyncio.sleep(0.01)
        task = asyncio.ensure_future(context.read())
        self._begun[task] = time.monotonic()
        try:
            done, _ = await asyncio.wait({task}, timeout=CLIENT_SECONDS)
        finally:
            self._begun.pop(task, None)
            if not task.done():
                task.cancel()
        if not done:
            raise ServingError(
                grpc.StatusCode.DEADLINE_EXCEEDED,
                f"expected the whole request within {CLIENT_SECONDS} s",
            )
        if task.cancelled():
            raise ServingError(
                grpc.StatusCode.UNAVAILABLE,
                "The request arrived too slowly while others waited; try again later",
            )
        data = task.result()
        if data is grpc.aio.EOF:
            raise ServingError(grpc.StatusCode.INTERNAL, "expected a request, got none")
        return data


def _guarded(core: Core, function: Any) -> Any:
    """The handler of a method; a ServingError becomes the status of the call. The bytes count until
    the client has taken the answer or the connection has ended, since gRPC keeps them until then.
    """

    async def handler(_: Any, context: Any) -> None:
        with core.held() as held:
            try:
                return await context.write(await function(context, held))
            except ServingError as error:
                code, message = error.code, error.message
            except DecodeError:
                code, message = grpc.StatusCode.INTERNAL, "Exception deserializing request!"
        # not inside `except`: the exception would keep the request's bytes alive
        await context.abort(code, message)

    return grpc.stream_stream_rpc_method_handler(handler)


def _seconds(context: Any) -> float:
    left = context.time_remaining()
    return float("inf") if left is None else max(0.0, left)


def _pool(messages: bytes) -> descriptor_pool.DescriptorPool:
    """The API's messages and those of health and reflection."""
    pool = descriptor_pool.DescriptorPool()
    for file in descriptor_pb2.FileDescriptorSet.FromString(messages).file:
        pool.Add(file)
    for module in (health_pb2, reflection_pb2):
        pool.AddSerializedFile(module.DESCRIPTOR.serialized_pb)
    return pool
