"""Guided alignment: its loss against float64 NumPy, its gradients by central differences, and that
it costs nothing when it is off.
"""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from reference import rnnsearch, systems
from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.models import TranslationLoss
from rnnsearch_tf.training.optimizers import build_optimizer
from tiny_rnnsearch import PAIRS, batch
from tiny_systems import SYSTEMS, tiny_system

# (source token, target token) of each of PAIRS: one, several, none, and of the end symbols
LINKS = [
    [(0, 1), (3, 1), (2, 0)],
    [(0, 0), (0, 1), (0, 4), (1, 5)],
    [],
    [(0, 2), (1, 2), (2, 2), (2, 0)],
]
ATTENDING = [
    name
    for name, options in SYSTEMS.items()
    # the end symbols are linked: a model that does not read them is refused
    if name.startswith(("rnnsearch", "luong")) and options.get("read_end_symbol", True)
]
WEIGHT = 0.7


def linked_batch(chosen=range(len(PAIRS)), **extra):
    inputs = batch([PAIRS[row] for row in chosen], **extra)
    # float64, as a third is none of float32
    links = np.zeros((len(chosen), inputs["target_ids"].shape[1], inputs["source_ids"].shape[1]))
    for matrix, row in zip(links, chosen):
        for j, i in LINKS[row]:
            matrix[i, j] = 1 / sum(other == i for _, other in LINKS[row])
    return inputs | {"links": tf.constant(links)}


def expected_losses(model, row):
    """−log p(y_i) − w Σ_j A_ij log α_ij of every word of one pair, by the reference."""
    weights, options, (source, target) = (
        model.paper_weights(),
        dataclasses.asdict(model.config),
        PAIRS[row],
    )
    logits, alignments = systems.decode(weights, source, target, options)
    nll = [-rnnsearch.log_softmax(logits[i])[word] for i, word in enumerate(target)]
    for i in range(len(target)):
        linked = [j for j, other in LINKS[row] if other == i]
        nll[i] += (
            WEIGHT
            * sum(-np.log(alignments[i][j] / np.sum(alignments[i])) for j in linked)
            / max(len(linked), 1)
        )
    return nll


@pytest.mark.parametrize("name", ATTENDING)
def test_losses_of_every_word(name):
    model = tiny_system(name)
    losses, nll = model.token_losses(
        linked_batch(extra_source=2, extra_target=1), guided_alignment_weight=WEIGHT
    )
    expected = np.concatenate([expected_losses(model, row) for row in range(len(PAIRS))])
    np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-10)
    np.testing.assert_allclose(nll, model.token_losses(batch())[1], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "name",
    [
        "rnnsearch",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("rnnsearch-windows", "luong-general")
        ),
    ],
)
def test_slope_along_a_direction_of_every_weight(name):
    """A gradient written by hand, and two that TensorFlow makes of scans."""
    model = tiny_system(name)
    inputs = linked_batch([0, 1, 3], extra_source=1)
    generator = np.random.default_rng(3)

    def loss():
        losses, _ = model.token_losses(inputs, training=True, guided_alignment_weight=WEIGHT)
        return tf.reduce_sum(losses)

    with tf.GradientTape() as tape:
        value = loss()
    gradients = [
        tf.convert_to_tensor(g).numpy() for g in tape.gradient(value, model.trainable_variables)
    ]
    step = 2e-5
    slope = 0.0
    values = [variable.numpy() for variable in model.trainable_variables]
    directions = [generator.normal(size=value.shape) for value in values]
    for steps, share in ((1, 8), (-1, -8), (2, -1), (-2, 1)):
        for variable, value, direction in zip(model.trainable_variables, values, directions):
            variable.assign(value + steps * step * direction)
        slope += share * float(loss()) / (12 * step)
    assert sum((g * d).sum() for g, d in zip(gradients, directions)) == pytest.approx(
        slope, rel=1e-6, abs=2e-7
    )


@pytest.mark.parametrize(
    "reduction, count",
    [pytest.param("sum", 1, marks=pytest.mark.slow), ("batch_mean", 4), ("token_mean", 14)],
)
def test_an_update_takes_both_parts(reduction, count):
    """An update of plain gradient descent, in shards, is the slope of the reference's loss along
    it.
    """
    model = tiny_system("rnnsearch")
    optimizer = build_optimizer(
        TrainingConfig(optimizer="sgd", learning_rate=1.0, global_clipnorm=None)
    )
    model.compile(
        optimizer, loss=TranslationLoss(reduction, guided_alignment_weight=WEIGHT), run_eagerly=True
    )
    model.shards = 2
    before = [variable.numpy() for variable in model.trainable_variables]
    model.train_on_batch(linked_batch())
    moves = [variable.numpy() - old for variable, old in zip(model.trainable_variables, before)]
    losses = []
    for sign in (1, -1):
        for variable, old, move in zip(model.trainable_variables, before, moves):
            variable.assign(old + sign * 1e-4 * move)
        losses.append(sum(sum(expected_losses(model, row)) for row in range(len(PAIRS))) / count)
    assert sum(float((move**2).sum()) for move in moves) == pytest.approx(
        (losses[1] - losses[0]) / 2e-4, rel=1e-5
    )


def test_without_a_weight_links_change_nothing():
    model = tiny_system("luong-general")
    np.testing.assert_array_equal(
        model.token_losses(linked_batch())[0], model.token_losses(batch())[0]
    )


def test_an_alignment_of_no_weight_at_a_link_is_finite():
    """A sharp softmax in float32, as it comes up in training: the loss is large, and the gradient a
    number.
    """
    model = tiny_system("rnnsearch", dtype="float32", scale=40.0)
    with tf.GradientTape() as tape:
        losses, _ = model.token_losses(linked_batch(), training=True, guided_alignment_weight=1.0)
        loss = tf.reduce_sum(losses)
    assert np.isfinite(loss)
    assert all(
        np.isfinite(tf.convert_to_tensor(g)).all()
        for g in tape.gradient(loss, model.trainable_variables)
    )


def test_what_it_needs_is_said():
    loss = TranslationLoss(guided_alignment_weight=0.5)
    plain = tiny_system("rnnencdec")
    attending = tiny_system("rnnsearch")
    for model in (plain, attending):
        model.compile("sgd", loss=loss, run_eagerly=True)
    with pytest.raises(
        UsageError,
        match=(
            r"RNNEncDec.compile: expected guided_alignment_weight=0 of a model without attention,"
            r" got 0.5"
        ),
    ):
        plain.train_on_batch(linked_batch())
    with pytest.raises(
        UsageError,
        match=(
            r"fit: expected batches with links beside guided_alignment_weight=0.5, got source_ids,"
            r" target_ids"
        ),
    ):
        attending.train_on_batch(batch())
    assert TranslationLoss.from_config(loss.get_config()).guided_alignment_weight == 0.5
