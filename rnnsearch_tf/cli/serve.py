"""Serve SavedModels over gRPC and REST, like tensorflow_model_server.

It uses the protocol, the status codes and, for shared features, the flags of that server (with
underscores or hyphens). A new numbered folder under the base path is loaded and replaces the
previous version without a failed request. Each model runs in a process of its own. A process that
uses too much memory, or exceeds the deadline of a request, is killed and started again; this takes
as long as loading the model.

Configuration files, labels, version policies and reload requests are features of
tensorflow_model_server alone; serving/README.md says what to do instead.

The REST port has a web page at /: type a sentence to see its translation, the confidence and the
attention. --no-page disables it.

Listens on 127.0.0.1 unless --host changes it: without --tls-client-ca neither interface
authenticates clients. SIGTERM or Ctrl-C stops the server when the accepted requests are answered,
or after --shutdown_grace_in_seconds (exit code 1 then). It stops at once while models are still
loading, and at a second signal.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import logging
import os
import resource
import signal
import threading
import time
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from rnnsearch_tf.extras.server import flags

if TYPE_CHECKING:
    from rnnsearch_tf.extras.server.server import Server

LOG_LEVEL = logging.INFO
"""A server logs what it serves."""

POLL_SECONDS = 0.1
"""Interval of checks for a signal."""

SECONDS_AFTER_GRACE = 3
"""Time for cancelled requests to end before the process exits without them."""


def arguments(parser: ArgumentParser) -> None:
    flags.add_to(parser)


def run(arguments: Namespace) -> int:
    chosen = flags.from_arguments(arguments)
    _allow_connections()
    signals = _catch_signals()
    log = logging.getLogger("rnnsearch_tf")
    starting: concurrent.futures.Future[Server] = concurrent.futures.Future()
    # a daemon thread does not keep the process alive
    threading.Thread(target=_start, args=(chosen, starting), daemon=True).start()
    while not starting.done():
        concurrent.futures.wait([starting], POLL_SECONDS)
        if signals:
            log.info("stopping: nothing was served yet")
            os._exit(0)  # the processes of the models end with this one
    server = starting.result()
    host = f"[{chosen.host}]" if ":" in chosen.host else chosen.host
    scheme = "https" if chosen.tls_certificate else "http"
    page = "" if chosen.no_page else f"; web page: {scheme}://{host}:{server.rest_port}/"
    for interface, port, more in (("gRPC", server.grpc_port, ""), ("REST", server.rest_port, page)):
        if port is not None:
            log.info("%s on %s:%d%s", interface, chosen.host, port, more)
    while not signals:
        time.sleep(POLL_SECONDS)
    log.info("stopping: finishing requests in flight first")
    # exit whatever the threads are doing by then
    last_resort = threading.Timer(
        chosen.shutdown_grace_in_seconds + SECONDS_AFTER_GRACE, os._exit, [1]
    )
    last_resort.daemon = True
    last_resort.start()
    if server.stop(chosen.shutdown_grace_in_seconds):
        return 0
    log.error(
        "error: cancelled requests that did not end in %g s", chosen.shutdown_grace_in_seconds
    )
    return 1


def _allow_connections() -> None:
    """Raise the limit of file descriptors as far as it goes: each connection takes one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    with contextlib.suppress(ValueError, OSError):  # the system may refuse its own limit
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


def _start(chosen: flags.Flags, starting: concurrent.futures.Future[Server]) -> None:
    """Start a Server and set it as the result of the Future."""
    try:
        from rnnsearch_tf.extras.server.server import Server

        server = Server(chosen)
        server.start()
        starting.set_result(server)
    except BaseException as error:
        starting.set_exception(error)


def _catch_signals() -> list[int]:
    """A list to which the first SIGTERM or SIGINT is appended; the second ends the process.

    It is not a threading.Event: the interrupted code may hold the lock of the event, and a signal
    that another thread receives does not wake its wait.
    """
    received: list[int] = []

    def end(number: int, frame: object) -> None:
        received.append(number)
        for again in (signal.SIGTERM, signal.SIGINT):
            signal.signal(again, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    return received
