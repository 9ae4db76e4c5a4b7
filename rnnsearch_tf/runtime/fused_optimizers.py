"""Adadelta and Adam by TensorFlow's fused operations: one pass over each weight.

Keras's optimizers compute the same numbers in many passes, and updating 80 million weights is
memory-bound.
"""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.keras_internals import ADADELTA_AVERAGES, ADAM_MOMENTS, variables_of


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Adadelta(keras.optimizers.Adadelta):
    """Adadelta (Zeiler 2012; Bahdanau et al. 2015, B.2: ρ = 0.95, ε = 1e−6, no learning rate).

    E[g²] ← ρ E[g²] + (1−ρ) g²,   Δ = √(E[Δ²] + ε) / √(E[g²] + ε) · g
    θ ← θ − learning_rate · Δ,   E[Δ²] ← ρ E[Δ²] + (1−ρ) Δ²
    """

    def update_step(self, gradient: tf.Tensor, variable: Any, learning_rate: tf.Tensor) -> None:
        gradient = tf.convert_to_tensor(gradient)
        gradient_average, update_average = variables_of(self, variable, ADADELTA_AVERAGES)
        tf.raw_ops.ResourceApplyAdadelta(
            var=_handle(variable),
            accum=_handle(gradient_average),
            accum_update=_handle(update_average),
            lr=tf.cast(learning_rate, gradient.dtype),
            rho=tf.constant(self.rho, gradient.dtype),
            epsilon=tf.constant(self.epsilon, gradient.dtype),
            grad=gradient,
        )


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Adam(keras.optimizers.Adam):
    """Adam (Kingma and Ba 2015), without AMSGrad."""

    def update_step(self, gradient: tf.Tensor, variable: Any, learning_rate: tf.Tensor) -> None:
        gradient = tf.convert_to_tensor(gradient)
        mean, variance = variables_of(self, variable, ADAM_MOMENTS)
        dtype = gradient.dtype
        steps = tf.cast(self.iterations + 1, dtype)
        beta_1 = tf.constant(self.beta_1, dtype)
        beta_2 = tf.constant(self.beta_2, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=_handle(variable),
            m=_handle(mean),
            v=_handle(variance),
            beta1_power=tf.pow(beta_1, steps),
            beta2_power=tf.pow(beta_2, steps),
            lr=tf.cast(learning_rate, dtype),
            beta1=beta_1,
            beta2=beta_2,
            epsilon=tf.constant(self.epsilon, dtype),
            grad=gradient,
        )


def _handle(variable: tf.Variable | keras.Variable) -> tf.Tensor:
    """The resource handle of a TensorFlow or Keras variable."""
    return (variable if isinstance(variable, tf.Variable) else variable.value).handle
