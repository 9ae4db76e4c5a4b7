"""The metrics that ``fit`` reports for a translation model."""

from __future__ import annotations

import time

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
    """Target tokens (with end symbols, without padding) per second of wall time, without the first
    batch; 0 until the second batch.

    The tokens are counted in the graph. The time is measured in Python by :meth:`tick`, called
    after every batch, because ``enable_op_determinism`` does not allow a clock in the graph.
    """

    _first: tuple[float, float] | None  # time and tokens of the first batch
    _rate: float

    def __init__(self, name: str) -> None:
        super().__init__(name=name, dtype="float64")
        self.tokens = self.add_weight(name="tokens", initializer="zeros", dtype="float64")
        self.reset_clock()

    def update_state(self, tokens: tf.Tensor) -> None:
        self.tokens.assign_add(tf.cast(tokens, tf.float64))

    def tick(self, tokens: float) -> float:
        """Read the clock and return the rate, given the number of tokens since the last reset."""
        now = time.monotonic()
        if self._first is None:
            self._first = now, tokens
        started, left_out = self._first
        self._rate = (tokens - left_out) / (now - started) if now > started else 0.0
        return self._rate

    def result(self) -> float:
        return self._rate

    def reset_state(self) -> None:
        super().reset_state()
        self.reset_clock()

    def reset_clock(self) -> None:
        """Start to measure at the next batch."""
        self._first = None
        self._rate = 0.0
