"""Training on a batch in shards is training on the whole batch."""

import keras
import numpy as np
import pytest
from rnnsearch_tf.models import TranslationLoss
from tiny_rnnsearch import PAIRS, batch, dataset
from tiny_systems import ONE_OF_EACH, THREE, others_slow, tiny_system


def update(model, shards, inputs):
    """What one update makes of a batch: the changes of the weights, which under this optimizer are
    the gradients, and the metrics.
    """
    model.shards = shards
    model.compile(keras.optimizers.SGD(1.0), loss=TranslationLoss(label_smoothing=0.1))
    before = [weight.numpy() for weight in model.trainable_variables]
    metrics = model.train_step(inputs)
    changes = [weight.numpy() - old for weight, old in zip(model.trainable_variables, before)]
    return [*changes, *(metrics[name].numpy() for name in ("loss", "perplexity", "gradient_norm"))]


@pytest.mark.parametrize("name", others_slow(ONE_OF_EACH, THREE))
@pytest.mark.parametrize(
    "shards, pairs",
    [(2, PAIRS), (3, PAIRS), (3, PAIRS[:2])],
    ids=["halves", "thirds", "one of none"],
)
def test_losses_and_gradients_are_those_of_the_whole(name, shards, pairs):
    whole, in_shards = (update(tiny_system(name), number, batch(pairs)) for number in (1, shards))
    assert all(np.abs(change).max() > 0 for change in whole)
    for found, expected in zip(in_shards, whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*shuffle=True:UserWarning")
def test_fit_trains_in_shards():
    """The same weights and metrics after three updates, of the whole and of halves."""

    def learned(shards):
        model = tiny_system("rnnsearch")
        model.compile("sgd", loss=TranslationLoss(reduction="token_mean"))
        model.shards = shards
        history = model.fit(dataset([PAIRS] * 3), verbose=0).history
        return [variable.numpy() for variable in model.trainable_variables], history[
            "loss"
        ] + history["gradient_norm"]

    (whole, metrics), (in_shards, metrics_in_shards) = learned(1), learned(2)
    for found, expected in zip(in_shards, whole, strict=True):
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)
    assert metrics_in_shards == pytest.approx(metrics, rel=1e-12)


def test_each_shard_has_a_share_of_the_batch():
    """So many calls, no row in two of them, none left out."""
    model = tiny_system("rnnsearch")
    seen = []
    losses = model.token_losses

    def token_losses(inputs, *arguments, **keywords):
        seen.append(inputs["source_ids"].numpy().tolist())
        return losses(inputs, *arguments, **keywords)

    model.token_losses = token_losses
    update(model, 3, batch())
    assert [len(rows) for rows in seen] == [1, 1, 2]
    assert sum(seen, []) == batch()["source_ids"].numpy().tolist()
