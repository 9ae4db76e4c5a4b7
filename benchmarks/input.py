"""Whether training has to wait for its data: pairs a second of the tf.data pipeline, and what
training eats.

    python benchmarks/input.py [--sizes SMALL PAPER]

The first epoch reads, checks, tokenizes and numbers the text, here the built-in phrasebook; later
epochs only shuffle and batch. Training of each size, in the same run, says how many pairs it eats.
"""

import dataclasses
import time
from statistics import median

import measuring

PRECISIONS = ("float32", "mixed_bfloat16")


def epochs(config, texts, pairs):
    """Seconds of the first and the second epoch; nothing is done with the batches."""
    from rnnsearch_tf.data.batches import training_dataset

    start = time.perf_counter()
    dataset = training_dataset(*texts, pairs, config.data)
    for _ in range(2):
        for _ in dataset.as_numpy_iterator():
            pass
        now = time.perf_counter()
        yield now - start
        start = now


def pipeline_rows(size, repeats):
    """[batching, pairs a second of the first epoch, of the second] for each way to batch."""
    from rnnsearch_tf.config import load_config
    from rnnsearch_tf.data.corpus import open_corpus
    from rnnsearch_tf.text.pipeline import build_texts

    text = ["data.corpus=phrasebook", f"data.phrasebook_size={size}", "data.variants=0"]
    config = load_config(overrides=text)
    texts = build_texts(config, open_corpus(config))
    for batching in ("paper", "bucketed", "unsorted"):
        measuring.say(batching)
        data = dataclasses.replace(config.data, batching=batching)
        each = dataclasses.replace(config, data=data)
        turns = [tuple(epochs(each, texts, open_corpus(each))) for _ in range(repeats)]
        yield [batching, *(size / median(seconds) for seconds in zip(*turns))]


def eaten(name, precision, repeats):
    """Pairs a second that training of a size takes."""
    import sizes

    with measuring.Worker("ours.py", size=name, precision=precision) as worker:
        seconds = median(update["seconds"] for update in worker("updates", updates=repeats))
    return sizes.SIZES[name].batch_size / seconds


def main():
    parser = measuring.parser(__doc__)
    arguments = measuring.parse(parser)
    with measuring.printed(["training", "pairs/s"]) as rows:
        for size in arguments.sizes:
            for precision in PRECISIONS:
                measuring.say(f"training {size} {precision}")
                rows.append([f"{size}, {precision}", eaten(size, precision, arguments.repeats)])
    with measuring.printed(["batching", "first epoch, pairs/s", "later, pairs/s"]) as rows:
        rows.extend(pipeline_rows(200 if arguments.quick else 20_000, arguments.repeats))


if __name__ == "__main__":
    main()
