"""The whole server: the model, gRPC and REST in one process."""

from __future__ import annotations

import concurrent.futures
import dataclasses
import os
import socket
import threading
import time

import grpc
import uvicorn
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from tensorflow_serving.apis import model_service_pb2_grpc, prediction_service_pb2_grpc

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.server import rest
from rnnsearch_tf.extras.server.grpc_services import Services
from rnnsearch_tf.extras.server.servable import Servable

GRACE = 30
"""Seconds that requests under way have to end when the server stops."""

MOST_REQUESTS = 256
"""Requests at once, running or waiting; more are refused: RESOURCE_EXHAUSTED, 503."""

LOOPBACK = ["127.0.0.1", "localhost"]
OPTIONS = [
    ("grpc.so_reuseport", 0),  # a port that is taken is an error
    ("grpc.max_receive_message_length", rest.LONGEST_BODY),
    ("grpc.max_send_message_length", -1),
]


@dataclasses.dataclass
class Server:
    """A server of one model, inside a ``with`` block.

    Args:
        name: of the model.
        base_path: folder with a numbered folder for each version.
        port, rest_api_port: of gRPC and REST; 0: a free one, which then is in the attribute.
        host: address to listen on.

    Raises:
        UserError: at the beginning of the block: the model does not load, or a port is taken.

    Example::

        with Server("mt", "/models/mt", port=0) as server:
            channel = grpc.insecure_channel(f"127.0.0.1:{server.port}")
    """

    name: str
    base_path: str | os.PathLike[str]
    port: int = 8500
    rest_api_port: int = 8501
    host: str = "127.0.0.1"

    def __enter__(self) -> Server:
        """Load the model, then listen."""
        model = self._model = Servable(self.name, self.base_path)
        threads = concurrent.futures.ThreadPoolExecutor(2 * (os.cpu_count() or 1))
        self._grpc = grpc.server(threads, options=OPTIONS, maximum_concurrent_rpcs=MOST_REQUESTS)
        services = Services(model)
        prediction_service_pb2_grpc.add_PredictionServiceServicer_to_server(services, self._grpc)
        model_service_pb2_grpc.add_ModelServiceServicer_to_server(services, self._grpc)
        self._health = health.HealthServicer()
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self._grpc)
        try:
            self.port = self._grpc.add_insecure_port(f"{self.host}:{self.port}")
            listener = socket.create_server((self.host, self.rest_api_port))
        except (OSError, RuntimeError) as error:
            raise UserError(
                f"{self.host}, ports {self.port} and {self.rest_api_port}: expected free ports of"
                f" this machine, got: {error}; choose others: --port, --rest-api-port, --host"
            ) from None
        self.rest_api_port = listener.getsockname()[1]
        self._grpc.start()
        self._health.set("", health_pb2.HealthCheckResponse.SERVING)
        hosts = LOOPBACK if self.host in LOOPBACK else ["*"]
        config = uvicorn.Config(
            rest.application(model, hosts),
            log_level="error",
            access_log=False,
            limit_concurrency=MOST_REQUESTS,
            timeout_graceful_shutdown=GRACE,
        )
        self._rest = uvicorn.Server(config)
        self._thread = threading.Thread(
            target=self._rest.run, kwargs={"sockets": [listener]}, daemon=True
        )
        self._thread.start()
        while not self._rest.started:
            time.sleep(0.01)
        return self

    def __exit__(self, *error: object) -> None:
        """Take no new request, finish those under way, end."""
        self._health.enter_graceful_shutdown()
        ended = self._grpc.stop(GRACE)
        self._rest.should_exit = True
        self._thread.join()
        ended.wait()
        self._model.close()
