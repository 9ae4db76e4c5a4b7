"""Update rules against NumPy, step by step, in float64."""

import dataclasses
import functools

import numpy as np
import pytest
import tensorflow as tf
from reference import optimizers
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.training import optimizers as rules
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
@pytest.mark.parametrize("policy", ("error", "decay_weights"))
def test_adadelta(clip, policy):
    rule = optimizer(optimizer="adadelta", global_clipnorm=clip, non_finite_gradient=policy)
    follow(rule, optimizers.Adadelta(rho=0.95, epsilon=1e-6, clip=clip))


@pytest.mark.parametrize("name", ("adadelta", "adam", "sgd"))
@pytest.mark.parametrize("policy", ("error", "decay_weights"))
def test_rows_of_an_embedding_are_the_matrix_they_stand_for(name, policy):
    """Gradients of other rows at every step, some of them twice in a batch, once a NaN and once a
    whole matrix: as for a matrix.
    """
    options = dict(
        optimizer=name,
        non_finite_gradient=policy,
        global_clipnorm=1.0,
        learning_rate=0.5,
    )
    rules = [optimizer(**options), optimizer(**options)]
    start = np.random.default_rng(2).normal(size=(6, 3))
    embeddings = [keras.Variable(start, dtype="float64") for _ in rules]
    others = [keras.Variable(np.ones(2), dtype="float64") for _ in rules]
    for rule, *weights in zip(rules, embeddings, others):
        rule.build(weights)
    random = np.random.default_rng(3)
    for number, ids in enumerate(
        [
            [0, 2, 0],
            [1, 1, 1],
            [2, 0, 2],
            [4, 4, 0],
            [0, 1, 2],
            [5, 3, 5],
            [0, 1, 5],
            [3, 2, 4],
            [2, 2, 1],
            [0, 5, 3],
        ]
    ):
        values = random.normal(size=(3, 3)) * (3.0, 0.02)[number % 2]
        values[0, 0] = np.nan if number == 4 and policy == "decay_weights" else values[0, 0]
        slices = tf.IndexedSlices(tf.constant(values), tf.constant(ids), tf.constant([6, 3]))
        gradient = tf.convert_to_tensor(slices) if number == 6 else slices
        other = tf.constant(random.normal(size=2))
        rules[0].apply([gradient, other], [embeddings[0], others[0]])
        rules[1].apply([tf.convert_to_tensor(slices), other], [embeddings[1], others[1]])
        assert float(rules[0].gradient_norm) == pytest.approx(
            float(rules[1].gradient_norm), rel=1e-6, nan_ok=True
        )
        for one, another in zip(embeddings[:1] + others[:1], embeddings[1:] + others[1:]):
            np.testing.assert_allclose(one.numpy(), another.numpy(), rtol=0, atol=1e-12)


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
    "SGD": dict(learning_rate=2.0**-6, momentum=0.75),
}
KERAS_ARGUMENTS = [
    dict(weight_decay=0.25),
    dict(clipnorm=0.5),
    dict(clipvalue=0.25),
    dict(global_clipnorm=0.5),
    dict(use_ema=True, ema_momentum=0.5),
    dict(use_ema=True, ema_momentum=0.75, ema_overwrite_frequency=2),
    dict(learning_rate=keras.optimizers.schedules.ExponentialDecay(0.5, 1, 0.5)),
    dict(amsgrad=True),
    dict(nesterov=True),
]


def applied(rule, weights, *gradients):
    rule.apply(list(gradients), weights)


@pytest.mark.parametrize("name", OURS)
def test_an_argument_of_keras_has_the_effect_of_keras(name):
    """Each one, in a graph as fit has it; the moving averages too."""
    for argument in KERAS_ARGUMENTS:
        if argument.keys() & {"amsgrad", "nesterov"} and argument.keys() != {
            {"Adam": "amsgrad", "SGD": "nesterov"}.get(name)
        }:
            continue
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


def test_a_scaled_loss_is_refused():
    with pytest.raises(
        UsageError, match="expected no loss_scale_factor, got 2.0; use keras.optimizers.Adam"
    ):
        rules.Adam(loss_scale_factor=2.0)


def test_an_objective_that_is_not_finite_changes_nothing():
    rule = optimizer(optimizer="sgd")
    weights = fresh_weights()
    rule.apply(
        [tf.constant(gradient) for gradient in gradients_of_step(0)],
        weights,
        objective=tf.constant(np.nan),
    )
    assert np.isnan(float(rule.gradient_norm))
    for weight, start in zip(weights, fresh_weights()):
        np.testing.assert_array_equal(weight.numpy(), start.numpy())


def test_the_norm_is_known_before_it_is_cut():
    rule = optimizer()
    weights = fresh_weights()
    rule.build(weights)
    rule.apply([tf.constant(gradient) for gradient in gradients_of_step(0)], weights)
    _, norm = optimizers.clip_by_global_norm(gradients_of_step(0), 1.0)
    assert norm > 1
    assert float(rule.gradient_norm) == pytest.approx(norm, rel=1e-6)


def state(rule, weights):
    return [np.array(value) for value in (*rule.variables, *weights)]


@pytest.mark.parametrize("rule_name", ("adadelta", "adam", "sgd"))
@pytest.mark.parametrize("bad", (np.nan, np.inf))
def test_a_gradient_that_is_not_finite_changes_nothing(rule_name, bad):
    rule = optimizer(optimizer=rule_name)
    weights = fresh_weights()
    rule.build(weights)
    rule.apply([tf.constant(gradient) for gradient in gradients_of_step(0)], weights)
    before = state(rule, weights)
    gradients = gradients_of_step(1)
    gradients[1][2] = bad
    rule.apply([tf.constant(gradient) for gradient in gradients], weights)
    for old, new in zip(before, state(rule, weights)):
        np.testing.assert_array_equal(old, new)
    assert not np.isfinite(float(rule.gradient_norm))
    rule.apply([tf.constant(gradient) for gradient in gradients_of_step(2)], weights)
    assert np.abs(weights[0].numpy() - before[-3]).max() > 0


def test_decay_weights_takes_a_tenth_of_the_weights_for_gradient_uncut():
    """GroundHog: where the gradient has NaN or Inf it becomes 0.1 theta, after cutting."""
    rule = optimizer(
        optimizer="adadelta", non_finite_gradient="decay_weights", global_clipnorm=0.01
    )
    weights = fresh_weights()
    values = [weight.numpy() for weight in weights]
    rule.build(weights)
    gradients = gradients_of_step(1)
    gradients[0][0, 0] = np.nan
    rule.apply([tf.constant(gradient) for gradient in gradients], weights)
    expected = optimizers.Adadelta(clip=None).update(values, [0.1 * value for value in values])
    for weight, value in zip(weights, expected):
        np.testing.assert_allclose(weight.numpy(), value, rtol=0, atol=1e-12)
