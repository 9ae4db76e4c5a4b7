"""What bfloat16 products cost in quality: the loss after some updates, beside float32's.

    python benchmarks/precision.py [--sizes SMALL PAPER] [--updates 200]

The same weights, batches and order for both; the batches are the built-in phrasebook's. The loss is the mean of a
target word over the last tenth of the updates. (It says nothing of speed: see training.py.)
"""

import json
import pathlib
import sys
import tempfile

import measuring
import peers
import sizes


def losses(size_name, updates, folder):
    """{precision: loss} after so many updates."""
    from rnnsearch_tf.data.phrasebook import phrasebook

    size = sizes.SIZES[size_name]
    pairs = peers.text_pairs(phrasebook(20_000, 1, "train"), size, 20_000)
    path = pathlib.Path(folder) / f"{size_name}.npz"
    measuring.write_batches(path, peers.batches_of(pairs, size, bucketed=True)[:updates])
    answers = {}
    for precision in ("float32", "mixed_bfloat16"):
        measuring.say(f"{size_name} {precision}")
        options = json.dumps(dict(size=size_name, precision=precision, batches=str(path)))
        with measuring.Worker([sys.executable, str(measuring.HERE / "ours.py"), options]) as worker:
            answers[precision] = worker("loss", updates=updates, last=max(1, updates // 10))
    return answers


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--sizes", nargs="+", default=["SMALL", "PAPER"], help="(%(default)s)")
    parser.add_argument("--updates", type=int, default=200, help="(%(default)s)")
    arguments = measuring.parse(parser)
    if arguments.quick:
        arguments.sizes, arguments.updates = ["TINY"], 20
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        for size in arguments.sizes:
            plain, mixed = losses(size, arguments.updates, folder).values()
            rows.append([size, arguments.updates, f"{plain:.4f}", f"{mixed:.4f}", f"{100 * (mixed / plain - 1):+.2f} %"])
    print(measuring.table(["size", "updates", "loss, float32", "loss, mixed_bfloat16", "difference"], rows))


if __name__ == "__main__":
    main()
