"""What gRPC and REST share: finding the model, limits and metrics."""

from __future__ import annotations

import asyncio
import contextlib
import time
import types
from collections.abc import Callable, Iterator

import grpc

from rnnsearch_tf.extras.server import memory
from rnnsearch_tf.extras.server.errors import ServingError, unavailable
from rnnsearch_tf.extras.server.flags import Flags
from rnnsearch_tf.extras.server.frames import Kind
from rnnsearch_tf.extras.server.metrics import Metrics
from rnnsearch_tf.extras.server.models import Models, Spec

MOST_BYTES = 128 << 20
"""Limit on the bytes of all requests and answers that this process holds."""

CLIENT_SECONDS = 30
"""Time limit for a client to send a request, and to receive the answer."""


class Core:
    """Passes requests on to the models."""

    def __init__(self, models: Models, flags: Flags, metrics: Metrics):
        self.models = models
        self.flags = flags
        self.metrics = metrics
        self._waiting = 0
        self._bytes = 0

    async def call(self, model: Spec, kind: Kind, data: bytes, seconds: float) -> bytes:
        """A model's answer to a request of either interface, after at most `seconds`.

        Raises:
            ServingError: from the model, its process or the limits.
        """
        process = self.models.process(*model)
        seconds = min(seconds, self.flags.request_timeout_in_seconds)
        return await process.call(kind, data, seconds)

    @property
    def idle(self) -> bool:
        """Whether no prediction is on its way, nor an answer to its client."""
        return not self._waiting and not self._bytes

    @contextlib.contextmanager
    def admitted(self) -> Iterator[None]:
        """A prediction in progress; UNAVAILABLE at once if too many are."""
        if self._waiting >= self.flags.max_waiting_requests:
            raise unavailable("Too many requests are in progress; try again later")
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1

    @contextlib.contextmanager
    def held(self) -> Iterator["Held"]:
        """Counts the bytes of a request and its answer, until the last one is sent."""
        held = Held(self)
        try:
            yield held
        finally:
            self._bytes -= held.size
            if held.size > memory.LARGE:
                memory.give_back()

    @contextlib.contextmanager
    def counted(
        self, entrypoint: str, model: str = "", late: Callable[[], bool] = lambda: False
    ) -> Iterator[types.SimpleNamespace]:
        """A prediction in the metrics: its status, and the time of one that is OK. Yields an object
        whose `model` may be set later. `late` says of a prediction that is cancelled whether its
        deadline has passed.
        """
        counted = types.SimpleNamespace(model=model)
        started = time.monotonic()
        status = grpc.StatusCode.OK.name
        try:
            yield counted
        except ServingError as error:
            status = error.code.name
            raise
        except asyncio.CancelledError:
            code = grpc.StatusCode.DEADLINE_EXCEEDED if late() else grpc.StatusCode.CANCELLED
            status = code.name
            raise
        except BaseException:
            status = grpc.StatusCode.INTERNAL.name
            raise
        finally:
            seconds = time.monotonic() - started
            self.metrics.request(counted.model, status, entrypoint, seconds)


class Held:
    """See Core.held."""

    def __init__(self, core: Core):
        self.size = 0
        self._core = core

    def add(self, count: int) -> None:
        """Count more bytes; UNAVAILABLE if the total exceeds MOST_BYTES."""
        if self._core._bytes + count > MOST_BYTES:
            raise unavailable("The requests in progress use too much memory; try again later")
        self._core._bytes += count
        self.size += count
