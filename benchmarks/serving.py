"""Throughput and latency of the embedded server, beside the same model called in Python.

    python benchmarks/serving.py --model RUN --text FILE [--beams 1 12] [--clients 1 8 32]
    [--seconds 10]

For each beam size the RUN is exported and served twice, without and with --enable_batching. Clients
(serving_load.py, a process of its own) send one sentence a request, and the next as soon as it is
answered. The yardstick is Translator in this process: one sentence a call, and 32 sentences a call,
which batching cannot exceed by much. Prints a Markdown table, how many times batching raises
throughput, and how many translations differ from Translator's.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time
from typing import NamedTuple

import numpy as np

from rnnsearch_tf.export.writer import export_model
from rnnsearch_tf.files.reading import read_lines
from rnnsearch_tf.extras.server.flags import FREE, Flags
from rnnsearch_tf.extras.server.server import Server
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
    return Row(
        beam,
        f"Translator, {together} a call",
        1,
        sentences / (time.perf_counter() - start),
        latencies,
    )


def served(base_path, lines, beam, batching, clients, seconds):
    """(Row, {line: translation}) of each number of clients, from one server."""
    flags = Flags({MODEL: str(base_path)}, port=FREE, rest_api_port=0, enable_batching=batching)
    with Server(flags) as server:
        for number in clients:
            command = [
                sys.executable,
                str(HERE / "serving_load.py"),
                f"127.0.0.1:{server.grpc_port}",
                MODEL,
                "--clients",
                str(number),
                "--seconds",
                str(seconds),
            ]
            load = json.loads(
                subprocess.run(
                    command, input="\n".join(lines), stdout=subprocess.PIPE, check=True, text=True
                ).stdout
            )
            how = "server, batching" if batching else "server"
            yield (
                Row(beam, how, number, len(load["latencies"]) / seconds, load["latencies"]),
                load["translations"],
            )


def measure(run, translator, lines, beam, clients, seconds):
    """Print the rows of one beam size; returns {(batching, clients): Row} and the lines whose
    translation differs from Translator's.
    """
    rows = {}
    different = set()
    expected = dict(
        zip(
            lines, (translation.text for translation in translator.translate(lines, beam_size=beam))
        )
    )
    for together in (1, TOGETHER):
        print(in_python(translator, lines, beam, together, seconds), flush=True)
    with tempfile.TemporaryDirectory() as base_path:
        export_model(
            run,
            base_path,
            overrides=[f"search.beam_size={beam}", "search.nbest=1", "signatures=[translate]"],
        )
        for batching in (False, True):
            for row, translations in served(base_path, lines, beam, batching, clients, seconds):
                print(row, flush=True)
                rows[batching, row.clients] = row
                different |= {
                    line
                    for line, translation in translations.items()
                    if translation != expected[line]
                }
    return rows, different


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
    lines = list(dict.fromkeys(line for line in read_lines(arguments.text) if line.strip()))[
        : arguments.sentences
    ]
    translator = Translator.load(arguments.model)
    print(
        "| beam | how | clients | sentences/s | p50, ms | p95, ms | p99, ms"
        " |\n|--:|---|--:|--:|--:|--:|--:|",
        flush=True,
    )
    summary = []
    for beam in arguments.beams:
        rows, different = measure(
            arguments.model, translator, lines, beam, arguments.clients, arguments.seconds
        )
        gains = [
            f"{rows[True, n].throughput / rows[False, n].throughput:.1f} times at {n}"
            for n in arguments.clients
        ]
        summary.append(
            f"Beam {beam}: throughput with batching is {', '.join(gains)} clients; {len(different)}"
            f" of {len(lines)} sentences are translated otherwise than by Translator."
        )
    print("\n" + "\n".join(summary))


if __name__ == "__main__":
    main()
