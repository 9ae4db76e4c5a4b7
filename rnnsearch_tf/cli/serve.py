"""Serve SavedModels over gRPC and REST, as tensorflow_model_server does.

Takes that server's flags (underscores or hyphens) and configuration files, and
answers its requests with its statuses. A new numbered folder under the base
path is loaded and replaces the version before it without a request failing.

The REST port has a page for people at /: type a sentence, see its translation, how sure
the model is, and where it looked. --no-page leaves it out.

Listens on 127.0.0.1 unless --host says otherwise: neither interface asks who is
there. SIGTERM or Ctrl-C ends it once the accepted requests are answered, or after
--shutdown_grace_in_seconds (exit code 1 then); while models still load, or by a
second one, at once.
"""

import concurrent.futures
import logging
import os
import signal
import threading
import time

from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.extras.server import flags

LOG_LEVEL = logging.INFO  # a server says what it serves
LOOK = 0.1  # seconds between looks whether it was told
AFTER_GRACE = 3  # seconds for what was broken off to end; then the process goes without it


def arguments(parser):
    flags.add_to(parser)


def run(arguments):
    chosen = flags.from_arguments(arguments)
    told = _told_to_end()
    log = logging.getLogger("rnnsearch_tf")
    starting = concurrent.futures.Future()
    threading.Thread(
        target=_start, args=(chosen, starting), daemon=True
    ).start()  # which does not keep the process from ending
    while not starting.done():
        concurrent.futures.wait([starting], LOOK)
        if told:
            log.info("stopping: nothing was served yet")
            os._exit(0)  # a load that runs cannot be broken off
    server = starting.result()
    host = f"[{chosen.host}]" if ":" in chosen.host else chosen.host
    for interface, port in (("gRPC", server.grpc_port), ("REST", server.rest_port)):
        page = (
            ""
            if interface == "gRPC" or chosen.no_page
            else f"; a page for people: http://{host}:{port}/"
        )
        if port is not None:
            log.info("%s on %s:%d%s", interface, chosen.host, port, page)
    while not told:
        time.sleep(LOOK)
    log.info("stopping: requests on their way are finished first")
    # whatever the threads are doing by then
    end = threading.Timer(chosen.shutdown_grace_in_seconds + AFTER_GRACE, os._exit, [1])
    end.daemon = True
    end.start()
    if server.stop(chosen.shutdown_grace_in_seconds):
        return 0
    log.error(
        "error: requests that did not end in %g s are broken off", chosen.shutdown_grace_in_seconds
    )
    return 1


def _start(chosen, starting):
    """Give the Future a Server that listens; TensorFlow's import is here because it takes seconds,
    too.
    """
    try:
        import_tensorflow()
        from rnnsearch_tf.extras.server.server import Server

        server = Server(chosen)
        server.start()
        starting.set_result(server)
    except BaseException as error:
        starting.set_exception(error)


def _told_to_end() -> list:
    """A list that the first SIGTERM or SIGINT is put into; the second ends the process.

    Not a threading.Event: its lock may be held by the very code that the signal interrupts, and a
    signal that another thread receives does not wake its wait.
    """
    told = []

    def end(number, frame):
        told.append(number)
        for again in (signal.SIGTERM, signal.SIGINT):
            signal.signal(again, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    return told
