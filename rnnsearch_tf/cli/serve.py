"""Serve SavedModels over gRPC and REST, as tensorflow_model_server does.

Takes that server's flags (underscores or hyphens) and configuration files, and
answers its requests with its statuses. A new numbered folder under the base
path is loaded and replaces the version before it without a request failing.

Listens on 127.0.0.1 unless --host says otherwise: neither interface asks who is
there. SIGTERM or Ctrl-C ends it once the accepted requests are answered, a
second one at once.
"""

import logging
import signal
import time

from rnnsearch_tf.cli.quiet import import_tensorflow
from rnnsearch_tf.serving import flags

LOG_LEVEL = logging.INFO  # a server says what it serves
GRACE = 30  # seconds for requests on their way when it is told to end
LOOK = 0.1  # seconds between looks whether it was told


def arguments(parser):
    flags.add_to(parser)


def run(arguments):
    chosen = flags.from_arguments(arguments)
    told = _told_to_end()
    log = logging.getLogger("rnnsearch_tf")
    import_tensorflow()
    from rnnsearch_tf.serving.server import Server

    server = Server(chosen)
    server.start()
    for interface, port in (("gRPC", server.grpc_port), ("REST", server.rest_port)):
        if port is not None:
            log.info("%s on %s:%d", interface, chosen.host, port)
    while not told:
        time.sleep(LOOK)
    log.info("stopping: requests on their way are finished first")
    server.stop(GRACE)


def _told_to_end() -> list:
    """A list that the first SIGTERM or SIGINT is put into; the second ends the process.

    Not a threading.Event: its lock may be held by the very code that the signal interrupts, and a signal that another
    thread receives does not wake its wait.
    """
    told = []

    def end(number, frame):
        told.append(number)
        for again in (signal.SIGTERM, signal.SIGINT):
            signal.signal(again, signal.SIG_DFL)

    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, end)
    return told
