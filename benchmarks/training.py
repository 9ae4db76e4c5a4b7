"""Training speed of every system: target tokens a second, memory, time by part.

    python benchmarks/training.py [--sizes SMALL PAPER] [--systems NAME ...] [--precisions float32
        mixed_bfloat16]

Each row is a process of its own that trains by ``model.fit`` on random batches without padding.
Before every update a large matrix product is timed in the same process: the ceiling. Parts are
differences of medians: ever more of an update is run. Peak memory is that of the whole process up
to the last update, TensorFlow itself included.
"""

import itertools
from statistics import median

import measuring

PARTS = ("forward", "backward", "optimizer")


def measure(repeats, **options):
    """The cells of one row, from a process of its own."""
    with measuring.Worker("ours.py", **options) as worker:
        answer = worker("train", repeats=repeats)
    update = median(row["seconds"] for row in answer["updates"])
    tokens = median(row["tokens"] for row in answer["updates"])
    until = [0.0, *(median(answer["parts"][part]) for part in PARTS), update]
    return [
        tokens / update,
        1000 * update,
        median(answer["ceilings"]) / 1e9,
        answer["memory"],
        *(1000 * (later - earlier) for earlier, later in itertools.pairwise(until)),
    ]


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--systems", nargs="+", help="rows of sizes.SYSTEMS (all)")
    parser.add_argument(
        "--precisions", nargs="+", default=["float32", "mixed_bfloat16"], help="(%(default)s)"
    )
    arguments = measuring.parse(parser)
    import sizes

    if arguments.quick:
        arguments.systems = arguments.systems or ["rnnsearch"]
        arguments.precisions = arguments.precisions[:1]
    heads = [
        "size",
        "system",
        "precision",
        "target tokens/s",
        "update, ms",
        "ceiling, GFLOP/s",
        "peak memory, GB",
        *(f"{part}, ms" for part in PARTS),
        "input and Keras, ms",
    ]
    with measuring.printed(heads) as rows:
        for size, system, precision in itertools.product(
            arguments.sizes, arguments.systems or sizes.SYSTEMS, arguments.precisions
        ):
            measuring.say(f"{size} {system} {precision}")
            cells = measure(arguments.repeats, size=size, system=system, precision=precision)
            rows.append([size, system, precision, *cells])


if __name__ == "__main__":
    main()
