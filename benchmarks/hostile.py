"""What requests that no sane client sends cost the embedded server: its memory, and how long health takes meanwhile.

    python benchmarks/hostile.py [--requests 20000] [--seed 1] [--quick]

Sends what tests/serving/fuzzing.py makes up (random bytes, wrong tensors, ranks, filled shapes, rows, nesting, bad HTTP,
connections that say nothing) to `rnnsearch serve` with a toy model, in a process of its own, and asks grpc.health.v1 ten times a
second on new connections. Prints a Markdown row; ends with 1 if an answer was none of those that are proper, if the process
ended or took 4 GB, or if health once needed a second.
"""

import argparse
import pathlib
import sys
import tempfile
import time

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "tests" / "serving"))

from fuzzing import attack  # noqa: E402
from toy_model import write_toy  # noqa: E402
from watched_server import watched_server  # noqa: E402

SLOWEST_HEALTH = 1  # seconds


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--quick", action="store_true", help="300 requests: only tries the program")
    arguments = parser.parse_args()
    count = 300 if arguments.quick else arguments.requests
    with tempfile.TemporaryDirectory() as base:
        write_toy(base, 1)
        with watched_server(base) as server:
            before, started = server.memory(), time.perf_counter()
            fuzzer, delays = attack(server, count, arguments.seed)
            seconds = time.perf_counter() - started
            alive, peak, after = server.process.poll() is None, server.peak(), server.memory()
    median, late = np.percentile(delays, [50, 99])
    print("| requests | a second | improper | memory before, peak, after (MiB) | health median, 99 %, slowest (ms) |")
    print("|---|---|---|---|---|")
    memory = ", ".join(f"{value >> 20:,}" for value in (before, peak, after))
    health = ", ".join(f"{1000 * value:,.0f}" for value in (median, late, max(delays)))
    print(f"| {count:,} | {count / seconds:,.0f} | {len(fuzzer.improper)} | {memory} | {health} |")
    for description in fuzzer.improper[:10]:
        print(description[:500], file=sys.stderr)
    return 0 if alive and not fuzzer.improper and max(delays) < SLOWEST_HEALTH else 1


if __name__ == "__main__":
    sys.exit(main())
