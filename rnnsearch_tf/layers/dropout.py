"""Dropout whose random state is saved with the model, so that training can be resumed."""

from __future__ import annotations

from typing import Any

import numpy as np
import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras

SEED_STRIDE = 1_000_003
"""Difference between the seeds of two replicas, so that each drops other values."""


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Dropout(keras.layers.Dropout):
    """Dropout that saves its random state; Keras restarts the random numbers of a loaded model."""

    def random_state(self) -> np.ndarray | None:
        """State of the random number generator, as an array; None if the rate is 0."""
        return keras.ops.convert_to_numpy(self.seed_generator.state) if self.rate > 0 else None

    def set_random_state(self, state: np.ndarray | None) -> None:
        """Restore a state from :meth:`random_state`."""
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
    """Dropout that drops different values in each replica of a strategy; Keras's dropout drops the
    same values in all of them.
    """

    def call(self, inputs: tf.Tensor, training: bool = False) -> tf.Tensor:
        if not training or self.rate == 0:
            return inputs
        seed = self.seed_generator.next()
        number = tf.cast(tf.distribute.get_replica_context().replica_id_in_sync_group, seed.dtype)
        # reduced to 32 bits as Keras does it
        seed = tf.math.floormod(seed + tf.stack([SEED_STRIDE * number, 0]), tf.int32.max - 1)
        return tf.nn.experimental.stateless_dropout(inputs, self.rate, seed=tf.cast(seed, tf.int32))


def dropout(rate: float, **options: Any) -> Dropout:
    """The dropout layer for the current distribution strategy; options of Keras's Dropout."""
    several = tf.distribute.get_strategy().num_replicas_in_sync > 1
    return (ReplicaDropout if several else Dropout)(rate, **options)
