"""Optimizers that use TensorFlow's fused operations: one pass over each weight.

Keras's optimizers compute the same numbers in many passes, and updating 80 million weights is
memory-bound. Two things are added: the gradient norm, for the log, and the handling of gradients
that are not finite (``training.non_finite_gradient``).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import Config, TrainingConfig, check_value
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.models.keras_fit import with_gradients
from rnnsearch_tf.models.loss import TranslationLoss
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runtime.keras_internals import (
    ADADELTA_AVERAGES,
    ADAM_MOMENTS,
    OptimizerSteps,
)
from rnnsearch_tf.runtime.tensorflow_internals import apply_adadelta, apply_adam


class _ChecksGradient(OptimizerSteps):
    """Base of an optimizer that checks the gradient before applying it.

    Attributes:
        gradient_norm: tf.Variable float32 [], L2 norm of the last gradient over all weights, before
            clipping; NaN if the objective is not finite.
    """

    def __init__(
        self, *arguments: Any, non_finite_gradient: str = "error", **keywords: Any
    ) -> None:
        super().__init__(*arguments, **keywords)
        if self.loss_scale_factor is not None:
            raise UsageError(
                f"{type(self).__name__}: expected no loss_scale_factor, got"
                f" {self.loss_scale_factor}; use keras.optimizers.{type(self).__name__}, or"
                " LossScaleOptimizer around this one"
            )
        self.non_finite_gradient = check_value(
            "training.non_finite_gradient", non_finite_gradient, "non_finite_gradient"
        )

    def build(self, variables: Sequence[keras.Variable]) -> None:
        super().build(variables)
        if not hasattr(self, "gradient_norm"):
            self.gradient_norm = tf.Variable(0.0, trainable=False, name="gradient_norm")
        if tf.distribute.get_strategy().num_replicas_in_sync > 1:
            self.count_in_every_replica()

    def apply(
        self,
        grads: Sequence[tf.Tensor | tf.IndexedSlices],
        trainable_variables: Sequence[keras.Variable] | None = None,
        objective: tf.Tensor | None = None,
    ) -> None:
        """Clip the gradient and update the weights, if gradient and objective are finite.

        If they are not, ``error`` leaves the weights and the optimizer state unchanged, and ``fit``
        stops. ``decay_weights`` updates with 0.1·θ, unclipped, as the gradient of every weight θ,
        as the authors' program does.

        Args:
            grads: gradients of the weights.
            trainable_variables: the weights; None: those that the optimizer was built with.
            objective: float [], the value whose gradient this is; None: only the gradient is
                checked.
        """
        if trainable_variables is not None and not self.built:
            self.build(trainable_variables)
        weights = (
            trainable_variables if trainable_variables is not None else self.weights_when_built
        )
        grads, weights = with_gradients(grads, weights)
        # those of embeddings are IndexedSlices
        gradients = [tf.convert_to_tensor(gradient) for gradient in grads]
        norm = tf.linalg.global_norm(gradients)
        if objective is not None:
            norm = tf.where(
                tf.math.is_finite(objective), norm, tf.constant(float("nan"), norm.dtype)
            )
        self.gradient_norm.assign(tf.cast(norm, tf.float32))
        update = super().apply

        def clipped_update() -> tf.Tensor:
            update(self._clipped(gradients, norm), weights)
            return tf.constant(0)

        def decay_weights() -> tf.Tensor:
            update([0.1 * tf.convert_to_tensor(weight) for weight in weights], weights)
            return tf.constant(0)

        otherwise = (
            decay_weights if self.non_finite_gradient == "decay_weights" else lambda: tf.constant(0)
        )
        tf.cond(tf.math.is_finite(norm), clipped_update, otherwise)

    def _clipped(self, gradients: list[tf.Tensor], norm: tf.Tensor) -> list[tf.Tensor]:
        """Clip the gradients of an update."""
        if self.global_clipnorm:
            clipped, _ = tf.clip_by_global_norm(gradients, self.global_clipnorm, use_norm=norm)
            return clipped
        return self.clip(gradients)

    def get_config(self) -> dict[str, Any]:
        return super().get_config() | {"non_finite_gradient": self.non_finite_gradient}


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Adadelta(_ChecksGradient, keras.optimizers.Adadelta):
    """Adadelta (Zeiler 2012; Bahdanau et al. 2015, B.2: ρ = 0.95, ε = 1e−6, no learning rate).

    E[g²] ← ρ E[g²] + (1−ρ) g²,   Δ = √(E[Δ²] + ε) / √(E[g²] + ε) · g
    θ ← θ − learning_rate · Δ,   E[Δ²] ← ρ E[Δ²] + (1−ρ) Δ²
    """

    def update_step(
        self, grad: tf.Tensor, variable: keras.Variable, learning_rate: tf.Tensor
    ) -> None:
        gradient_average, update_average = self.variables_of(variable, ADADELTA_AVERAGES)
        apply_adadelta(
            var=_handle(variable),
            accum=_handle(gradient_average),
            accum_update=_handle(update_average),
            lr=tf.cast(learning_rate, grad.dtype),
            rho=tf.constant(self.rho, grad.dtype),
            epsilon=tf.constant(self.epsilon, grad.dtype),
            grad=grad,
        )


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Adam(_ChecksGradient, keras.optimizers.Adam):
    """Adam (Kingma and Ba 2015); not used by the papers, but good for small corpora."""

    def update_step(
        self, gradient: tf.Tensor, variable: keras.Variable, learning_rate: tf.Tensor
    ) -> None:
        if self.amsgrad:  # TensorFlow has no fused operation for it
            super().update_step(gradient, variable, learning_rate)
            return
        mean, variance = self.variables_of(variable, ADAM_MOMENTS)
        dtype = gradient.dtype
        steps = tf.cast(self.iterations + 1, dtype)
        beta_1 = tf.constant(self.beta_1, dtype)
        beta_2 = tf.constant(self.beta_2, dtype)
        apply_adam(
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


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class SGD(_ChecksGradient, keras.optimizers.SGD):
    """Stochastic gradient descent with Keras's update rule."""


