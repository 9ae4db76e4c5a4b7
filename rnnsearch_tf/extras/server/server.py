"""The whole server, from its flags: models, gRPC, REST, in one thread with one event loop."""

from __future__ import annotations

import asyncio
import concurrent.futures
import pathlib
import socket
import threading
from typing import Any

import grpc

from rnnsearch_tf.errors import UserError
from rnnsearch_tf.extras.server import rest
from rnnsearch_tf.extras.server.attention_page import AttentionPage
from rnnsearch_tf.extras.server.core import Core
from rnnsearch_tf.extras.server.errors import ServingError
from rnnsearch_tf.extras.server.flags import FREE, Flags
from rnnsearch_tf.extras.server.grpc_front import GrpcFront
from rnnsearch_tf.extras.server.metrics import Metrics
from rnnsearch_tf.extras.server.models import Models
from rnnsearch_tf.extras.server.tls import check_authority, check_certificate

BACKLOG = 1000  # connections that the system holds until they are taken
FOREVER = 10.0**6  # seconds
IDLE_INTERVAL = 0.02  # seconds between checks whether a prediction is on its way
OTHERS_SECONDS = 1.0  # that calls other than predictions have left when a server stops


class Server:
    """A server; it listens once its models answer. Models are in processes of their own, the
    interfaces in a thread of this one.

    Attributes:
        grpc_port, rest_port: where it listens, None where it does not.

    Raises:
        UserError: from `start`, a model does not load, a port is taken, or TLS files are invalid.

    Example::

        flags = Flags({"mt": "/models/mt"}, port=FREE, rest_api_port=0)
        with Server(flags) as server:
            channel = grpc.insecure_channel(f"127.0.0.1:{server.grpc_port}")
    """

    def __init__(self, flags: Flags):
        self.grpc_port: int | None = None
        self.rest_port: int | None = None
        self._flags = flags
        self._models = Models(flags)
        self._core = Core(self._models, flags, Metrics(self._models))
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="server", daemon=True)
        self._stopping = threading.Lock()
        self._stopped = False
        self._grpc: GrpcFront | None = None
        self._rest: Any = None
        self._serving_rest: asyncio.Task[Any] | None = None

    def start(self) -> None:
        """Load the models, then listen."""
        self._thread.start()
        try:
            self._in_loop(self._start())
        except ServingError as error:
            self.stop(0)
            raise UserError(error.message) from None
        except BaseException:
            self.stop(0)
            raise

    def stop(self, grace: float | None = None) -> bool:
        """Take no new request, finish those under way for at most `grace` seconds (None: however
        long), end.

        Returns:
            bool, whether they ended by themselves: those that had not were broken off.
        """
        with self._stopping:
            if self._stopped or not self._thread.is_alive():
                return True
            self._stopped = True
            try:
                return self._in_loop(self._stop(FOREVER if grace is None else grace))
            finally:  # also after Ctrl-C
                self._in_loop(self._models.close())
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._thread.join()
                self._loop.close()

    def __enter__(self) -> Server:
        self.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.stop()

    def _in_loop(self, job: Any) -> Any:
        future: concurrent.futures.Future[Any] = asyncio.run_coroutine_threadsafe(job, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    async def _start(self) -> None:
        flags = self._flags
        if flags.tls_certificate:
            check_certificate(
                flags.tls_certificate,
                flags.tls_key,
                f"--tls_certificate {flags.tls_certificate}, --tls_key {flags.tls_key}",
            )
        if flags.tls_client_ca:
            check_authority(flags.tls_client_ca, f"--tls_client_ca {flags.tls_client_ca}")
        for flag in ("port", "rest_api_port"):
            if getattr(flags, flag):
                _bound(flags, flag).close()  # fail now rather than after loading
        await self._models.start()
        host = f"[{flags.host}]" if ":" in flags.host else flags.host
        front = GrpcFront(self._core, f"{host}:{max(flags.port, 0)}", _credentials(flags))
        if flags.port:
            try:
                await front.start()
            except RuntimeError as error:
                raise _taken(flags, "port", str(error)) from None
            self._grpc = front
            self.grpc_port = front.port
        else:
            front.read_messages()
        if flags.rest_api_port:
            listener = _bound(flags, "rest_api_port")
            page = None if flags.no_page else AttentionPage(self._models)
            self._rest = rest.server(rest.Application(self._core, front.status_of, page), flags)
            self.rest_port = listener.getsockname()[1]
            self._serving_rest = asyncio.create_task(self._rest.serve(sockets=[listener]))
            while not self._rest.started:
                if self._serving_rest.done():
                    self._serving_rest.result()  # raises what went wrong
                await asyncio.sleep(0.01)

    async def _stop(self, grace: float) -> bool:
        ends: list[Any] = []
        if self._grpc is not None:
            ends.append(asyncio.create_task(self._grpc.stop(FOREVER)))
        if self._serving_rest is not None:
            self._rest.config.timeout_graceful_shutdown = max(1.0, grace)
            self._rest.should_exit = True
            ends.append(self._serving_rest)
        end = asyncio.get_running_loop().time() + grace
        while not self._core.idle and asyncio.get_running_loop().time() < end:
            await asyncio.sleep(IDLE_INTERVAL)
        idle = self._core.idle
        if self._grpc is not None:  # what is left is broken off
            ends.append(self._grpc.stop(min(grace, OTHERS_SECONDS) if idle else 0))
        await asyncio.gather(*ends, return_exceptions=True)
        return idle


def _bound(flags: Flags, flag: str) -> socket.socket:
    """A listening socket for an interface."""
    port = getattr(flags, flag)
    family = socket.AF_INET6 if ":" in flags.host else socket.AF_INET
    # "::" is every address, as gRPC takes it
    both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
    address = flags.host, 0 if port == FREE else port
    try:
        return socket.create_server(address, family=family, backlog=BACKLOG, dualstack_ipv6=both)
    except OSError as error:
        # create_server adds the address in brackets
        raise _taken(flags, flag, str(error.strerror).partition(" (")[0]) from None


def _taken(flags: Flags, flag: str, reason: str) -> UserError:
    return UserError(
        f"{flags.host}:{getattr(flags, flag)}: expected a free address of this machine, got:"
        f" {reason.lower()}; choose another --{flag} or --host"
    )


def _credentials(flags: Flags) -> Any:
    if not flags.tls_certificate:
        return None
    key, certificate = (
        pathlib.Path(file).read_bytes() for file in (flags.tls_key, flags.tls_certificate)
    )
    authority = pathlib.Path(flags.tls_client_ca).read_bytes() if flags.tls_client_ca else None
    return grpc.ssl_server_credentials(
        [(key, certificate)],
        root_certificates=authority,
        require_client_auth=authority is not None,
    )
