"""What a shortlist saves: searches among all words and among likely ones, in turns.

    python benchmarks/shortlist.py [--sizes SMALL PAPER] [--beams 1 12] [--batches 1 64]

Random weights; source words and their 20 likely translations are drawn as words of a language are,
the r-th most frequent with probability ~ 1 / r, and the 1,000 first are always allowed. Every
output has the size's target length. What a shortlist costs in BLEU is said by `rnnsearch evaluate
--shortlist`.
"""

import measuring
from measuring import median

FREQUENT = 1_000
TRANSLATIONS = 20


def zipf(generator, vocabulary_size, shape):
    """Ids beyond the special tokens, int32."""
    import numpy as np

    weights = 1 / np.arange(1, vocabulary_size - 2)
    return generator.choice(np.arange(3, vocabulary_size), shape, p=weights / weights.sum()).astype(
        np.int32
    )


def measure(model, size, beams, batches, repeats):
    """Rows: beam, batch, words of a batch, milliseconds of a search among all words, among those,
    ratio.
    """
    import numpy as np

    import sizes
    from rnnsearch_tf.search.graphs import search_graph
    from rnnsearch_tf.search.shortlist import Shortlist

    generator = np.random.default_rng(1)
    words = size.vocabulary_size
    shortlist = Shortlist(zipf(generator, words, [words, TRANSLATIONS]), FREQUENT, words)
    options = sizes.fixed_length(size.source_length, size.target_length)
    for beam in beams:
        config = sizes.configuration(size, beam_size=beam, **options).search
        graphs = {
            "all": search_graph(model, config),
            "likely": search_graph(model, config, 1, shortlist),
        }
        for batch_size in batches:
            ids = zipf(generator, words, [batch_size, size.source_length])
            ids[:, -1] = 1
            tasks = {
                name: lambda graph=graph: [value.numpy() for value in graph(ids)]
                for name, graph in graphs.items()
            }
            times = measuring.in_turns(tasks, repeats)
            ratio = median(a / b for a, b in zip(*times.values()))
            yield [
                beam,
                batch_size,
                shortlist(ids)[0].shape[0],
                *(1000 * median(values) for values in times.values()),
                ratio,
            ]


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--sizes", nargs="+", default=["SMALL", "PAPER"], help="(%(default)s)")
    parser.add_argument(
        "--system", default="rnnsearch", help="a row of sizes.SYSTEMS (%(default)s)"
    )
    parser.add_argument("--beams", type=int, nargs="+", default=[1, 12], help="(%(default)s)")
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 64], help="(%(default)s)")
    arguments = measuring.parse(parser)
    if arguments.quick:
        arguments.sizes = ["TINY"]
        arguments.beams = [2]
        arguments.batches = [3]
    import sizes
    from rnnsearch_tf.models import build_model

    with measuring.printed(
        ["size", "beam", "batch", "words", "among all, ms", "with it, ms", "ratio"]
    ) as rows:
        for name in arguments.sizes:
            size = sizes.SIZES[name]
            model = build_model(
                sizes.configuration(size, arguments.system),
                size.vocabulary_size,
                size.vocabulary_size,
            )
            rows.extend(
                [name, *row]
                for row in measure(
                    model, size, arguments.beams, arguments.batches, arguments.repeats
                )
            )


if __name__ == "__main__":
    main()
