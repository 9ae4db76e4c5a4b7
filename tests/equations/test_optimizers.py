"""Update rules against NumPy, step by step, in float64."""

import dataclasses
import functools

import numpy as np
import pytest
import tensorflow as tf
from reference import optimizers
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.runtime import fused_optimizers as rules
from rnnsearch_tf.training.optimizers import build_optimizer

SHAPES = [(2, 3), (4,), (1, 1)]


def optimizer(**options):
    return build_optimizer(dataclasses.replace(TrainingConfig(), **options))


def fresh_weights(seed=0):
    generator = np.random.default_rng(seed)
    return [keras.Variable(generator.normal(size=shape), dtype="float64") for shape in SHAPES]


def gradients_of_step(step):
    """Of very different lengths: every third is small enough not to be cut."""
    generator = np.random.default_rng(100 + step)
    return [generator.normal(scale=(3.0, 0.02, 1e-4)[step % 3], size=shape) for shape in SHAPES]


def follow(rule, reference, steps=8):
    weights = fresh_weights()
    values = [weight.numpy() for weight in weights]
    rule.build(weights)
    for step in range(steps):
        gradients = gradients_of_step(step)
        rule.apply([tf.constant(gradient) for gradient in gradients], weights)
        values = reference.update(values, gradients)
        for weight, value in zip(weights, values):
            np.testing.assert_allclose(weight.numpy(), value, rtol=0, atol=1e-10)


@pytest.mark.parametrize("clip", (1.0, None))
def test_adadelta(clip):
    rule = optimizer(optimizer="adadelta", global_clipnorm=clip)
    follow(rule, optimizers.Adadelta(rho=0.95, epsilon=1e-6, clip=clip))


def test_adam():
    rule = optimizer(optimizer="adam", learning_rate=2.0**-7, global_clipnorm=1.0)
    follow(
        rule,
        optimizers.Adam(learning_rate=2.0**-7, beta_1=0.9, beta_2=0.999, epsilon=1e-8, clip=1.0),
    )


def test_sgd():
    rule = optimizer(optimizer="sgd", learning_rate=2.0**-4, global_clipnorm=1.0)
    follow(rule, optimizers.SGD(learning_rate=2.0**-4, clip=1.0))


OURS = {  # name: numbers that float32, of Keras, has exactly
    "Adadelta": dict(learning_rate=0.5, rho=0.875, epsilon=2.0**-10),
    "Adam": dict(learning_rate=2.0**-6, beta_1=0.875, beta_2=0.96875, epsilon=2.0**-10),
}
KERAS_ARGUMENTS = [
    dict(weight_decay=0.25),
    dict(clipnorm=0.5),
    dict(clipvalue=0.25),
    dict(global_clipnorm=0.5),
    dict(use_ema=True, ema_momentum=0.5),
    dict(use_ema=True, ema_momentum=0.75, ema_overwrite_frequency=2),
    dict(learning_rate=keras.optimizers.schedules.ExponentialDecay(0.5, 1, 0.5)),
]


def applied(rule, weights, *gradients):
    rule.apply(list(gradients), weights)


@pytest.mark.parametrize("name", OURS)
def test_an_argument_of_keras_has_the_effect_of_keras(name):
    """Each one, in a graph as fit has it; the moving averages too."""
    for argument in KERAS_ARGUMENTS:
        ends = []
        for module in (rules, keras.optimizers):
            rule = getattr(module, name)(**(OURS[name] | argument))
            weights = fresh_weights()
            rule.build(weights)
            update = tf.function(functools.partial(applied, rule, weights), autograph=False)
            for step in range(4):
                update(*map(tf.constant, gradients_of_step(step)))
            rule.finalize_variable_values(weights)
            ends.append([weight.numpy() for weight in weights])
        plain = getattr(keras.optimizers, name)(**OURS[name])
        start = fresh_weights()
        for step in range(4):
            plain.apply([tf.constant(gradient) for gradient in gradients_of_step(step)], start)
        for ours, theirs, without in zip(*ends, start):
            np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-9, err_msg=str(argument))
        assert any(
            np.abs(theirs - without.numpy()).max() > 1e-6 for theirs, without in zip(ends[1], start)
        ), argument
