"""A batch that is learned from in parts is the batch learned from at once."""

import numpy as np
import pytest
import tensorflow as tf
from rnnsearch_tf.models import TranslationLoss
from tiny_rnnsearch import PAIRS, batch, dataset
from tiny_systems import ONE_OF_EACH, tiny_system


def losses_and_gradients(model, parts, inputs):
    """What a training step makes of a batch: losses of the words, their negative log-likelihoods, gradients of the weights."""
    model.parts = parts
    with tf.GradientTape() as tape:
        losses, nll = model._losses_in_parts(inputs, label_smoothing=0.1)
        objective = tf.reduce_sum(losses)
    return [losses, nll, *map(tf.convert_to_tensor, tape.gradient(objective, model.trainable_variables))]


@pytest.mark.parametrize("name", ONE_OF_EACH)
@pytest.mark.parametrize("parts, pairs", [(2, PAIRS), (3, PAIRS), (3, PAIRS[:2])], ids=["halves", "thirds", "one of none"])
def test_losses_and_gradients_are_those_of_the_whole(name, parts, pairs):
    model, inputs = tiny_system(name), batch(pairs)
    whole, in_parts = (losses_and_gradients(model, number, inputs) for number in (1, parts))
    for found, expected in zip(in_parts, whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*shuffle=True:UserWarning")
def test_fit_learns_in_parts():
    """The same weights and metrics after three updates, of the whole and of halves."""

    def learned(parts):
        model = tiny_system("rnnsearch")
        model.compile("sgd", loss=TranslationLoss(over="token_mean"))
        model.parts = parts
        history = model.fit(dataset([PAIRS] * 3), verbose=0).history
        return [variable.numpy() for variable in model.trainable_variables], history["loss"] + history["gradient_norm"]

    (whole, metrics), (in_parts, metrics_in_parts) = learned(1), learned(2)
    for found, expected in zip(in_parts, whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert metrics_in_parts == pytest.approx(metrics, rel=1e-12)


def test_each_part_has_a_share_of_the_batch():
    """So many calls, no row in two of them, none left out."""
    model, seen = tiny_system("rnnsearch"), []

    def token_losses(inputs, *arguments, **keywords):
        seen.append(inputs["source_ids"].numpy().tolist())
        return tf.zeros([1]), tf.zeros([1])

    model.token_losses, model.parts = token_losses, 3
    model._losses_in_parts(batch(), 0.0)
    assert [len(rows) for rows in seen] == [1, 1, 2]
    assert sum(seen, []) == batch()["source_ids"].numpy().tolist()
