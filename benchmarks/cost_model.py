"""What an update costs, in time and memory, by length, batch and vocabulary; and what the paper's
training costs on another machine.

    taskset -c 1 python benchmarks/cost_model.py --threads 1
    python benchmarks/cost_model.py --hours --rate 40e12 --share 0.3 --price 2.5     the paper's
        training, from three numbers alone

RNNsearch of a Size, trained by ``model.fit`` on random batches without padding, each point in a
process of its own. The formulas are sums of the terms below, fitted to POINTS by least squares of
the relative errors, terms that would be negative left out, and tried on HELD_OUT, which the fit has
not seen. Time is CPU time, which a busy machine changes less; on one core that is left alone it is
the time on the clock. Memory is the process's peak, TensorFlow included.

The hours of the paper's training are its updates times the operations of one (products.py), through
the machine's rate and the share of it that training reaches: the column "share" of training.py, or
Keras's progress bar on the machine itself.
"""

import dataclasses
import json
import sys

import measuring
from measuring import median

POINTS = [
    (10, 20, 2_000),
    (10, 80, 10_000),
    (10, 160, 2_000),
    (10, 40, 30_000),
    (20, 20, 10_000),
    (20, 80, 30_000),
    (20, 160, 10_000),
    (40, 20, 30_000),
    (40, 80, 10_000),
    (60, 60, 10_000),
    (80, 20, 2_000),
    (80, 40, 10_000),
]
HELD_OUT = [(15, 80, 20_000), (25, 120, 10_000), (30, 40, 5_000), (50, 60, 15_000), (70, 30, 8_000)]
"""Tokens of either side, pairs, words of either vocabulary."""

QUICK = [(3, 2, 40), (3, 4, 60), (5, 2, 60)]

TIME = {
    "1": lambda length, batch, words: 1.0,
    "(J + I)": lambda length, batch, words: 2 * length,
    "B (J + I)": lambda length, batch, words: 2 * batch * length,
    "B I J": lambda length, batch, words: batch * length * length,
    "B I V": lambda length, batch, words: batch * length * words,
    "V": lambda length, batch, words: words,
}
"""The update itself; steps of the recurrences; what is done at every position; attention; the
softmax; embeddings and optimizer.
"""

MEMORY = {name: term for name, term in TIME.items() if name != "(J + I)"}

UPDATES = 667_000
BATCH = 80
LENGTH = 25
HOURS = 252
"""Bahdanau et al. 2015, Table 2, RNNsearch-50*: 6.67e5 updates, 252 hours on a Quadro K6000; a
batch as sizes.PAPER has it.
"""


def measure(size, point, repeats):
    """(CPU seconds of an update, GB at the peak), from a process of its own."""
    length, batch, words = point
    lengths = dict(
        source_length=length, target_length=length, batch_size=batch, vocabulary_size=words
    )
    with measuring.Worker(
        [
            sys.executable,
            str(measuring.HERE / "ours.py"),
            json.dumps(dict(size=size, lengths=lengths)),
        ]
    ) as worker:
        return median(row["cpu"] for row in worker("updates", updates=repeats)), worker("memory")


def fitted(terms, points, values):
    """{term: coefficient ≥ 0} of the sum that comes nearest to the values, by relative error."""
    import numpy as np

    names = list(terms)
    while True:
        rows = np.array(
            [
                [terms[name](*point) / value for name in names]
                for point, value in zip(points, values)
            ]
        )
        scale = np.abs(rows).max(axis=0)
        coefficients = np.linalg.lstsq(rows / scale, np.ones(len(rows)), rcond=None)[0] / scale
        if (coefficients >= 0).all():
            return dict(zip(names, coefficients.tolist()))
        names.pop(int(np.argmin(coefficients * scale)))


def predicted(terms, coefficients, point):
    return sum(coefficient * terms[name](*point) for name, coefficient in coefficients.items())


def operations():
    """Of one update of the paper's size."""
    import products
    import sizes
    from rnnsearch_tf.models import build_model

    size = sizes.SIZES["PAPER"]
    config = sizes.configuration(size)
    # in no time; only shapes count
    config = dataclasses.replace(
        config, model=dataclasses.replace(config.model, initialization="uniform")
    )
    model = build_model(config, size.vocabulary_size, size.vocabulary_size)
    return sum(products.training_operations(model, BATCH, LENGTH, LENGTH, BATCH * LENGTH).values())


def hours(each, rate, share, updates=UPDATES):
    """Hours of `updates` updates of `each` operations, on a machine of `rate` operations a second,
    of which training reaches a share.

    Example:
        >>> round(hours(5e11, 1e12, 0.5), 1)
        185.3
    """
    return updates * each / (rate * share) / 3600


def print_hours(arguments):
    each = operations()
    took = hours(each, arguments.rate, arguments.share)
    paper = UPDATES * each / HOURS / 3600
    print(
        f"An update of the paper's size, {BATCH} pairs of {LENGTH} tokens: {each / 1e9:,.0f}"
        " GFLOP. ",
        end="",
    )
    print(
        f"{UPDATES:,} updates in {HOURS} hours, as in Table 2, are {paper / 1e12:.2f} TFLOP/s. At"
        f" {arguments.share:.0%} of {arguments.rate / 1e12:g} TFLOP/s they take ",
        end="",
    )
    print(
        f"{took:,.1f} hours, which cost {took * arguments.price:,.0f} at {arguments.price:g} an"
        " hour."
    )


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument(
        "--size",
        default="SMALL",
        help="embedding, hidden and maxout sizes, of sizes.SIZES (%(default)s)",
    )
    parser.add_argument(
        "--hours", action="store_true", help="only the paper's training, from the following"
    )
    parser.add_argument(
        "--rate",
        type=float,
        default=4e11,
        help="operations a second of one large product on the machine (%(default)g)",
    )
    parser.add_argument(
        "--share",
        type=float,
        default=0.76,
        help="of that rate which training reaches (%(default)g)",
    )
    parser.add_argument(
        "--price", type=float, default=1.0, help="of an hour of the machine (%(default)g)"
    )
    arguments = measuring.parse(parser)
    if arguments.hours:
        return print_hours(arguments)
    size, points, held_out = (
        ("TINY", QUICK, QUICK[:1]) if arguments.quick else (arguments.size, POINTS, HELD_OUT)
    )
    cells = [f"{what}, {unit}" for unit in ("s", "GB") for what in ("measured", "formula", "error")]
    heads = ["tokens of either side", "pairs", "vocabulary", *cells, ""]
    found = []
    formulas = []
    with measuring.printed(heads) as rows:
        for point in [*points, *held_out]:
            measuring.say(f"{size} {point}")
            found.append(measure(size, point, arguments.repeats))
        for terms, values in zip((TIME, MEMORY), zip(*found)):
            formulas.append((terms, fitted(terms, points, values[: len(points)])))
        for number, (point, values) in enumerate(zip([*points, *held_out], found)):
            cells = []
            for value, (terms, coefficients) in zip(values, formulas):
                formula = predicted(terms, coefficients, point)
                cells += [value, formula, f"{100 * (formula / value - 1):+.0f} %"]
            rows.append([*point, *cells, "" if number < len(points) else "held out"])
    for name, (_, coefficients) in zip(("seconds", "GB"), formulas):
        products = (
            f"{value:.3g}" + (f" · {term}" if term != "1" else "")
            for term, value in coefficients.items()
        )
        print(f"{name} = {' + '.join(products)}\n")


if __name__ == "__main__":
    main()
