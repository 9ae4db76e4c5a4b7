"""Training speed of every system: target tokens a second, memory, time by part.

    python benchmarks/training.py [--sizes SMALL PAPER] [--systems NAME ...] [--precisions float32
        mixed_bfloat16]
    python benchmarks/training.py --model RUN
    python benchmarks/training.py --systems rnnsearch --source-length 10 20 40 80      one row a
        length, to see how cost grows

Each row is a process of its own that trains by ``model.fit`` on random batches without padding.
Before every update a large matrix product is timed in the same process: the ceiling. Parts are
differences of medians: ever more of an update is run; the encoder's includes what search computes
once a sentence: U_a h_j, C h_j, C_o h_j. Peak memory is that of the whole process up to the last
update, TensorFlow itself included.
"""

import itertools
import json
import sys

import measuring
from measuring import median

PARTS = ("encoder", "decoder", "output", "backward", "optimizer")


def measure(repeats, **options):
    """The cells of one row, from a process of its own."""
    with measuring.Worker(
        [sys.executable, str(measuring.HERE / "ours.py"), json.dumps(options)]
    ) as worker:
        answer = worker("train", repeats=repeats)
    update = median(row["seconds"] for row in answer["updates"])
    tokens = median(row["tokens"] for row in answer["updates"])
    until = [0.0, *(answer["parts"][part] for part in PARTS)]
    parts = [1000 * (later - earlier) for earlier, later in zip(until, until[1:])]
    return [
        float(tokens / update),
        1000 * update,
        median(answer["ceilings"]) / 1e9,
        answer["memory"],
        1000 * (update - until[-1]),
        *parts,
    ]


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--sizes", nargs="+", default=["SMALL", "PAPER"], help="(%(default)s)")
    parser.add_argument("--systems", nargs="+", help="rows of sizes.SYSTEMS (all)")
    parser.add_argument(
        "--precisions", nargs="+", default=["float32", "mixed_bfloat16"], help="(%(default)s)"
    )
    parser.add_argument(
        "--model",
        help="a RUN folder to train further (nothing is written), instead of sizes and systems",
    )
    parser.add_argument(
        "--source-length",
        type=int,
        nargs="+",
        default=[None],
        help="tokens, end symbol counted (as the size says)",
    )
    parser.add_argument("--target-length", type=int, nargs="+", default=[None])
    parser.add_argument("--batch-size", type=int, nargs="+", default=[None])
    arguments = measuring.parse(parser)
    import sizes

    if arguments.quick:
        arguments.sizes = ["TINY"]
        arguments.systems = arguments.systems or ["rnnsearch"]
        arguments.precisions = arguments.precisions[:1]
    if arguments.model:
        arguments.sizes = arguments.sizes[:1]  # its lengths and batch size; all else is the RUN's
    systems = [arguments.model] if arguments.model else arguments.systems or list(sizes.SYSTEMS)
    lengths = itertools.product(
        arguments.source_length, arguments.target_length, arguments.batch_size
    )
    heads = [
        "size",
        "system",
        "precision",
        "batch, source, target",
        "target tokens/s",
        "update, ms",
        "ceiling, GFLOP/s",
        "peak memory, GB",
        "input and Keras, ms",
        *(f"{part}, ms" for part in PARTS),
    ]
    with measuring.printed(heads) as rows:
        for size, system, precision, (source, target, batch) in itertools.product(
            arguments.sizes, systems, arguments.precisions, lengths
        ):
            changed = dict(source_length=source, target_length=target, batch_size=batch)
            options = dict(size=size, precision=precision, lengths=changed)
            options |= dict(run=system) if arguments.model else dict(system=system)
            measuring.say(f"{size} {system} {precision} {changed}")
            shape = sizes.with_lengths(sizes.SIZES[size], **changed)
            shown = f"{shape.batch_size}, {shape.source_length}, {shape.target_length}"
            cells = measure(arguments.repeats, **options)
            rows.append([size, system, precision, shown, *cells])


if __name__ == "__main__":
    main()
