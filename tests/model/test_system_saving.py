"""Every system comes back from a file and from its configuration, trains under `fit`, and drops
only in training.
"""

import dataclasses

import numpy as np
import pytest
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import ModelConfig, TrainingConfig
from rnnsearch_tf.config.effects import names_without_effect
from rnnsearch_tf.models import TranslationLoss
from rnnsearch_tf.training.optimizers import build_optimizer
from tiny_rnnsearch import PAIRS, batch, dataset
from tiny_systems import ONE_OF_EACH, SYSTEMS, THREE, others_slow, tiny_system

each_system = pytest.mark.parametrize("name", SYSTEMS)
one_of_each = pytest.mark.parametrize("name", ONE_OF_EACH)


@pytest.mark.parametrize("name", others_slow(SYSTEMS))
def test_keras_file_gives_the_same_numbers(name, tmp_path):
    model = tiny_system(name, "float32")
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded) is type(model) and loaded.config == model.config
    np.testing.assert_array_equal(model(batch()), loaded(batch()))


@pytest.mark.slow
@one_of_each
def test_weights_file_and_configuration(name, tmp_path):
    model = tiny_system(name, "float32", seed=1)
    model.save_weights(tmp_path / "model.weights.h5")
    again = type(model).from_config(model.get_config())
    assert again.get_config() == model.get_config()
    assert np.abs(model(batch()) - again(batch())).max() > 1e-2
    again.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(model(batch()), again(batch()))


@each_system
def test_layers_keep_their_configuration(name):
    for layer in tiny_system(name).layers:
        again = type(layer).from_config(layer.get_config())
        assert again.get_config() == layer.get_config()


def dropouts(name):
    system = SYSTEMS[name].get("system", "rnnsearch")
    unused = names_without_effect({"model": ModelConfig(system=system)})
    return [
        name
        for name in ("embedding_dropout", "hidden_dropout", "readout_dropout")
        if f"model.{name}" not in unused
    ]


@one_of_each
def test_dropout_only_in_training(name):
    plain = tiny_system(name)
    for option in dropouts(name):
        model = tiny_system(name, **{option: 0.4})
        np.testing.assert_array_equal(model(batch()), plain(batch()))
        first, second = (model(batch(), training=True).numpy() for _ in range(2))
        assert (
            np.abs(first - plain(batch())).max() > 1e-4 and np.abs(first - second).max() > 1e-4
        ), option


@pytest.mark.parametrize(
    "name",
    others_slow(
        ("rnnencdec", "encoder_decoder", "deep_lstm-forward", "stacked-lstm", "luong-general"),
        THREE,
    ),
)
def test_fit_learns(name):
    """Thirty epochs of two batches under `fit`, with the dropout it has: the loss falls, and
    nothing is left untrained.
    """
    model = tiny_system(name, "float32", scale=0.2, **{option: 0.05 for option in dropouts(name)})
    config = dataclasses.replace(
        TrainingConfig(), optimizer="adam", learning_rate=0.05, loss_reduction="token_mean"
    )
    model.compile(build_optimizer(config), loss=TranslationLoss("token_mean"))
    before = [variable.numpy() for variable in model.trainable_variables]
    history = model.fit(
        dataset([PAIRS[:2], PAIRS[2:]]), epochs=30, verbose=0, shuffle=False
    ).history["loss"]
    assert history[-1] < 0.8 * history[0]
    for variable, value in zip(model.trainable_variables, before):
        assert np.abs(variable.numpy() - value).max() > 0, variable.path
