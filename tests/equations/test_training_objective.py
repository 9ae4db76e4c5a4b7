"""What one update of `model.fit` is the gradient of: the reference's batch loss, for each
reduction.
"""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from reference import rnnsearch
from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.models import TranslationLoss
from rnnsearch_tf.training.optimizers import build_optimizer
from tiny_rnnsearch import PAIRS, batch, dataset, tiny_model

REDUCTIONS = ("sum", "batch_mean", "token_mean")
each_reduction = pytest.mark.parametrize("reduction", REDUCTIONS)


@each_reduction
def test_weights_of_the_losses(reduction):
    """Each sentence counts as often as its weight says; the divisors stay."""
    random = np.random.default_rng(1)
    targets = np.array([[4, 1, 0], [2, 3, 1]])
    logits = random.normal(size=(2, 3, 6))
    weights = random.uniform(size=2)
    losses = (
        np.log(np.exp(logits).sum(axis=-1))
        - np.take_along_axis(logits, targets[..., np.newaxis], axis=-1)[..., 0]
    )
    total = (losses * (targets != 0) * weights[:, np.newaxis]).sum()
    with pytest.raises((ValueError, tf.errors.InvalidArgumentError)):  # not of the shape [B]
        TranslationLoss(reduction)(targets, tf.constant(logits), sample_weight=weights[:, None])
    found = TranslationLoss(reduction)(
        tf.constant(targets), tf.constant(logits), sample_weight=tf.constant(weights)
    )
    np.testing.assert_allclose(
        found, total / {"sum": 1, "batch_mean": 2, "token_mean": 5}[reduction], rtol=1e-12
    )


def compiled(model, reduction, smoothing=0.0, run_eagerly=True, **training):
    """Plain gradient descent with step 1: what a weight loses in one update is its gradient."""
    options = dict(optimizer="sgd", learning_rate=1.0, global_clipnorm=None) | training
    optimizer = build_optimizer(dataclasses.replace(TrainingConfig(), **options))
    loss = TranslationLoss(reduction=reduction, label_smoothing=smoothing)
    model.compile(optimizer, loss=loss, run_eagerly=run_eagerly)
    return model


def values_of(model):
    return [np.array(weight) for weight in model.trainable_variables]


def slope_of_reference(model, values, direction, reduction, smoothing):
    """Central difference of the reference's loss along one direction in weight space."""
    losses = []
    for sign in (1, -1):
        for variable, value, move in zip(model.trainable_variables, values, direction):
            variable.assign(value + sign * 1e-5 * move)
        order = model.config.decoder_order
        losses.append(
            rnnsearch.batch_loss(model.paper_weights(), PAIRS, order, reduction, smoothing)
        )
    return (losses[0] - losses[1]) / 2e-5


@each_reduction
@pytest.mark.parametrize("smoothing", (0.0, 0.15))
def test_an_update_follows_the_reference_gradient(reduction, smoothing):
    model = compiled(tiny_model(output_rank=2), reduction, smoothing)
    before = values_of(model)
    model.train_on_batch(batch())
    gradient = [old - new for old, new in zip(before, values_of(model))]
    generator = np.random.default_rng(1)
    for _ in range(4):
        direction = [generator.normal(size=value.shape) for value in before]
        slope = slope_of_reference(model, before, direction, reduction, smoothing)
        projected = sum(float((g * d).sum()) for g, d in zip(gradient, direction))
        assert projected == pytest.approx(slope, rel=1e-6, abs=1e-7)


@each_reduction
@pytest.mark.parametrize("smoothing", (0.0, 0.15))
def test_loss_called_on_logits(reduction, smoothing):
    model = tiny_model(output_rank=2)
    ids = batch(extra_target=2)
    loss = TranslationLoss(reduction=reduction, label_smoothing=smoothing)(
        ids["target_ids"], model(ids)
    )
    order = model.config.decoder_order
    expected = rnnsearch.batch_loss(model.paper_weights(), PAIRS, order, reduction, smoothing)
    assert float(loss) == pytest.approx(expected, abs=1e-10)


def test_reported_numbers():
    """Loss per target word and perplexity without smoothing; the gradient's norm before cutting."""
    model = compiled(tiny_model(), "sum", smoothing=0.2, run_eagerly=False, global_clipnorm=1.0)
    before = values_of(model)
    mean = rnnsearch.batch_loss(
        model.paper_weights(), PAIRS, model.config.decoder_order, "token_mean"
    )
    tested = model.test_on_batch(batch(), return_dict=True)
    assert tested["loss"] == pytest.approx(mean, rel=1e-6)
    assert tested["perplexity"] == pytest.approx(np.exp(mean), rel=1e-6)
    model.reset_metrics()
    trained = model.train_on_batch(batch(), return_dict=True)
    assert trained["loss"] == pytest.approx(mean, rel=1e-6)
    moved = np.sqrt(sum(((old - new) ** 2).sum() for old, new in zip(before, values_of(model))))
    assert moved == pytest.approx(1.0, rel=1e-6)
    assert trained["gradient_norm"] > 1.5


def test_two_batches_weigh_by_their_words():
    """Over an epoch the loss is per word, not a mean of batches; the perplexity is its exp."""
    model = compiled(tiny_model(), "sum")
    result = model.evaluate(dataset([PAIRS[:1], PAIRS[1:]]), return_dict=True, verbose=0)
    mean = rnnsearch.batch_loss(
        model.paper_weights(), PAIRS, model.config.decoder_order, "token_mean"
    )
    assert result["loss"] == pytest.approx(mean, rel=1e-6)
    assert result["perplexity"] == pytest.approx(np.exp(mean), rel=1e-6)
