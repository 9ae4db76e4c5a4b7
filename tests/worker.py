"""One of several workers, or one process alone: trains tiny models on the same batches and keeps
their weights.

    TF_CONFIG=… python worker.py FOLDER NAME…

Writes FOLDER/worker-INDEX.npz: of every named row of COMBINATIONS the weights, the optimizer's
numbers, and what ``fit`` and ``evaluate`` reported; and FOLDER/sums-INDEX.npz, the sums of
:func:`gradients` sent in bfloat16.
"""

import os
import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf
from tiny_rnnsearch import SOURCE_SIZE, TARGET_SIZE
from tiny_systems import fresh_system

POISON = 5
"""A target word whose loss is not a number, in the rows that say so."""

COMBINATIONS = {  # name: (system, options of the training section, whether the poison works)
    "sum": (
        "rnnsearch",
        dict(loss_reduction="sum", optimizer="adadelta", global_clipnorm=0.5),
        False,
    ),
    "batch_mean": (
        "rnnsearch",
        dict(
            loss_reduction="batch_mean", optimizer="adam", learning_rate=0.01, label_smoothing=0.1
        ),
        False,
    ),
    "accumulate": (
        "rnnsearch",
        dict(loss_reduction="token_mean", optimizer="sgd", accumulate=2, global_clipnorm=0.1),
        False,
    ),
    "skip": (
        "cslm",
        dict(loss_reduction="token_mean", optimizer="adam", non_finite_gradient="skip"),
        True,
    ),
    "decay_weights": (
        "cslm",
        dict(loss_reduction="sum", optimizer="adadelta", non_finite_gradient="decay_weights"),
        True,
    ),
    "traced": (
        "cslm",
        dict(loss_reduction="token_mean", optimizer="adam", global_clipnorm=0.1),
        False,
    ),
}

SENT_ALONE = "sum", "traced"
"""Rows of which every gradient is sent as a large one is: by itself, of an embedding only the rows
of words that are there.
"""


def batches():
    """Batches of several lengths; some have fewer rows than there are workers, and their shares
    differ in words. The last has all words, and padding, in both halves.
    """
    generator = np.random.default_rng(4)
    for size, longest in ((5, 6), (4, 3), (1, 7), (6, 4), (2, 2), (3, 5)):
        sides = {}
        for name, words in (("source_ids", SOURCE_SIZE), ("target_ids", TARGET_SIZE)):
            ids = generator.integers(3, words, (size, longest)).astype(np.int32)
            for row in ids:
                end = generator.integers(longest)
                row[end] = 1
                row[end + 1 :] = 0
            sides[name] = ids
        yield sides
    yield {
        name: (
            np.stack(
                [
                    [*generator.permutation(np.arange(2, words)), *end]
                    for end in ((1, 0), (1, 0), (2, 1), (2, 1))
                ]
            ).astype(np.int32)
        )
        for name, words in (("source_ids", SOURCE_SIZE), ("target_ids", TARGET_SIZE))
    }


def dataset(worker, workers):
    from rnnsearch_tf.data.batching import share

    signature = {
        name: tf.TensorSpec([None, None], tf.int32) for name in ("source_ids", "target_ids")
    }
    whole = tf.data.Dataset.from_generator(batches, output_signature=signature)
    return whole if workers == 1 else whole.map(lambda batch: share(batch, worker, workers))


def poison(model):
    losses = model.token_losses

    def poisoned(inputs, *arguments, **options):
        bad = tf.reduce_any(inputs["target_ids"] == POISON)
        return tuple(
            tf.where(bad, tf.constant(np.nan, values.dtype), values)
            for values in losses(inputs, *arguments, **options)
        )

    model.token_losses = poisoned


def trained(workers, names):
    """{name: array} after two epochs of every named combination; ``NAME start``: the first weight
    before them.
    """
    import rnnsearch_tf.distributed.workers
    from rnnsearch_tf.config import load_config
    from rnnsearch_tf.models import TranslationLoss
    from rnnsearch_tf.training.optimizers import build_optimizer

    found = {}
    for name in names:
        rnnsearch_tf.distributed.workers._LARGE = 1 if name in SENT_ALONE else 1 << 16
        system, options, poisoned = COMBINATIONS[name]
        model = fresh_system(system)
        settings = load_config(values={"training": options}).training
        loss = TranslationLoss(
            settings.loss_reduction, settings.label_smoothing, settings.guided_alignment_weight
        )
        # the optimizer is not built: fit does it, under a strategy too
        model.compile(build_optimizer(settings), loss=loss)
        model.run_eagerly = name != "traced"  # tracing takes longer than all the updates
        model.workers = workers
        if poisoned:
            poison(model)
        found[f"{name} start"] = keras.ops.convert_to_numpy(model.trainable_variables[0])
        history = model.fit(dataset(workers.index, workers.count), epochs=2, verbose=0).history
        arrays = [*model.trainable_variables, *model.optimizer.variables]
        found |= {
            f"{name} {number}": keras.ops.convert_to_numpy(array)
            for number, array in enumerate(arrays)
        }
        found |= {
            f"{name} {metric}": np.array(history[metric])
            for metric in ("loss", "perplexity", "gradient_norm")
        }
        evaluated = model.evaluate(dataset(workers.index, workers.count), verbose=0)
        found[f"{name} evaluated"] = np.array(evaluated)
    return found


WORDS = 50


def gradients(index):
    """Of worker `index`, NumPy float32: a matrix, a bias, and the rows [N, 6] of an embedding with
    the indices [N] of their words.
    """
    generator = np.random.default_rng(index)

    def normal(*shape):
        return generator.normal(size=shape).astype(np.float32)

    return dict(
        matrix=normal(7, 6),
        bias=normal(6),
        rows=normal(4 + index, 6),
        indices=generator.permutation(WORDS)[: 4 + index],
    )


def sums_in_bfloat16(workers):
    """{name: sum over all workers} of :func:`gradients`."""
    own = gradients(workers.index)
    rows = tf.IndexedSlices(
        tf.constant(own["rows"]), tf.constant(own["indices"]), tf.constant([WORDS, 6])
    )
    workers.exchange_dtype = tf.bfloat16
    sums = tf.function(
        lambda: workers.sums([tf.constant(own["matrix"]), rows, tf.constant(own["bias"])]),
        autograph=False,
    )()
    workers.exchange_dtype = None
    return dict(zip(("matrix", "rows", "bias"), (values.numpy() for values in sums)))


if __name__ == "__main__":
    from rnnsearch_tf.distributed import workers

    workers._LARGE = 20  # so that some of the tiny weights are
    this = workers.join()
    np.savez(pathlib.Path(sys.argv[1], f"sums-{this.index}.npz"), **sums_in_bfloat16(this))
    np.savez(pathlib.Path(sys.argv[1], f"worker-{this.index}.npz"), **trained(this, sys.argv[2:]))
    this.barrier()
    os._exit(0)
