"""Clients that ask a model server as fast as it answers; a process of its own beside
benchmarks/serving.py.

    python benchmarks/serving_load.py ADDRESS MODEL --clients N --seconds S < sentences

Each client sends one sentence, waits for its translation, and sends the next. Its S seconds begin
when every client has had WARM_UP answers. Prints the latencies in seconds of the requests answered
in that time, a JSON list.
"""

import itertools
import json
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import measuring
from rnnsearch_tf.extras.server.client import Client

WARM_UP = 2
DEADLINE = 120  # seconds


def measure(address, model, lines, clients, seconds):
    """The latencies."""
    ready = threading.Barrier(clients, timeout=DEADLINE)

    def ask(number):
        number %= len(lines)
        text = itertools.cycle(lines[number:] + lines[:number])
        latencies = []
        with Client(address, model, deadline=DEADLINE) as client:
            for _ in range(WARM_UP):
                client.translate([next(text)])
            ready.wait()
            end = time.perf_counter() + seconds
            while (start := time.perf_counter()) < end:
                client.translate([next(text)])
                latencies.append(time.perf_counter() - start)
        return latencies[:-1]  # the last was answered after the end

    with ThreadPoolExecutor(clients) as pool:
        return list(itertools.chain.from_iterable(pool.map(ask, range(clients))))


def main():
    parser = measuring.plain_parser(__doc__)
    parser.add_argument("address")
    parser.add_argument("model")
    parser.add_argument("--clients", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    arguments = vars(parser.parse_args())
    json.dump(measure(lines=sys.stdin.read().split("\n"), **arguments), sys.stdout)


if __name__ == "__main__":
    main()
