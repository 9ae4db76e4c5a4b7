"""The metrics that ``fit`` reports for a translation model."""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras


class MeanOrNaN(keras.metrics.Mean):
    """A mean that is NaN if nothing was counted, where that of Keras is 0."""

    def result(self) -> tf.Tensor:
        return tf.convert_to_tensor(self.total) / tf.convert_to_tensor(self.count)


class Perplexity(MeanOrNaN):
    """exp of the mean negative log-likelihood of a target token."""

    def result(self) -> tf.Tensor:
        return tf.exp(super().result())


class TokensPerSecond(keras.metrics.Metric):
    """Target tokens (with end symbols, without padding) per second of the updates and of reading
    their batches, without the first update; 0 until the second. What callbacks do between updates,
    such as an evaluation, is not counted.

    The tokens are counted in the graph. The time is measured in Python and given to :meth:`add`,
    because ``enable_op_determinism`` does not allow a clock in the graph.
    """

    _left_out: float | None  # tokens of the first update
    _seconds: float

    def __init__(self, name: str) -> None:
        super().__init__(name=name, dtype="float64")
        self.tokens = self.add_weight(name="tokens", initializer="zeros", dtype="float64")
        self.reset_clock()

    def update_state(self, tokens: tf.Tensor) -> None:
        self.tokens.assign_add(tf.cast(tokens, tf.float64))

    def add(self, tokens: float, seconds: float) -> float:
        """Count the time of an update, and return the rate.

        Args:
            tokens: number of tokens since the last reset.
            seconds: of the last update.
        """
        if self._left_out is None:
            self._left_out = tokens
        else:
            self._seconds += seconds
            self._rate = (tokens - self._left_out) / self._seconds if self._seconds else 0.0
        return self._rate

    def result(self) -> float:
        return self._rate

    def reset_state(self) -> None:
        super().reset_state()
        self.reset_clock()

    def reset_clock(self) -> None:
        """Start to measure at the next batch."""
        self._left_out = None
        self._seconds = self._rate = 0.0
