"""Clients that ask a model server as fast as it answers; a process of its own beside
benchmarks/serving.py.

    python benchmarks/serving_load.py ADDRESS MODEL --clients N --seconds S < sentences

Each client sends one sentence, waits for its translation, and sends the next. The S seconds begin
when every client has had WARM_UP answers. Prints one JSON object: the latencies in seconds of the
requests answered in that time, and the translation of each sentence.
"""

import argparse
import itertools
import json
import sys
import threading
import time

from rnnsearch_tf.extras.server.client import Client

WARM_UP = 2


def measure(address, model, lines, clients, seconds):
    """{"latencies": [float], "translations": {line: translation}}."""
    source = itertools.cycle(lines)
    taking = threading.Lock()
    latencies = []
    translations = {}
    errors = []
    end = float("inf")

    def start():
        nonlocal end
        end = time.perf_counter() + seconds

    ready = threading.Barrier(clients, action=start)

    def translate(client):
        with taking:
            line = next(source)
        began = time.perf_counter()
        translations[line] = client.translate([line])[0].text
        return time.perf_counter() - began

    def ask():
        try:
            with Client(address, model, deadline=120) as client:
                for _ in range(WARM_UP):
                    translate(client)
                ready.wait()
                while time.perf_counter() < end:
                    latency = translate(client)
                    if time.perf_counter() < end:
                        latencies.append(latency)
        except Exception as error:
            errors.append(error)
            ready.abort()

    threads = [threading.Thread(target=ask) for _ in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]
    return {"latencies": latencies, "translations": translations}


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("address")
    parser.add_argument("model")
    parser.add_argument("--clients", type=int, required=True)
    parser.add_argument("--seconds", type=float, required=True)
    arguments = parser.parse_args()
    lines = sys.stdin.read().split("\n")
    json.dump(
        measure(arguments.address, arguments.model, lines, arguments.clients, arguments.seconds),
        sys.stdout,
    )


if __name__ == "__main__":
    main()
