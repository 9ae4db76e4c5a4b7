"""Translate text with a served model over gRPC: standard input or the named files, one sentence a
line.

Works with `rnnsearch serve` and with tensorflow_model_server. Each line of input gives exactly one
line of output, in order. Input is sent and output written as soon as it arrives.

A server that does not listen yet is waited for until --deadline, and a request that returns
UNAVAILABLE is repeated. Any other error status ends the command; what was written so far stays.

Several servers of one model share the requests evenly. A request to one that stops is repeated on
another: --server ipv4:10.0.0.5:8500,10.0.0.6:8500, or dns:///NAME:8500 where NAME has the addresses
of all of them.
"""

from argparse import ArgumentParser, Namespace

from rnnsearch_tf.cli import arguments as shared
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.files.reading import check_inputs
from rnnsearch_tf.files.writing import open_output
from rnnsearch_tf.runtime.tensorflow import import_tensorflow

REQUESTS_AT_ONCE = 4


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--server",
        required=True,
        metavar="HOST:PORT",
        help="the server's gRPC address, or those of several replicas (see above)",
    )
    parser.add_argument("--model-name", required=True, metavar="NAME", help="the served model")
    shared.add_number(parser, "--model-version", "version of the model (default: the latest)")
    shared.add_number(
        parser, "--deadline", "time limit of a request, with its retries, in seconds", default=60
    )
    shared.add_number(parser, "--batch-size", "maximum number of lines in a request", default=32)
    parser.add_argument(
        "--tls-ca", metavar="F", help="use TLS; certificate authority of the server, PEM"
    )
    parser.add_argument(
        "--tls-certificate",
        metavar="F",
        help="certificate of the client, PEM, if the server asks for one",
    )
    parser.add_argument("--tls-key", metavar="F", help="private key of --tls-certificate, PEM")
    shared.add_output(parser)
    shared.add_files(parser, "text to translate")


def run(arguments: Namespace) -> None:
    if not arguments.server.rpartition(":")[2].isdecimal():
        raise UsageError(f"--server: expected HOST:PORT, got {arguments.server!r}")
    if bool(arguments.tls_certificate) != bool(arguments.tls_key):
        raise UsageError("expected --tls-certificate and --tls-key together, got one of them")
    if arguments.tls_key and not arguments.tls_ca:
        raise UsageError("--tls-key: expected --tls-ca with it, got none")
    check_inputs(arguments.files, arguments.output)
    # the reading thread may still wait when the command ends, and Python then waits for sys.stdin:
    # the number of the open file is read in its place
    files = [0 if name == "-" else name for name in arguments.files]
    texts = shared.input_batches(files, arguments.batch_size)
    import_tensorflow()
    from rnnsearch_tf.extras.server.client import Client, tls_credentials

    credentials = None
    if arguments.tls_ca:
        credentials = tls_credentials(
            arguments.tls_ca, arguments.tls_certificate, arguments.tls_key
        )
    client = Client(
        arguments.server,
        arguments.model_name,
        version=arguments.model_version,
        deadline=arguments.deadline,
        credentials=credentials,
    )
    with open_output(arguments.output) as write, client:
        for translations in client.translate_batches(texts, REQUESTS_AT_ONCE):
            write(translations)
