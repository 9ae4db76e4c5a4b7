"""The metric that Keras does not have."""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras


class Perplexity(keras.metrics.Mean):
    """exp of the mean negative log-likelihood of a target token."""

    def result(self) -> tf.Tensor:
        return tf.exp(tf.convert_to_tensor(super().result()))
