"""Translate text with a served model over gRPC: standard input or the named files, one sentence a
line.

Works with `rnnsearch serve` and with tensorflow_model_server. Exactly one line of
output for each line of input, in order; results stream: what has arrived is sent
at once, and what has come back is written at once.

While the server is UNAVAILABLE (not up yet, or its queue is full) a request is sent
again, with growing pauses, until its deadline; any other refusal ends the command.

Several servers of one model share the requests evenly, and one that goes away costs no
answer: --server ipv4:10.0.0.5:8500,10.0.0.6:8500, or dns:///NAME:8500 where NAME has the
addresses of all.
"""

import os
import re

from rnnsearch_tf.cli.shared import (
    above_zero,
    add_files,
    add_output,
    input_batches,
    number,
    whole_number,
)
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runtime.tensorflow import import_tensorflow
from rnnsearch_tf.files.writing import Output


def arguments(parser):
    parser.add_argument(
        "--server",
        required=True,
        metavar="HOST:PORT",
        help="the server's gRPC address, or those of several replicas, see above",
    )
    parser.add_argument("--model-name", required=True, metavar="NAME", help="the served model")
    parser.add_argument(
        "--model-version",
        type=whole_number(),
        metavar="N",
        help="this version of it (default: the latest)",
    )
    parser.add_argument("--version-label", metavar="L", help="the version that has this label")
    parser.add_argument(
        "--signature", default="serving_default", metavar="S", help="default: %(default)s"
    )
    parser.add_argument(
        "--confidence",
        action="store_true",
        help=(
            "after a tab how sure the model is of the sentence, from 0 to 1, and after another one"
            " of each word"
        ),
    )
    parser.add_argument(
        "--deadline",
        type=number("seconds above 0", above_zero),
        default="60",
        metavar="SECONDS",
        help="for one request, its retries included (default: %(default)s)",
    )
    parser.add_argument(
        "--batch-size",
        type=whole_number(1),
        default=32,
        metavar="N",
        help="most lines in one request (default: %(default)s)",
    )
    parser.add_argument(
        "--concurrency",
        type=whole_number(1),
        default=4,
        metavar="N",
        help="requests under way at once (default: %(default)s)",
    )
    parser.add_argument(
        "--tls-ca", metavar="F", help="use TLS; the authority of the server's certificate, PEM"
    )
    parser.add_argument(
        "--tls-certificate",
        metavar="F",
        help="the client's own certificate, PEM, where the server asks for one",
    )
    parser.add_argument("--tls-key", metavar="F", help="the key of --tls-certificate, PEM")
    add_output(parser)
    add_files(parser)


def run(arguments):
    settings = checked(arguments)
    texts = batches(arguments.files, arguments.batch_size)
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


def checked(arguments) -> dict:
    """The options that choose the model, checked, as keywords of `Client`."""
    scheme = re.match("ipv[46]:|dns:", arguments.server)
    servers = arguments.server.split(",") if scheme and scheme[0] != "dns:" else [arguments.server]
    for host, colon, port in (server.rpartition(":") for server in servers):
        if not (host and colon and port.isdecimal() and 0 < int(port) < 65536) or ("," in host):
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
            "--tls-key: expected --tls-ca beside it, got none; name the authority of the server's"
            " certificate"
        )
    model = {
        "version": arguments.model_version,
        "label": arguments.version_label,
        "signature": arguments.signature,
    }
    return model | {"confidence": arguments.confidence, "deadline": arguments.deadline}


def batches(names, size):
    """Lists of lines of all files, one after the other, as of `input_batches`."""
    # The reading thread may still wait for standard input when the command ends; Python cannot
    # close sys.stdin then, so the thread reads a descriptor of its own.
    return input_batches([os.dup(0) if name == "-" else name for name in names or ["-"]], size)
