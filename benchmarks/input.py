"""Whether training has to wait for its data: pairs a second of the tf.data pipeline against what
training eats.

    python benchmarks/input.py [--sizes SMALL PAPER]
    python benchmarks/input.py --config configs/multi30k-en-fr.yaml --set data.folder=DATA

The first epoch reads, checks, tokenizes and numbers the text; later epochs only shuffle and batch.
Training of each size, in the same run, says how many pairs it eats. The corpus is the built-in
phrasebook, or that of a configuration.
"""

import dataclasses
import json
import sys
import time

import measuring
from measuring import median


def epochs(config, texts, number):
    """(pairs, seconds) of so many epochs of one pipeline, in order; nothing is done with the
    batches.
    """
    from rnnsearch_tf.data.corpus import open_corpus
    from rnnsearch_tf.data.batches import training_dataset

    start = time.perf_counter()
    dataset = training_dataset(*texts, open_corpus(config, "train"), config.data, seed=1)
    for _ in range(number):
        pairs = sum(len(batch["source_ids"]) for batch in dataset.as_numpy_iterator())
        now = time.perf_counter()
        yield pairs, now - start
        start = now


def pipeline_rows(config, repeats):
    """[batching, epoch, pairs, pairs a second] for each way to batch."""
    from rnnsearch_tf.data.corpus import open_corpus
    from rnnsearch_tf.text.pipeline import build_texts

    pairs = open_corpus(config, "train")
    texts = build_texts(config, pairs)
    for batching in ("paper", "bucketed", "unsorted"):
        measuring.say(batching)
        each = with_data(config, batching=batching)
        first = []
        later = []
        for _ in range(repeats):
            one, two = epochs(each, texts, 2)
            first.append(one)
            later.append(two)
        for name, values in (("first", first), ("later", later)):
            yield [
                batching,
                name,
                values[0][0],
                values[0][0] / median(seconds for _, seconds in values),
            ]


def with_data(config, **options):
    return dataclasses.replace(config, data=dataclasses.replace(config.data, **options))


def eaten(size, precision, repeats):
    """Pairs a second that training of a size takes."""
    options = json.dumps(dict(size=size, precision=precision))
    with measuring.Worker([sys.executable, str(measuring.HERE / "ours.py"), options]) as worker:
        seconds = median(update["seconds"] for update in worker("updates", updates=repeats))
    import sizes

    return sizes.SIZES[size].batch_size / seconds


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument(
        "--sizes",
        nargs="+",
        default=["SMALL", "PAPER"],
        help="of the trainings that eat (%(default)s)",
    )
    parser.add_argument(
        "--precisions", nargs="+", default=["float32", "mixed_bfloat16"], help="(%(default)s)"
    )
    parser.add_argument(
        "--config", help="a configuration whose corpus is read; the built-in phrasebook otherwise"
    )
    parser.add_argument(
        "--set",
        action="append",
        default=[],
        metavar="SECTION.KEY=VALUE",
        help="change an option of it",
    )
    arguments = measuring.parse(parser)
    from rnnsearch_tf.config import load_config

    built_in = (
        []
        if arguments.config
        else [
            "data.corpus=phrasebook",
            f"data.phrasebook_size={200 if arguments.quick else 20_000}",
        ]
    )
    config = load_config(arguments.config, overrides=[*built_in, *arguments.set])
    if arguments.quick:
        arguments.sizes = ["TINY"]
        arguments.precisions = ["float32"]
    trainings = []
    for size in arguments.sizes:
        for precision in arguments.precisions:
            measuring.say(f"training {size} {precision}")
            trainings.append((f"{size}, {precision}", eaten(size, precision, arguments.repeats)))
    print(
        "Training eats, in pairs a second: "
        + "; ".join(f"{name}: {rate:,.0f}" for name, rate in trainings)
        + ".\n"
    )
    rows = list(pipeline_rows(config, arguments.repeats))
    heads = [
        "batching",
        "epoch",
        "pairs",
        "pairs/s",
        *(f"times what {name} eats" for name, _ in trainings),
    ]
    print(
        measuring.table(heads, [[*row, *(row[-1] / rate for _, rate in trainings)] for row in rows])
    )


if __name__ == "__main__":
    main()