def _handle(variable: tf.Variable | keras.Variable) -> tf.Tensor:
    """The resource handle of a TensorFlow or Keras variable."""
    return (variable if isinstance(variable, tf.Variable) else variable.value).handle


def check_training_section(name: str, config: Any) -> None:
    """Raise UsageError if something else than the ``training`` section is given, such as the whole
    configuration.
    """
    if not isinstance(config, TrainingConfig):
        raise UsageError(
            f"{name}: expected the training section of a configuration, got"
            f" {type(config).__name__}; give config.training"
        )


def build_optimizer(config: TrainingConfig) -> keras.optimizers.Optimizer:
    """Build the optimizer that a configuration names.

    Raises:
        UsageError: a whole configuration is given instead of its ``training`` section.
    """
    check_training_section("build_optimizer", config)
    common: dict[str, Any] = dict(
        learning_rate=config.learning_rate,
        global_clipnorm=config.global_clipnorm,
        non_finite_gradient=config.non_finite_gradient,
    )
    if config.optimizer == "adadelta":
        return Adadelta(rho=0.95, epsilon=1e-6, **common)
    if config.optimizer == "adam":
        return Adam(beta_1=0.9, beta_2=0.999, epsilon=1e-8, **common)
    return SGD(**common)


def compile_model(model: TranslationModel, config: Config) -> None:
    """``model.compile`` with the optimizer and the loss of the configuration."""
    training = config.training
    model.compile(
        optimizer=build_optimizer(training),
        loss=TranslationLoss(training.loss_reduction, training.label_smoothing),
    )
    # optimizer variables created during the first update would cause a second trace
    model.optimizer.build(model.trainable_variables)
