"""What bfloat16 products cost in quality: the loss after some updates, beside float32's.

    python benchmarks/precision.py [--sizes SMALL PAPER] [--updates 200] [--seeds 5]

The same weights, batches and order for both; the batches are the built-in phrasebook's. The loss is
the mean of a target word over the last tenth of the updates. A seed has its own first weights and
its own phrasebook; the last row of a size is the mean of the differences, with its standard error.
(It says nothing of speed: see training.py.)
"""

import json
import pathlib
import statistics
import sys
import tempfile

import measuring
import peers
import sizes


def losses(size_name, updates, seed, folder):
    """{precision: loss} after so many updates."""
    from rnnsearch_tf.data.phrasebook import phrasebook

    size = sizes.SIZES[size_name]
    pairs = peers.text_pairs(phrasebook(20_000, seed, "train"), size, 20_000)
    path = pathlib.Path(folder) / f"{size_name}-{seed}.npz"
    measuring.write_batches(path, peers.batches_of(pairs, size, bucketed=True)[:updates])
    answers = {}
    for precision in ("float32", "mixed_bfloat16"):
        measuring.say(f"{size_name} {precision}, seed {seed}")
        options = json.dumps(
            dict(size=size_name, precision=precision, batches=str(path), seed=seed)
        )
        with measuring.Worker([sys.executable, str(measuring.HERE / "ours.py"), options]) as worker:
            answers[precision] = worker("loss", updates=updates, last=max(1, updates // 10))
    return answers


def main():
    parser = measuring.parser(__doc__, repeats=False)
    parser.add_argument("--sizes", nargs="+", default=["SMALL", "PAPER"], help="(%(default)s)")
    parser.add_argument("--updates", type=int, default=200, help="(%(default)s)")
    parser.add_argument("--seeds", type=int, default=5, help="(%(default)s)")
    arguments = measuring.parse(parser)
    if arguments.quick:
        arguments.sizes = ["TINY"]
        arguments.updates = 20
        arguments.seeds = 2
    heads = ["size", "seed", "updates", "loss, float32", "loss, mixed_bfloat16", "difference"]
    with measuring.printed(heads) as rows, tempfile.TemporaryDirectory() as folder:
        for size in arguments.sizes:
            differences = []
            for seed in range(1, arguments.seeds + 1):
                plain, mixed = losses(size, arguments.updates, seed, folder).values()
                differences.append(100 * (mixed / plain - 1))
                rows.append(
                    [
                        size,
                        seed,
                        arguments.updates,
                        f"{plain:.4f}",
                        f"{mixed:.4f}",
                        f"{differences[-1]:+.2f} %",
                    ]
                )
            if len(differences) > 1:
                error = statistics.stdev(differences) / len(differences) ** 0.5
                rows.append(
                    [
                        size,
                        "mean",
                        "",
                        "",
                        "",
                        f"{statistics.mean(differences):+.2f} ± {error:.2f} %",
                    ]
                )


if __name__ == "__main__":
    main()
