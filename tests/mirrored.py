"""Two replicas on two logical devices of one processor, under a MirroredStrategy.

    python mirrored.py FOLDER [COMBINATION …]

Writes FOLDER/replicas.npz, the combinations of worker.py by plain ``model.fit``, and
FOLDER/dropped.npy, what a dropout layer of each replica leaves of MANY ones, after it has tried a
loss that is refused, and weights of sentences; or, without any, FOLDER/run, the training of
test_launch.py.
"""

import pathlib
import sys

import numpy as np
import tensorflow as tf

MANY = 200


def dropped(strategy):
    from rnnsearch_tf.layers.dropout import dropout

    layer = dropout(0.5, seed=3)
    draw = tf.function(lambda: strategy.run(lambda: layer(tf.ones([MANY]), training=True)))
    return [strategy.experimental_local_results(draw()) for _ in range(2)]


def refuse_a_loss_of_keras():
    """A loss of logits would count a shared batch several times."""
    from tiny_rnnsearch import PAIRS, dataset, tiny_model

    from rnnsearch_tf.errors import UsageError
    from rnnsearch_tf.runtime.backend import keras

    model = tiny_model("float32")
    model.compile("adam", keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    pairs = dataset([PAIRS]).map(lambda batch: (batch, batch["target_ids"]))
    try:
        model.fit(pairs, verbose=0)
    except UsageError as error:
        assert "expected loss=TranslationLoss() under a strategy" in str(error)
    else:
        raise AssertionError("expected a UsageError, got none")


def weigh_sentences():
    """A dataset of tuples trains as one of dictionaries does."""
    from tiny_rnnsearch import batch, tiny_model

    from rnnsearch_tf.config import TrainingConfig
    from rnnsearch_tf.models import TranslationLoss
    from rnnsearch_tf.training.optimizers import build_optimizer

    weights = np.array([0.0, 2.0, 0.5, 1.0])
    losses = []
    for data in ((batch(), None, weights), {**batch(), "sample_weight": weights}):
        model = tiny_model()
        model.compile(build_optimizer(TrainingConfig()), loss=TranslationLoss())
        pairs = tf.data.Dataset.from_tensors(data)
        losses.append(model.fit(pairs, verbose=0).history["loss"])
    assert losses[0] == losses[1], losses


def main(folder, *names):
    import worker
    from training.test_launch import OPTIONS

    from rnnsearch_tf.config import load_config
    from rnnsearch_tf.training.fit import train
    from rnnsearch_tf.distributed.workers import SingleWorker

    strategy = tf.distribute.MirroredStrategy()
    with strategy.scope():
        if names:
            refuse_a_loss_of_keras()
            weigh_sentences()
            np.save(folder / "dropped.npy", dropped(strategy))
            np.savez(folder / "replicas.npz", **worker.trained(SingleWorker(), names))
            return
        # in the scope: there is one strategy a process
        train(load_config(overrides=OPTIONS), folder / "run", distribute="mirrored")


if __name__ == "__main__":
    tf.config.set_logical_device_configuration(
        tf.config.list_physical_devices("CPU")[0], [tf.config.LogicalDeviceConfiguration()] * 2
    )
    main(pathlib.Path(sys.argv[1]), *sys.argv[2:])
