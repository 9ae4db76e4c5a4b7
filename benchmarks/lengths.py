"""How time and memory of an update grow with the length of source and target: a table and a
picture.

    python benchmarks/lengths.py [--size SMALL] [--picture benchmarks/lengths.png]

Batches of random words without padding, all of one length; the other side keeps the size's own
length. Each row is a process that trains by ``model.fit``; peak memory is that of the whole
process, TensorFlow itself included. The dotted lines are straight, from the first point to the
last.
"""

import json
import sys

import measuring
from measuring import median

SIDES = ("source", "target")


def measure(repeats, **options):
    """(milliseconds of an update, peak GB), from a process of its own."""
    with measuring.Worker(
        [sys.executable, str(measuring.HERE / "ours.py"), json.dumps(options)]
    ) as worker:
        rows = worker("updates", updates=repeats)
        return 1000 * median(row["seconds"] for row in rows), worker("memory")


def draw(found, other, path):
    """Two panels, time and memory, a line for each side; the straight line through the first and
    the last point beside it.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 3.6), layout="constrained")
    for axes, column, label in zip(
        figure.subplots(1, 2), (0, 1), ("an update, ms", "peak memory, GB")
    ):
        for side, marker in zip(SIDES, "os"):
            lengths = list(found[side])
            values = [row[column] for row in found[side].values()]
            (line,) = axes.plot(
                lengths, values, marker=marker, label=f"{side} (the other side: {other[side]})"
            )
            axes.plot(
                lengths[:: len(lengths) - 1],
                values[:: len(values) - 1],
                linestyle=":",
                color=line.get_color(),
            )
        axes.set(xlabel="tokens of a sentence", ylabel=label, xlim=(0, None), ylim=(0, None))
        axes.legend()
    figure.savefig(path, dpi=110)


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--size", default="SMALL", help="(%(default)s)")
    parser.add_argument(
        "--lengths",
        type=int,
        nargs="+",
        default=[10, 20, 40, 60, 80],
        help="tokens, end symbol counted (%(default)s)",
    )
    parser.add_argument("--picture", help="a PNG file to draw; needs matplotlib")
    arguments = measuring.parse(parser)
    if len(arguments.lengths) < 2:
        parser.error(f"--lengths: expected at least two, to see growth; got {arguments.lengths}")
    if arguments.picture:
        from rnnsearch_tf.errors import UserError
        from rnnsearch_tf.runtime.optional import require

        try:
            require("pictures", "matplotlib")
        except UserError as error:
            parser.error(f"--picture: {error}")
    import sizes

    if arguments.quick:
        arguments.size = "TINY"
        arguments.lengths = arguments.lengths[:2]
    size = sizes.SIZES[arguments.size]
    found = {side: {} for side in SIDES}
    other = {"source": size.target_length, "target": size.source_length}
    with measuring.printed(["size", "side", "tokens", "an update, ms", "peak memory, GB"]) as rows:
        for side in SIDES:
            for length in arguments.lengths:
                measuring.say(f"{side} {length}")
                found[side][length] = measure(
                    arguments.repeats, size=arguments.size, lengths={f"{side}_length": length}
                )
                rows.append([arguments.size, side, length, *found[side][length]])
    if arguments.picture:
        draw(found, other, arguments.picture)


if __name__ == "__main__":
    main()
