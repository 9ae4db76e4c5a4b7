"""The recurrences whose gradients are written by hand, beside TensorFlow's gradient of the same
recurrence through ``scan``.

    python benchmarks/kernels.py [--sizes SMALL PAPER] [--precisions float32 mixed_bfloat16]
    [--repeats 9]

One forward and one backward pass of a batch of 80 sentences, either way in turns. The first ratio
is the median of the rounds' ratios of wall time, the second that of processor time, which a busy
machine disturbs less. A kernel is kept where it is at least 1.15 times as fast in one of the
precisions (``layers/kernels/__init__.py`` chooses).
"""

import time

import measuring
from measuring import median

SIZES = {"TINY": (3, 4, 2, 3), "SMALL": (256, 256, 80, 20), "PAPER": (620, 1000, 80, 30)}
"""m, n, sentences, length of either side."""


def cases(size, precision):
    """Rows: name, function that runs the recurrence, variables that gradients are taken of."""
    import numpy as np
    import tensorflow as tf

    from rnnsearch_tf.layers import Decoder, Encoder
    from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit

    m, n, batch, length = SIZES[size]
    random = np.random.default_rng(1)

    def numbers(width):
        return tf.constant(random.normal(size=(batch, length, width)), tf.float32)

    mask = tf.sequence_mask(random.integers(length // 2, length + 1, batch), length)
    options = dict(initialization="variance_preserving", dtype=precision)
    words = numbers(m)
    annotations = numbers(2 * n)

    encoder = Encoder(n, **options)
    encoder.build(words.shape)
    yield "encoder, both directions (gru)", lambda: encoder(words, mask), values(encoder)

    for kind in ("gru", "lstm"):
        unit = RecurrentUnit(n, kind, **options)
        unit.build(m)
        state = unit.initial_state(tf.zeros([batch, n]))
        inputs = tf.Variable(unit.inputs(words))

        def run(unit=unit, inputs=inputs, state=state):
            return unit.all_steps(tf.identity(inputs), state, mask)["state"]

        yield (
            kind,
            run,
            [
                inputs,
                *(
                    weight.value
                    for weight in unit.trainable_variables
                    if weight.name.startswith("U")
                ),
            ],
        )

    decoder = Decoder(n, n, **options)
    decoder.build(words.shape, annotations.shape)
    yield (
        "decoder (attending_gru)",
        lambda: tf.concat(decoder(words, annotations, mask)[:2], -1),
        values(decoder),
    )


def values(layer):
    return [weight.value for weight in layer.trainable_variables]


def passes(run, variables):
    """A graph of one forward and one backward pass of ``run``, traced."""
    import tensorflow as tf

    @tf.function(autograph=False)
    def graph():
        with tf.GradientTape() as tape:
            values = run()
            loss = tf.reduce_sum(values * values)
        return [loss, *tape.gradient(loss, variables)]

    graph(), graph()
    return graph


def timed(graph):
    """(wall time, processor time) of one call, in seconds."""
    wall = time.perf_counter()
    processor = time.process_time()
    float(graph()[0])
    return time.perf_counter() - wall, time.process_time() - processor


def measure(size, precision, repeats):
    """Rows: recurrence, milliseconds by the kernel, by scan, ratio of wall times, ratio of
    processor times.
    """
    from rnnsearch_tf.layers.kernels import KERNELS

    kernels = dict(KERNELS)
    for name, run, variables in cases(size, precision):
        by_hand = passes(run, variables)
        KERNELS.clear()
        by_scan = passes(run, variables)
        KERNELS.update(kernels)
        hand, scan = zip(*((timed(by_hand), timed(by_scan)) for _ in range(repeats)))
        wall, processor = ([b[k] / a[k] for a, b in zip(hand, scan)] for k in range(2))
        yield (
            name,
            *(1000 * median(time for time, _ in times) for times in (hand, scan)),
            median(wall),
            median(processor),
        )


def main():
    parser = measuring.parser(__doc__)
    parser.add_argument("--sizes", nargs="+", default=["SMALL", "PAPER"], help="(%(default)s)")
    parser.add_argument(
        "--precisions", nargs="+", default=["float32", "mixed_bfloat16"], help="(%(default)s)"
    )
    arguments = measuring.parse(parser)
    if arguments.quick:
        arguments.sizes = ["TINY"]
    heads = [
        "size",
        "precision",
        "recurrence",
        "by hand, ms",
        "by scan, ms",
        "ratio",
        "ratio of processor time",
    ]
    with measuring.printed(heads) as rows:
        for size in arguments.sizes:
            for precision in arguments.precisions:
                measuring.say(f"{size} {precision}")
                rows += [
                    [size, precision, *row] for row in measure(size, precision, arguments.repeats)
                ]


if __name__ == "__main__":
    main()
