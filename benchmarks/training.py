"""Training speed of every system: target tokens a second, share of the machine, memory, time by
part.

    python benchmarks/training.py [--sizes SMALL PAPER] [--systems NAME ...] [--precisions float32
        mixed_bfloat16]
    python benchmarks/training.py --model RUN
    python benchmarks/training.py --systems rnnsearch --source-length 10 20 40 80      one row a
        length, to see how cost grows
    python benchmarks/training.py --deterministic --sizes SMALL --systems rnnsearch    what
        training.deterministic costs; --jit-compile: what training.jit_compile does

Each row is a process of its own that trains by ``model.fit`` on random batches without padding.
Before every update a large matrix product is timed in the same process: the ceiling. GFLOP/s counts
the matrix products of the equations (products.py), not what an implementation computes twice. Parts
are differences of medians: ever more of an update is run; the encoder's includes what search
computes once a sentence: U_a h_j, C h_j, C_o h_j. Peak memory is that of the whole process up to
the last update, TensorFlow itself included. Under --deterministic and --jit-compile two processes
take turns, with and without it, and a ratio is the median of the rounds' ratios.
"""

import itertools
import json
import sys

import measuring
from measuring import median

PARTS = ("encoder", "decoder", "output", "backward", "optimizer")
OPTIONS = ("deterministic", "jit_compile")


def measure(repeats, **options):
    """The cells of one row, from a process of its own."""
    with measuring.Worker(
        [sys.executable, str(measuring.HERE / "ours.py"), json.dumps(options)]
    ) as worker:
        answer = worker("train", repeats=repeats)
    update = median(row["seconds"] for row in answer["updates"])
    tokens = median(row["tokens"] for row in answer["updates"])
    rate = sum(answer["operations"].values()) / update
    ceiling = median(answer["ceilings"])
    until = [0.0, *(answer["parts"][part] for part in PARTS)]
    parts = [1000 * (later - earlier) for earlier, later in zip(until, until[1:])]
    around = 1000 * (update - until[-1])
    return [
        float(tokens / update),
        1000 * update,
        rate / 1e9,
        ceiling / 1e9,
        f"{100 * rate / ceiling:.0f} %",
        answer["memory"],
        around,
        *parts,
    ]


def beside_plain(repeats, option, **options):
    """Milliseconds of an update without and with an option of the training section, the ratio,
    that of CPU time: the cells of one row.
    """
    commands = (
        [
            sys.executable,
            str(measuring.HERE / "ours.py"),
            json.dumps(options | {option: way}),
        ]
        for way in (False, True)
    )
    with (
        measuring.Worker(next(commands)) as plain,
        measuring.Worker(next(commands)) as other,
    ):
        rounds = [
            [worker("updates", updates=4) for worker in (plain, other)] for _ in range(repeats)
        ]
    clock, cpu = (
        [[median(row[name] for row in rows) for rows in both] for both in rounds]
        for name in ("seconds", "cpu")
    )

    def ratio(pairs):
        return median(second / first for first, second in pairs)

    return [*(1000 * median(values) for values in zip(*clock)), ratio(clock), ratio(cpu)]


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
        "--deterministic",
        action="store_true",
        help="an update with and without training.deterministic, in turns",
    )
    parser.add_argument(
        "--jit-compile",
        action="store_true",
        help="an update with and without training.jit_compile, in turns",
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
    lengths = list(
        itertools.product(arguments.source_length, arguments.target_length, arguments.batch_size)
    )
    heads = [
        "size",
        "system",
        "precision",
        "batch, source, target",
        "target tokens/s",
        "update, ms",
        "GFLOP/s",
        "ceiling, GFLOP/s",
        "share",
        "peak memory, GB",
        "input and Keras, ms",
        *(f"{part}, ms" for part in PARTS),
    ]
    option = next((name for name in OPTIONS if getattr(arguments, name)), None)
    if option:
        heads = [*heads[:4], "plain, ms", f"{option}, ms", "ratio", "ratio of CPU time"]
    with measuring.printed(heads) as rows:
        for size, system, precision, (source, target, batch) in itertools.product(
            arguments.sizes, systems, arguments.precisions, lengths
        ):
            changed = dict(source_length=source, target_length=target, batch_size=batch)
            options = dict(size=size, precision=precision, lengths=changed)
            options |= dict(run=system) if arguments.model else dict(system=system)
            measuring.say(f"{size} {system} {precision} {changed}")
            shape = sizes.with_lengths(sizes.SIZES[size], **changed)
            names = [
                size,
                system,
                precision,
                f"{shape.batch_size}, {shape.source_length}, {shape.target_length}",
            ]
            if option:
                rows.append([*names, *beside_plain(arguments.repeats, option, **options)])
            else:
                rows.append([*names, *measure(arguments.repeats, **options)])


if __name__ == "__main__":
    main()
