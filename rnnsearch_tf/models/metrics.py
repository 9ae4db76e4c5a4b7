"""What ``fit`` reports of a translation model."""

import time

import numpy as np
import tensorflow as tf

from rnnsearch_tf.backend import keras


class Perplexity(keras.metrics.Mean):
    """exp of the mean negative log-likelihood of a target word."""

    def result(self):
        return tf.exp(super().result())


class TokensPerSecond(keras.metrics.Metric):
    """Target words (end symbols counted, padding not) a second of wall time, the first batch left out.

    Attributes:
        reads_clock: bool, True; set to False before the first batch where TensorFlow may not read the clock
            (``enable_op_determinism``): :meth:`tick` does it then, called after every batch.
    """

    def __init__(self, name):
        super().__init__(name=name, dtype="float64")
        self.tokens = self.add_weight(name="tokens", initializer="zeros", dtype="float64")
        self.since = self.add_weight(name="since", initializer="zeros", dtype="float64")
        self.now = self.add_weight(name="now", initializer="zeros", dtype="float64")
        self.reads_clock = True

    def update_state(self, tokens):
        started = self.since > 0
        self.tokens.assign_add(tf.where(started, tf.cast(tokens, tf.float64), 0.0))
        if self.reads_clock:
            now = tf.timestamp()
            self.since.assign(tf.where(started, self.since, now))
            self.now.assign(now)

    def tick(self):
        """Read the clock, where an update does not."""
        if not self.reads_clock:
            now = np.array(time.time())  # TensorFlow keeps a tensor of every Python number that it has ever met
            self.since.assign(keras.ops.convert_to_numpy(self.since) or now)
            self.now.assign(now)

    def result(self):
        return tf.math.divide_no_nan(tf.convert_to_tensor(self.tokens), self.now - self.since)
