"""Dropout whose random state is saved with the model, for a resumed training to go on with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras

SEED_STRIDE = 1_000_003
"""The seeds of two workers, or of two replicas, differ by this, so that each drops other values."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Dropout(keras.layers.Dropout):
    """Keras's dropout; Keras itself starts its random numbers anew when a model is loaded."""

    def random_state(self) -> np.ndarray | None:
        """Where its random numbers stand, as an array; None where nothing is dropped."""
        return keras.ops.convert_to_numpy(self.seed_generator.state) if self.rate > 0 else None

    def set_random_state(self, state: np.ndarray | None) -> None:
        """Go on with the random numbers from what :meth:`random_state` gave."""
        if self.rate > 0 and state is not None:
            self.seed_generator.state.assign(state)

    def save_own_variables(self, store: dict[str, Any]) -> None:
        super().save_own_variables(store)
        if self.rate > 0:
            store["seed_state"] = self.random_state()

    def load_own_variables(self, store: dict[str, Any]) -> None:
        self.set_random_state(store["seed_state"] if "seed_state" in store else None)


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class ReplicaDropout(Dropout):
    """Dropout under a strategy with several replicas, each of which drops other values; Keras's
    drops the same in all.
    """

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        if not training or self.rate == 0:
            return inputs
        seed = self.seed_generator.next()
        number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, seed.dtype)
        # as Keras makes 32 bits of 64
        seed = tf.math.floormod(seed + tf.stack([SEED_STRIDE * number, 0]), tf.int32.max - 1)
        return tf.nn.experimental.stateless_dropout(inputs, self.rate, seed=tf.cast(seed, tf.int32))


def dropout(share: float, **options: Any) -> Dropout:
    """The dropout layer for the strategy in whose scope this is called; options as of Keras's."""
    several = tf.distribute.get_strategy().num_replicas_in_sync > 1
    return (ReplicaDropout if several else Dropout)(share, **options)


def vary_dropout(layers: Iterable[Dropout], worker: int) -> None:
    """Let the dropout of a worker draw other numbers than the chief's, from whose state its own
    follows.

    Args:
        layers: Dropout layers, all in the chief's state.
        worker: int, this worker's number.
    """
    for layer in layers:
        state = layer.random_state()
        if state is not None:
            seed, drawn = state
            seed = (int(seed) + SEED_STRIDE * worker) % 2**32
            layer.set_random_state(np.array([seed, drawn], np.uint32))
