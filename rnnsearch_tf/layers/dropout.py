"""Dropout whose random state is saved with the weights, so that a training resumes to the bit."""

from __future__ import annotations

from typing import Any

from rnnsearch_tf.runtime.backend import keras


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Dropout(keras.layers.Dropout):
    """Keras's dropout, which alone would begin its random numbers anew in a loaded model."""

    def save_own_variables(self, store: dict[str, Any]) -> None:
        super().save_own_variables(store)
        if self.rate > 0:
            store["seed_state"] = keras.ops.convert_to_numpy(self.seed_generator.state)

    def load_own_variables(self, store: dict[str, Any]) -> None:
        if self.rate > 0 and "seed_state" in store:
            self.seed_generator.state.assign(store["seed_state"])
