"""Which threads work on a gRPC request: predictions have many, and what must always answer has its
own.

gRPC's server knows one pool, but takes another from the function that answers a
method (`experimental_thread_pool`). A prediction for which there is neither a
thread nor a place to wait is refused before its message is read.
"""

from __future__ import annotations

import concurrent.futures
import threading

import grpc

PREDICT = "/tensorflow.serving.PredictionService/Predict"
RELOAD = "/tensorflow.serving.ModelService/HandleReloadConfigRequest"
HEALTH = "/grpc.health.v1.Health/"
# requests that gRPC itself keeps before it breaks them off with CANCELLED; it would keep 1000
MOST_PENDING = 100_000
OPTIONS = [
    ("grpc.server.max_pending_requests", MOST_PENDING),
    ("grpc.server.max_pending_requests_hard_limit", MOST_PENDING),
]


class Pool(concurrent.futures.ThreadPoolExecutor):
    """Threads with a count of what they have not finished.

    Args:
        name: of the threads.
        threads: how many.
        waiting: most requests that may wait for one of them.
    """

    def __init__(self, name, threads, waiting):
        super().__init__(threads, thread_name_prefix=name)
        self._most = threads + waiting
        self._count = 0
        self._counting = threading.Lock()

    def submit(self, function, /, *arguments, **options):
        with self._counting:
            self._count += 1
        future = super().submit(function, *arguments, **options)
        future.add_done_callback(self._uncount)
        return future

    @property
    def is_full(self) -> bool:
        return self._count >= self._most

    def _uncount(self, future):
        with self._counting:
            self._count -= 1


class Threads(grpc.ServerInterceptor):
    """Gives each method its threads.

    Args:
        predictions: Predict requests that are worked on at once.
        waiting: most Predict requests that may wait; more are UNAVAILABLE.

    Attributes:
        predictions, health, reloads, information: a Pool each; the last is for all other methods.
    """

    def __init__(self, predictions, waiting):
        self.predictions = Pool("grpc-predict", predictions, waiting)
        self.health = Pool("grpc-health", 2, waiting)
        self.reloads = Pool("grpc-reload", 1, waiting)
        self.information = Pool("grpc-information", 4, waiting)
        self._refusals = Pool("grpc-refuse", 1, 0)

    def intercept_service(self, continuation, handler_call_details):
        handler = continuation(handler_call_details)
        if handler is None or handler.unary_unary is None:
            return handler
        pool = self._pool(handler_call_details.method)
        if pool.is_full:
            # of a stream no message is read unless asked for
            return grpc.stream_unary_rpc_method_handler(_in(self._refusals, _refuse))
        return grpc.unary_unary_rpc_method_handler(
            _in(pool, handler.unary_unary),
            handler.request_deserializer,
            handler.response_serializer,
        )

    def shutdown(self):
        """End the threads as soon as they have finished."""
        for pool in (self.predictions, self.health, self.reloads, self.information, self._refusals):
            pool.shutdown(wait=False)

    def _pool(self, method):
        if method.startswith(HEALTH):
            return self.health
        return {PREDICT: self.predictions, RELOAD: self.reloads}.get(method, self.information)


def _in(pool, answer):
    """The function with gRPC's mark on it that says which threads call it."""

    def answer_in_pool(request, context):
        return answer(request, context)

    answer_in_pool.experimental_thread_pool = pool
    return answer_in_pool


def _refuse(requests, context):
    context.abort(grpc.StatusCode.UNAVAILABLE, "Too many requests are waiting; try again later")
