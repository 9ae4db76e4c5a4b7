"""Dropout whose random state is saved with the model, so that a resumed training goes on with it."""

from rnnsearch_tf.backend import keras


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Dropout(keras.layers.Dropout):
    """Keras's dropout; Keras itself starts its random numbers anew when a model is loaded."""

    def random_state(self):
        """Where its random numbers stand, as an array; None where nothing is dropped."""
        return keras.ops.convert_to_numpy(self.seed_generator.state) if self.rate > 0 else None

    def set_random_state(self, state):
        """Go on with the random numbers from what :meth:`random_state` gave."""
        if self.rate > 0 and state is not None:
            self.seed_generator.state.assign(state)

    def save_own_variables(self, store):
        super().save_own_variables(store)
        if self.rate > 0:
            store["seed_state"] = self.random_state()

    def load_own_variables(self, store):
        self.set_random_state(store["seed_state"] if "seed_state" in store else None)
