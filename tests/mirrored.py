"""Two replicas on two logical devices of one processor, under a MirroredStrategy.

    python mirrored.py FOLDER [COMBINATION …]

Writes FOLDER/replicas.npz, :func:`trained` of the combinations; or, without any, FOLDER/run, a
training by OPTIONS.
"""

import pathlib
import sys

import keras
import numpy as np
import tensorflow as tf
from killed import LANGUAGE_MODEL, SETTINGS

OPTIONS = [
    *SETTINGS,
    *LANGUAGE_MODEL,
    "model.embedding_dropout=0",
    "training.precision=float64",
    "training.epochs=6",
    "data.batch_size=11",
]
"""Of 60 pairs the last batch has five; the buckets make batches of one pair."""

POISON = 5
"""A target word whose loss is not a number, in the row that says so."""

COMBINATIONS = {  # name: (system, options of the training section)
    "sum": ("rnnsearch", dict(loss_reduction="sum", optimizer="adadelta", global_clipnorm=0.5)),
    "batch_mean": (
        "rnnsearch",
        dict(
            loss_reduction="batch_mean", optimizer="adam", learning_rate=0.01, label_smoothing=0.1
        ),
    ),
    "decay_weights": (  # with the poison
        "cslm",
        dict(loss_reduction="sum", optimizer="adadelta", non_finite_gradient="decay_weights"),
    ),
    "traced": ("cslm", dict(loss_reduction="token_mean", optimizer="adam", global_clipnorm=0.1)),
}


def batches():
    """Batches of several lengths; one has fewer rows than there are replicas, and their shares
    differ in words. The last has all words, and padding, in both halves.
    """
    from tiny_rnnsearch import SOURCE_SIZE, TARGET_SIZE

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


def poison(model):
    from rnnsearch_tf.models.translation_model import ids_of

    losses = model.token_losses

    def poisoned(inputs, *arguments, **options):
        _, target_ids = ids_of(inputs)
        bad = tf.reduce_any(target_ids == POISON)
        return tuple(
            values * tf.cast(tf.where(bad, np.nan, 1.0), values.dtype)  # gradients too
            for values in losses(inputs, *arguments, **options)
        )

    model.token_losses = poisoned


def trained(names):
    """{name: array} after two epochs of plain ``model.fit`` of every named combination; ``NAME
    start``: the first weight before them.
    """
    from tiny_systems import fresh_system

    from rnnsearch_tf.config import load_config
    from rnnsearch_tf.models import TranslationLoss
    from rnnsearch_tf.training.optimizers import build_optimizer

    signature = {
        name: tf.TensorSpec([None, None], tf.int32) for name in ("source_ids", "target_ids")
    }
    dataset = tf.data.Dataset.from_generator(batches, output_signature=signature)
    found = {}
    for name in names:
        system, options = COMBINATIONS[name]
        keras.utils.set_random_seed(3)
        model = fresh_system(system)
        settings = load_config(values={"training": options}).training
        loss = TranslationLoss(
            settings.loss_reduction, settings.label_smoothing, settings.non_finite_gradient
        )
        # the optimizer is not built: fit does it, under a strategy too
        model.compile(build_optimizer(settings), loss=loss)
        model.run_eagerly = name != "traced"  # tracing takes longer than all the updates
        if name == "decay_weights":
            poison(model)
        found[f"{name} start"] = keras.ops.convert_to_numpy(model.trainable_variables[0])
        history = model.fit(dataset, epochs=2, verbose=0).history
        arrays = [*model.trainable_variables, *model.optimizer.variables]
        found |= {
            f"{name} {number}": keras.ops.convert_to_numpy(array)
            for number, array in enumerate(arrays)
        }
        found |= {
            f"{name} {metric}": np.array(history[metric])
            for metric in ("loss", "perplexity", "gradient_norm")
        }
        found[f"{name} evaluated"] = np.array(model.evaluate(dataset, verbose=0))
    return found


def main(folder, *names):
    from rnnsearch_tf.config import load_config
    from rnnsearch_tf.training.fit import train

    if not names:
        train(load_config(overrides=OPTIONS), folder / "run", distribute="mirrored")
        return
    with tf.distribute.MirroredStrategy().scope():
        np.savez(folder / "replicas.npz", **trained(names))


if __name__ == "__main__":
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
