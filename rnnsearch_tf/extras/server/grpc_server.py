"""The gRPC interface: PredictionService, ModelService and health, on the core."""

from __future__ import annotations

import logging
import threading
import time

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from tensorflow_serving.apis import model_service_pb2_grpc, predict_pb2, prediction_service_pb2_grpc

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.server import connections
from rnnsearch_tf.extras.server import limits
from rnnsearch_tf.extras.server import tensors
from rnnsearch_tf.extras.server.errors import ServingError
from rnnsearch_tf.extras.server.grpc_threads import OPTIONS, Threads
from rnnsearch_tf.extras.server.refusals import Refusals

log = logging.getLogger("rnnsearch_tf")

FOREVER = 1e7  # seconds: gRPC has no word for it
OTHER_PORT = "choose another --port or --host"
LARGEST_MESSAGE = 2**31 - 1  # bytes of an answer, as the stock server sends them


class GrpcServer:
    """Listens for gRPC; `start`, then `port`, then `stop`.

    Args:
        core: a Core.
        host, port: where to listen; port 0 takes a free one, None listens on the socket alone.
        socket_path: a UNIX socket to listen on as well, or "".
        threads: requests that are worked on at once.
        ssl: an SSLConfig, or None for no TLS.
        arguments: "key=value,key=value" for gRPC.
        with_health: whether the health service is there.
        message_limit: most bytes of a request, unpacked.
        waiting: predictions that wait for one of the threads; more are UNAVAILABLE.
    """

    def __init__(
        self,
        core,
        host="127.0.0.1",
        port=0,
        *,
        socket_path="",
        threads=64,
        ssl=None,
        arguments="",
        with_health=True,
        message_limit=limits.REQUEST_BYTES,
        waiting=limits.WAITING_REQUESTS,
    ):
        self.host = host
        self.port = port
        self._socket_path = socket_path
        self._ssl = ssl
        self._threads = Threads(threads, waiting)
        self._server = grpc.server(
            self._threads.information,
            interceptors=[self._threads, Refusals()],
            options=_options(arguments, message_limit),
        )
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(
            PredictionService(core), self._server
        )
        model_service_pb2_grpc.add_ModelServiceServicer_to_server(ModelService(core), self._server)
        self._health = health.HealthServicer(experimental_thread_pool=self._threads.health)
        if with_health:
            health_pb2_grpc.add_HealthServicer_to_server(self._health, self._server)
        self.set_serving(False)

    def check_address(self):
        """Raise UserError if the port cannot be had now; long work may come before `start`."""
        if self.port is not None:
            try:
                connections.bound(self.host, self.port).close()
            except OSError:
                raise _taken(self._address, OTHER_PORT) from None

    def start(self):
        """Listen.

        Raises:
            UserError: an address is taken or is none of this machine.
        """
        if self.port is not None:
            self.port = self._listen(self._address, OTHER_PORT)
        if self._socket_path:
            self._listen(f"unix:{self._socket_path}", "choose another --grpc_socket_path")
        self._server.start()

    def set_serving(self, serving: bool):
        """What the health service says."""
        status = (
            health_pb2.HealthCheckResponse.SERVING
            if serving
            else health_pb2.HealthCheckResponse.NOT_SERVING
        )
        for service in (
            "",
            "tensorflow.serving.PredictionService",
            "tensorflow.serving.ModelService",
        ):
            self._health.set(service, status)

    def stop(self, grace=None):
        """Take no new request, finish those on their way for at most `grace` seconds (None: however
        long).
        """
        self._health.enter_graceful_shutdown()
        self._server.stop(FOREVER if grace is None else grace).wait()
        self._threads.shutdown()

    @property
    def _address(self):
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def _listen(self, address, advice):
        try:
            if self._ssl is None:
                return self._server.add_insecure_port(address)
            return self._server.add_secure_port(address, _credentials(self._ssl))
        except RuntimeError:
            raise _taken(address, advice) from None


class PredictionService(prediction_service_pb2_grpc.PredictionServiceServicer):
    """Predict and GetModelMetadata; Classify, Regress and MultiInference answer UNIMPLEMENTED."""

    def __init__(self, core):
        self._core = core

    def Predict(self, request, context):
        started = time.monotonic()
        status = "INTERNAL"
        try:
            answer = _guarded(context, self._predict, request, context)
            status = "OK"
            return answer
        finally:
            if self._core.metrics is not None:
                status = context.code().name if context.code() else status
                self._core.metrics.request(
                    request.model_spec.name, status, "GRPC", time.monotonic() - started
                )

    def GetModelMetadata(self, request, context):
        return _guarded(context, self._core.metadata, request)

    def _predict(self, request, context):
        gone = threading.Event()
        context.add_callback(gone.set)
        left = context.time_remaining()
        deadline = None if left is None or left > threading.TIMEOUT_MAX else time.monotonic() + left
        spec = request.model_spec if request.HasField("model_spec") else None
        used, outputs = self._core.predict(
            spec, request.inputs, request.output_filter, deadline, gone
        )
        return predict_pb2.PredictResponse(
            model_spec=used,
            outputs={name: tensors.to_proto(array) for name, array in outputs.items()},
        )


class ModelService(model_service_pb2_grpc.ModelServiceServicer):
    """GetModelStatus and HandleReloadConfigRequest."""

    def __init__(self, core):
        self._core = core

    def GetModelStatus(self, request, context):
        return _guarded(context, self._core.status, request)

    def HandleReloadConfigRequest(self, request, context):
        return _guarded(context, self._core.reload, request)


def _guarded(context, function, *arguments):
    """The function's answer; a ServingError becomes the call's status, anything else INTERNAL and a
    log entry.
    """
    try:
        return function(*arguments)
    except ServingError as error:
        context.abort(error.code, error.message)
    except Exception:
        log.exception("gRPC")
        context.abort(grpc.StatusCode.INTERNAL, "Internal error; the server's log says more")


def _taken(address, advice):
    return UserError(
        f"{address}: expected a free address for gRPC, got one that cannot be had; {advice}"
    )


def _options(arguments, message_limit):
    options = [
        *OPTIONS,
        ("grpc.max_receive_message_length", message_limit),
        ("grpc.max_send_message_length", LARGEST_MESSAGE),
        ("grpc.so_reuseport", 0),  # two servers on one port would each get half of the requests
    ]
    for argument in filter(None, arguments.split(",")):
        key, equals, value = argument.partition("=")
        if not equals:
            raise UserError(f"--grpc_channel_arguments: expected key=value, got {argument!r}")
        options.append((key, int(value) if value.lstrip("-").isdecimal() else value))
    return options


def _credentials(ssl):
    return grpc.ssl_server_credentials(
        [(ssl.server_key.encode(), ssl.server_cert.encode())],
        root_certificates=ssl.custom_ca.encode() or None,
        require_client_auth=ssl.client_verify,
    )
