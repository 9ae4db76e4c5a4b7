"""Throughput and latency of `rnnsearch serve`, beside the same model called in Python.

    python benchmarks/serving.py --model RUN --text FILE [--beams 1 12] [--clients 1 8 32]
    [--seconds 10]

For each beam size the RUN is exported and served by a process of its own. Clients (serving_load.py,
another process) send one sentence a request, and the next as soon as it is answered. The yardstick
is Translator in this process: one sentence a call, and 32 sentences a call. The sentences are the
first 64 of FILE. Prints a Markdown table.
"""

import contextlib
import json
import socket
import subprocess
import sys
import tempfile
import time

import numpy as np

import measuring
from rnnsearch_tf.export.writer import export_model
from rnnsearch_tf.files.reading import read_lines
from rnnsearch_tf.translation import Translator

MODEL = "benchmark"
SENTENCES = 64


def in_python(translator, lines, beam, together, seconds):
    """(sentences a second, latencies) of Translator, called with so many sentences together."""
    calls = [lines[start : start + together] for start in range(0, len(lines), together)]
    translator.translate(calls[0], beam_size=beam)  # traced before the clock runs
    latencies = []
    sentences = 0
    start = time.perf_counter()
    while time.perf_counter() < start + seconds:
        call = calls[len(latencies) % len(calls)]
        began = time.perf_counter()
        translator.translate(call, beam_size=beam, batch_size=together)
        latencies.append(time.perf_counter() - began)
        sentences += len(call)
    return sentences / (time.perf_counter() - start), latencies


@contextlib.contextmanager
def server(base_path):
    """Serve the models of a folder; gives the address of the gRPC port."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "rnnsearch_tf", "serve", "--model-name", MODEL]
    command += ["--model-base-path", str(base_path), "--port", str(port), "--rest-api-port", "0"]
    process = subprocess.Popen(command)
    try:
        yield f"127.0.0.1:{port}"  # clients wait until it listens
    finally:
        process.terminate()
        process.wait()


def served(address, lines, clients, seconds):
    """(sentences a second, latencies) of a number of clients."""
    command = [sys.executable, str(measuring.HERE / "serving_load.py"), address, MODEL]
    command += ["--clients", str(clients), "--seconds", str(seconds)]
    done = subprocess.run(
        command, input="\n".join(lines), stdout=subprocess.PIPE, check=True, text=True
    )
    latencies = json.loads(done.stdout)
    return len(latencies) / seconds, latencies


def measure(run, translator, lines, beam, clients, seconds):
    """Yield (how, clients, (sentences a second, latencies)) of one beam size."""
    for together in (1, 32):
        found = in_python(translator, lines, beam, together, seconds)
        yield f"Translator, {together} a call", 1, found
    with tempfile.TemporaryDirectory() as base_path:
        export_model(run, base_path, overrides=[f"search.beam_size={beam}"])
        with server(base_path) as address:
            for number in clients:
                yield "server", number, served(address, lines, number, seconds)


def main():
    parser = measuring.plain_parser(__doc__)
    parser.add_argument("--model", required=True, help="a run folder")
    parser.add_argument(
        "--text", required=True, help="sentences of its source language, one a line"
    )
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 12])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument(
        "--seconds",
        type=float,
        default=10,
        help="measured for each line of the table (%(default)s)",
    )
    arguments = parser.parse_args()
    lines = [line for line in read_lines(arguments.text) if line.strip()][:SENTENCES]
    translator = Translator.load(arguments.model)
    heads = ["beam", "how", "clients", "sentences/s", "p50, ms", "p95, ms", "p99, ms"]
    with measuring.printed(heads) as rows:
        for beam in arguments.beams:
            measuring.say(f"beam {beam}")
            for how, clients, (throughput, latencies) in measure(
                arguments.model, translator, lines, beam, arguments.clients, arguments.seconds
            ):
                late = 1000 * np.percentile(latencies, [50, 95, 99])
                rows.append([beam, how, clients, throughput, *late.tolist()])


if __name__ == "__main__":
    main()
