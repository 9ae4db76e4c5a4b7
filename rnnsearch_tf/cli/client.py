"""Translate text with a served model over gRPC: standard input or the named files, one sentence a
line.

Works with `rnnsearch serve` and with tensorflow_model_server. Each line of input gives exactly one
line of output, in order. Input is sent and output written as soon as it arrives.

While the server is UNAVAILABLE (still starting, or its queue is full), a request is sent again
until its --deadline. Any other error status ends the command; what was written so far stays.

Several servers of one model share the requests evenly. A request to one that stops is repeated on
another: --server ipv4:10.0.0.5:8500,10.0.0.6:8500, or dns:///NAME:8500 where NAME has the addresses
of all of them.
"""

import os
import re
from argparse import ArgumentParser, Namespace
from typing import Any

from rnnsearch_tf.cli import flags
from rnnsearch_tf.cli.shared import input_batches
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.export.publishing import LARGEST_VERSION
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.files.writing import Output


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--server",
        required=True,
        metavar="HOST:PORT",
        help="the server's gRPC address, or those of several replicas (see above)",
    )
    parser.add_argument("--model-name", required=True, metavar="NAME", help="the served model")
    flags.add_whole_number(
        parser,
        "--model-version",
        "version of the model (default: the latest)",
        minimum=0,
        maximum=LARGEST_VERSION,
    )
    parser.add_argument(
        "--version-label",
        metavar="L",
        help="the version with this label (tensorflow_model_server only)",
    )
    parser.add_argument(
        "--signature",
        default="serving_default",
        metavar="S",
        help="signature of the model (default: %(default)s)",
    )
    flags.add_switch(
        parser,
        "--confidence",
        "add two tab-separated columns: the model's confidence in the sentence, from 0 to 1,"
        " and in each of its words, separated by spaces",
    )
    parser.add_argument(
        "--deadline",
        type=flags.number("seconds above 0", flags.above_zero),
        default="60",
        metavar="SECONDS",
        help="time limit of a request, with its retries (default: %(default)s)",
    )
    flags.add_whole_number(
        parser, "--batch-size", "maximum number of lines in a request", default=32
    )
    flags.add_whole_number(parser, "--concurrency", "requests in flight at once", default=4)
    parser.add_argument(
        "--tls-ca", metavar="F", help="use TLS; certificate authority of the server, PEM"
    )
    parser.add_argument(
        "--tls-certificate",
        metavar="F",
        help="certificate of the client, PEM, if the server asks for one",
    )
    parser.add_argument("--tls-key", metavar="F", help="private key of --tls-certificate, PEM")
    flags.add_output(parser)
    flags.add_files(parser)


def run(arguments: Namespace) -> None:
    settings = checked(arguments)
    # The reading thread may still wait for standard input when the command ends, and Python cannot
    # close sys.stdin then. So the thread reads a duplicate of the descriptor.
    names = [os.dup(0) if name == "-" else name for name in arguments.files or ["-"]]
    texts = input_batches(names, arguments.batch_size)
    import_tensorflow()
    from rnnsearch_tf.extras.server.client import Client, tls_credentials

    if arguments.tls_ca:
        settings["credentials"] = tls_credentials(
            arguments.tls_ca, arguments.tls_certificate, arguments.tls_key
        )
    with (
        Client(arguments.server, arguments.model_name, **settings) as client,
        Output(arguments.output, arguments.files) as output,
    ):
        for lines in client.translate_batches(texts, arguments.concurrency):
            output.write(
                [line.text if line.confidence is None else _with_confidence(line) for line in lines]
            )


def _with_confidence(line):
    return (
        f"{line.text}\t{line.confidence:.3f}\t{' '.join(f'{p:.3f}' for p in line.word_confidences)}"
    )


def checked(arguments: Namespace) -> dict[str, Any]:
    """Check the options that choose the model; returns them as keywords of `Client`."""
    scheme = re.match("ipv[46]:|dns:", arguments.server)
    servers = arguments.server.split(",") if scheme and scheme[0] != "dns:" else [arguments.server]
    for host, colon, port in (server.rpartition(":") for server in servers):
        is_port = host and colon and port.isdecimal() and 0 < int(port) < 65536
        if not is_port or "," in host or ("/" in host and not scheme):
            raise UsageError(
                "--server: expected HOST:PORT, ipv4:IP:PORT,IP:PORT or dns:///NAME:PORT, got"
                f" {arguments.server!r}"
            )
    if arguments.model_version is not None and arguments.version_label is not None:
        raise UsageError("expected --model-version or --version-label, got both; leave one out")
    if bool(arguments.tls_certificate) != bool(arguments.tls_key):
        raise UsageError("expected --tls-certificate and --tls-key together, got one of them")
    if arguments.tls_key and not arguments.tls_ca:
        raise UsageError(
            "--tls-key: expected --tls-ca with it, got none; name the certificate authority of"
            " the server"
        )
    model = {
        "version": arguments.model_version,
        "label": arguments.version_label,
        "signature": arguments.signature,
    }
    return model | {"confidence": arguments.confidence, "deadline": arguments.deadline}
