"""Throughput and latency of `rnnsearch serve`, beside the same model called in Python.

    python benchmarks/serving.py --model RUN --text FILE [--beams 1 12] [--clients 1 8 32]
    [--seconds 10]

For each beam size the RUN is exported and served by a process of its own. Clients (serving_load.py,
another process) send one sentence a request, and the next as soon as it is answered. The yardstick
is Translator in this process: one sentence a call, and 32 sentences a call. Prints a Markdown table
and how many translations differ from Translator's.
"""

import argparse
import contextlib
import json
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import numpy as np

from rnnsearch_tf.export.writer import export_model
from rnnsearch_tf.files.reading import read_lines
from rnnsearch_tf.translation import Translator

HERE = pathlib.Path(__file__).parent
MODEL = "benchmark"
TOGETHER = 32  # sentences a call of the yardstick


class Row(NamedTuple):
    """One line of the table; latencies in seconds, one a call."""

    beam: int
    how: str
    clients: int
    throughput: float  # sentences a second
    latencies: list

    def __str__(self):
        median, late, latest = (1000 * np.percentile(self.latencies, [50, 95, 99])).tolist()
        return (
            f"| {self.beam} | {self.how} | {self.clients} | {self.throughput:,.1f} | {median:,.0f}"
            f" | {late:,.0f} | {latest:,.0f} |"
        )


def in_python(translator, lines, beam, together, seconds):
    """The Row of Translator, called with so many sentences together."""
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
    throughput = sentences / (time.perf_counter() - start)
    return Row(beam, f"Translator, {together} a call", 1, throughput, latencies)


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
        while process.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port)):
                break
            time.sleep(0.1)
        yield f"127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait()


def served(address, lines, beam, clients, seconds):
    """(Row, {line: translation}) of a number of clients."""
    command = [sys.executable, str(HERE / "serving_load.py"), address, MODEL]
    command += ["--clients", str(clients), "--seconds", str(seconds)]
    done = subprocess.run(
        command, input="\n".join(lines), stdout=subprocess.PIPE, check=True, text=True
    )
    load = json.loads(done.stdout)
    throughput = len(load["latencies"]) / seconds
    return Row(beam, "server", clients, throughput, load["latencies"]), load["translations"]


def measure(run, translator, lines, beam, clients, seconds):
    """Print the rows of one beam size; returns the lines whose translation differs from
    Translator's.
    """
    translations = translator.translate(lines, beam_size=beam)
    expected = dict(zip(lines, (translation.text for translation in translations)))
    for together in (1, TOGETHER):
        print(in_python(translator, lines, beam, together, seconds), flush=True)
    different = set()
    with tempfile.TemporaryDirectory() as base_path:
        export_model(run, base_path, overrides=[f"search.beam_size={beam}"])
        with server(base_path) as address:
            for number in clients:
                row, found = served(address, lines, beam, number, seconds)
                print(row, flush=True)
                different |= {line for line, text in found.items() if text != expected[line]}
    return different


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--model", required=True, help="a RUN folder")
    parser.add_argument(
        "--text",
        required=True,
        help="sentences of its source language, one a line; the first of them are asked",
    )
    parser.add_argument("--sentences", type=int, default=64, help="how many (%(default)s)")
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 12])
    parser.add_argument("--clients", type=int, nargs="+", default=[1, 8, 32])
    parser.add_argument(
        "--seconds",
        type=float,
        default=10,
        help="measured for each line of the table (%(default)s)",
    )
    arguments = parser.parse_args()
    text = dict.fromkeys(line for line in read_lines(arguments.text) if line.strip())
    lines = list(text)[: arguments.sentences]
    translator = Translator.load(arguments.model)
    print("| beam | how | clients | sentences/s | p50, ms | p95, ms | p99, ms |")
    print("|--:|---|--:|--:|--:|--:|--:|", flush=True)
    different = {
        beam: measure(
            arguments.model, translator, lines, beam, arguments.clients, arguments.seconds
        )
        for beam in arguments.beams
    }
    for beam, found in different.items():
        print(
            f"\nBeam {beam}: {len(found)} of {len(lines)} sentences are translated otherwise than"
            " by Translator."
        )


if __name__ == "__main__":
    main()
