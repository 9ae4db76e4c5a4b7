"""The update rules, as TensorFlow's fused operations: one pass over each weight.

Keras's own rules give the same numbers in many passes, and updating 80 million weights is bound by
memory. Two things are added: the norm of the gradient, for the log, and what happens when a
gradient is not finite (``training.non_finite_gradient``).
"""

from __future__ import annotations

import tensorflow as tf

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import Config, TrainingConfig, check_value
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.models.translation_model import TranslationLoss, TranslationModel


class _Watched:
    """Mixed into an optimizer: watches the gradient's norm before it is applied.

    Attributes:
        gradient_norm: L2 norm of the last gradient, over all weights, before clipping; NaN where
            the loss is not finite.
    """

    def __init__(self, *arguments, non_finite_gradient="error", **keywords):
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

    def build(self, variables):
        super().build(variables)
        if not hasattr(self, "gradient_norm"):
            self.gradient_norm = tf.Variable(0.0, trainable=False, name="gradient_norm")
        # every replica counts: in a condition they cannot wait for one another
        if tf.distribute.get_strategy().num_replicas_in_sync > 1:
            self._iterations.value._aggregation = tf.VariableAggregation.NONE

    def apply(self, grads, trainable_variables=None, objective=None):
        """Update the weights, unless the gradient, or the objective that it is of, has NaN or Inf.

        ``error`` and ``skip`` leave weights and optimizer state as they are (the training
        driver then stops, or goes on); ``decay_weights`` takes 0.1·θ as the gradient of every
        weight θ, not cut, as the authors' program did.
        """
        if not self.built:
            self.build(trainable_variables)
        weights = (
            trainable_variables if trainable_variables is not None else self._trainable_variables
        )
        # those of embeddings are IndexedSlices
        grads = [tf.convert_to_tensor(gradient) for gradient in grads]
        self._norm = tf.linalg.global_norm(grads)
        if objective is not None:
            self._norm = tf.where(
                tf.math.is_finite(objective),
                self._norm,
                tf.constant(float("nan"), self._norm.dtype),
            )
        self.gradient_norm.assign(tf.cast(self._norm, tf.float32))
        update = super().apply

        def usual():
            self._cut = True
            update(grads, trainable_variables)
            return tf.constant(0)

        def decay_weights():
            self._cut = False
            update([0.1 * tf.convert_to_tensor(weight) for weight in weights], trainable_variables)
            return tf.constant(0)

        otherwise = (
            decay_weights if self.non_finite_gradient == "decay_weights" else lambda: tf.constant(0)
        )
        tf.cond(tf.math.is_finite(self._norm), usual, otherwise)

    def _backend_update_step(self, grads, trainable_variables, learning_rate):
        """Every replica's own weights; Keras would sum the gradients, which are sums over all
        replicas already.
        """
        for gradient, weight in zip(grads, trainable_variables):
            self.update_step(gradient, weight, learning_rate)

    def _backend_increment_gradient_accumulators(self, grads, acc_grads):
        for gradient, total in zip(grads, acc_grads):
            total.assign_add(gradient)

    def _clip_gradients(self, grads):
        if not self._cut:
            return grads
        if self.global_clipnorm and not self.gradient_accumulation_steps:  # the norm is known
            return tf.clip_by_global_norm(grads, self.global_clipnorm, use_norm=self._norm)[0]
        return super()._clip_gradients(grads)

    def get_config(self):
        return super().get_config() | {"non_finite_gradient": self.non_finite_gradient}


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Adadelta(_Watched, keras.optimizers.Adadelta):
    """Adadelta (Zeiler 2012; Bahdanau et al. 2015, B.2: ρ = 0.95, ε = 1e−6, no learning rate).

    E[g²] ← ρ E[g²] + (1−ρ) g²,   Δ = √(E[Δ²] + ε) / √(E[g²] + ε) · g
    θ ← θ − learning_rate · Δ,   E[Δ²] ← ρ E[Δ²] + (1−ρ) Δ²
    """

    def update_step(self, grad, variable, learning_rate):
        index = self._get_variable_index(variable)
        tf.raw_ops.ResourceApplyAdadelta(
            var=_handle(variable),
            accum=_handle(self._accumulated_grads[index]),
            accum_update=_handle(self._accumulated_delta_vars[index]),
            lr=tf.cast(learning_rate, grad.dtype),
            rho=tf.constant(self.rho, grad.dtype),
            epsilon=tf.constant(self.epsilon, grad.dtype),
            grad=grad,
        )


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class Adam(_Watched, keras.optimizers.Adam):
    """Adam (Kingma and Ba 2015); not in the papers, what small corpora are trained with."""

    def update_step(self, gradient, variable, learning_rate):
        if self.amsgrad:  # TensorFlow has no fused operation for it
            super().update_step(gradient, variable, learning_rate)
            return
        index = self._get_variable_index(variable)
        dtype = gradient.dtype
        steps = tf.cast(self.iterations + 1, dtype)
        beta_1 = tf.constant(self.beta_1, dtype)
        beta_2 = tf.constant(self.beta_2, dtype)
        tf.raw_ops.ResourceApplyAdam(
            var=_handle(variable),
            m=_handle(self._momentums[index]),
            v=_handle(self._velocities[index]),
            beta1_power=tf.pow(beta_1, steps),
            beta2_power=tf.pow(beta_2, steps),
            lr=tf.cast(learning_rate, dtype),
            beta1=beta_1,
            beta2=beta_2,
            epsilon=tf.constant(self.epsilon, dtype),
            grad=gradient,
        )


@keras.saving.register_keras_serializable(package="rnnsearch_tf")
class SGD(_Watched, keras.optimizers.SGD):
    """Stochastic gradient descent, as Keras has it."""


def _handle(variable):
    """The handle of TensorFlow's variable; Keras hands out its own kind in places."""
    return (variable if isinstance(variable, tf.Variable) else variable.value).handle


def build_optimizer(config: TrainingConfig) -> keras.optimizers.Optimizer:
    """The optimizer of a TrainingConfig, every number of it explicit.

    Args:
        config: TrainingConfig.

    Returns:
        keras.optimizers.Optimizer.
    """
    common = dict(
        learning_rate=config.learning_rate,
        global_clipnorm=config.global_clipnorm,
        gradient_accumulation_steps=config.accumulate if config.accumulate > 1 else None,
        non_finite_gradient=config.non_finite_gradient,
    )
    if config.optimizer == "adadelta":
        return Adadelta(rho=config.rho, epsilon=config.epsilon, **common)
    if config.optimizer == "adam":
        return Adam(beta_1=config.beta_1, beta_2=config.beta_2, epsilon=config.epsilon, **common)
    return SGD(momentum=config.momentum, **common)


def compile_model(model: TranslationModel, config: Config) -> None:
    """``model.compile`` with what the configuration says."""
    training = config.training
    model.compile(
        optimizer=build_optimizer(training),
        loss=TranslationLoss(
            training.loss_reduction, training.label_smoothing, training.guided_alignment_weight
        ),
    )
    # or the graph of an update is traced a second time once they are there
    model.optimizer.build(model.trainable_variables)
