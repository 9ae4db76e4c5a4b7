"""Serve an export over gRPC and REST, with the protocol of TensorFlow Serving, for development.

It serves the newest version that is there when it starts. The REST port has a web page at /: type a
sentence to see its translation and the attention. It listens on 127.0.0.1 unless --host changes it,
and has no login: in production, use TensorFlow Serving. SIGTERM or Ctrl-C stops the server
when the accepted requests are answered, after at most 30 s.
"""

from __future__ import annotations

import os
import threading
from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.runtime.progress import say
from rnnsearch_tf.runtime.tensorflow import import_tensorflow


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--model-name", required=True, metavar="NAME", help="name by which clients ask for it"
    )
    parser.add_argument(
        "--model-base-path",
        required=True,
        metavar="DIR",
        help="folder with a numbered folder for each version, as `rnnsearch export` writes it",
    )
    shared.add_number(parser, "--port", "gRPC port; 0: a free one", 8500, 0, 65535)
    shared.add_number(parser, "--rest-api-port", "REST port; 0: a free one", 8501, 0, 65535)
    parser.add_argument(
        "--host",
        default="127.0.0.1",
        help="IPv4 address to listen on (default: %(default)s)",
    )


def run(arguments: Namespace) -> None:
    # one core for each of many requests: 12 to 19 % more of them are answered
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", "1")
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")  # it also reports a port in use, in its words
    import_tensorflow()
    from rnnsearch_tf.extras.server.server import Server

    server = Server(
        arguments.model_name,
        arguments.model_base_path,
        arguments.port,
        arguments.rest_api_port,
        arguments.host,
    )
    with server:
        try:
            say(f"gRPC on {arguments.host}:{server.port}")
            say(f"REST and a web page on http://{arguments.host}:{server.rest_api_port}/")
            threading.Event().wait()
        except KeyboardInterrupt:  # Ctrl-C or SIGTERM
            say("stopping: finishing requests in flight first")
