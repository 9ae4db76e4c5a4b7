"""Training on a batch in shards is training on the whole batch."""

import numpy as np
import pytest
import tensorflow as tf
from rnnsearch_tf.models import TranslationLoss
from tiny_rnnsearch import PAIRS, batch, dataset
from tiny_systems import ONE_OF_EACH, THREE, others_slow, tiny_system


def losses_and_gradients(model, shards, inputs):
    """What a training step makes of a batch: losses of the words, their negative log-likelihoods, gradients of the weights."""
    model.shards = shards
    with tf.GradientTape() as tape:
        losses, nll = model._sharded_losses(inputs, TranslationLoss(label_smoothing=0.1))
        objective = tf.reduce_sum(losses)
    return [losses, nll, *map(tf.convert_to_tensor, tape.gradient(objective, model.trainable_variables))]


@pytest.mark.parametrize("name", others_slow(ONE_OF_EACH, THREE))
@pytest.mark.parametrize("shards, pairs", [(2, PAIRS), (3, PAIRS), (3, PAIRS[:2])], ids=["halves", "thirds", "one of none"])
def test_losses_and_gradients_are_those_of_the_whole(name, shards, pairs):
    model, inputs = tiny_system(name), batch(pairs)
    whole, in_shards = (losses_and_gradients(model, number, inputs) for number in (1, shards))
    for found, expected in zip(in_shards, whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore:.*shuffle=True:UserWarning")
def test_fit_trains_in_shards():
    """The same weights and metrics after three updates, of the whole and of halves."""

    def learned(shards):
        model = tiny_system("rnnsearch")
        model.compile("sgd", loss=TranslationLoss(reduction="token_mean"))
        model.shards = shards
        history = model.fit(dataset([PAIRS] * 3), verbose=0).history
        return [variable.numpy() for variable in model.trainable_variables], history["loss"] + history["gradient_norm"]

    (whole, metrics), (in_shards, metrics_in_shards) = learned(1), learned(2)
    for found, expected in zip(in_shards, whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert metrics_in_shards == pytest.approx(metrics, rel=1e-12)


def test_each_shard_has_a_share_of_the_batch():
    """So many calls, no row in two of them, none left out."""
    model, seen = tiny_system("rnnsearch"), []

    def token_losses(inputs, *arguments, **keywords):
        seen.append(inputs["source_ids"].numpy().tolist())
        return tf.zeros([1]), tf.zeros([1])

    model.token_losses, model.shards = token_losses, 3
    model._sharded_losses(batch(), TranslationLoss())
    assert [len(rows) for rows in seen] == [1, 1, 2]
    assert sum(seen, []) == batch()["source_ids"].numpy().tolist()
