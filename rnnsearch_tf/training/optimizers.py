"""The optimizer and the loss that a configuration names."""

from __future__ import annotations

from typing import Any

from rnnsearch_tf.config import Config, TrainingConfig
from rnnsearch_tf.models.loss import TranslationLoss
from rnnsearch_tf.models.translation_model import TranslationModel
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.runtime.fused_optimizers import Adadelta, Adam


def build_optimizer(config: TrainingConfig) -> keras.optimizers.Optimizer:
    """Build the optimizer that the ``training`` section of a configuration names."""
    common: dict[str, Any] = dict(
        learning_rate=config.learning_rate, global_clipnorm=config.global_clipnorm
    )
    if config.optimizer == "adadelta":
        return Adadelta(rho=0.95, epsilon=1e-6, **common)
    if config.optimizer == "adam":
        return Adam(beta_1=0.9, beta_2=0.999, epsilon=1e-8, **common)
    return keras.optimizers.SGD(**common)


def build_loss(config: TrainingConfig) -> TranslationLoss:
    """Build the loss that the ``training`` section of a configuration describes."""
    return TranslationLoss(
        config.loss_reduction, config.label_smoothing, config.non_finite_gradient
    )


def compile_model(model: TranslationModel, config: Config) -> None:
    """``model.compile`` with the optimizer and the loss of the configuration."""
    model.compile(build_optimizer(config.training), loss=build_loss(config.training))
    # optimizer variables created during the first update would cause a second trace
    model.optimizer.build(model.trainable_variables)
