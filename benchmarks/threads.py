"""All cores on every operation, or a core for each operation and a shard of the batch for each
core: which is faster, by size.

    python benchmarks/threads.py [--sizes PHRASEBOOK SMALL MID PAPER] [--beams 1 12]

Two processes a size take turns: updates by ``model.fit``, searches of one sentence and of 64 of
fixed length. The command line chooses between the two by the rule of rnnsearch_tf/runtime/cores.py;
here each is forced.
"""

import json
import sys

import measuring
from measuring import median

WAYS = ("operations", "shards")
"""What is spread over the cores; the values of ours.py's option ``spread``."""


def measure(size, beams, batches, repeats):
    """Rows: work, milliseconds with either way, ratio (median of the rounds' ratios)."""
    commands = (
        [sys.executable, str(measuring.HERE / "ours.py"), json.dumps(dict(size=size, spread=way))]
        for way in WAYS
    )
    with (
        measuring.Worker(next(commands)) as all_cores,
        measuring.Worker(next(commands)) as a_core_each,
    ):
        workers = all_cores, a_core_each

        def update(worker):
            return median(row["seconds"] for row in worker("updates", updates=4))

        yield "an update", *in_turns([lambda w=w: update(w) for w in workers], repeats)
        for beam in beams:

            def search(w, **options):
                return median(w("search", beam_size=beam, repeats=3, **options))

            for batch in batches:
                both = [lambda w=w: search(w, batch_size=batch) for w in workers]
                yield f"search, beam {beam}, batch {batch}", *in_turns(both, repeats)


def in_turns(tasks, repeats):
    """(milliseconds of the first task, of the second, ratio); a task returns seconds."""
    rounds = [[task() for task in tasks] for _ in range(repeats)]
    first, second = zip(*rounds)
    return 1000 * median(first), 1000 * median(second), median(a / b for a, b in rounds)


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument(
        "--sizes", nargs="+", default=["PHRASEBOOK", "SMALL", "MID", "PAPER"], help="(%(default)s)"
    )
    parser.add_argument("--beams", type=int, nargs="*", default=[1, 12], help="(%(default)s)")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64], help="(%(default)s)")
    arguments = measuring.parse(parser)
    if arguments.quick:
        arguments.sizes = ["TINY"]
        arguments.beams = [2]
        arguments.batches = [3]
    heads = [
        "size",
        "work",
        "all cores on an operation, ms",
        "a core for an operation and shards, ms",
        "ratio",
    ]
    with measuring.printed(heads) as rows:
        for size in arguments.sizes:
            measuring.say(size)
            for row in measure(size, arguments.beams, arguments.batches, arguments.repeats):
                rows.append([size, *row])


if __name__ == "__main__":
    main()
