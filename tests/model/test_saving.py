"""What is saved comes back: configuration, numbers, optimizer; in every system."""

import contextlib
import dataclasses

import numpy as np
import pytest
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import ModelConfig, TrainingConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.models import RNNSearch, TranslationLoss
from rnnsearch_tf.models.build import SYSTEMS as CLASSES
from rnnsearch_tf.training import optimizers
from tiny_rnnsearch import PAIRS, batch, dataset, tiny_model
from tiny_systems import ONE_OF_EACH, SYSTEMS, THREE, others_slow, system_config, tiny_system

DROPOUTS = ("embedding_dropout", "hidden_dropout", "readout_dropout")


@pytest.mark.parametrize("name", others_slow(SYSTEMS))
def test_keras_file_gives_the_same_numbers(name, tmp_path):
    model = tiny_system(name, "float32")
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert type(loaded) is type(model) and loaded.config == model.config
    np.testing.assert_array_equal(model(batch()), loaded(batch()))


@pytest.mark.parametrize("dtype", ("float64", "mixed_bfloat16"))
def test_keras_file_keeps_the_precision(dtype, tmp_path):
    model = tiny_model(dtype, tie_target_embeddings=True)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.dtype_policy.name == dtype
    np.testing.assert_array_equal(model(batch()), loaded(batch()))


@pytest.mark.parametrize("rule", ("adadelta", "adam", "sgd"))
def test_training_goes_on_from_a_keras_file(rule, tmp_path):
    """Two updates, save, load, a third in both: the optimizer's averages, the loss and the random
    state of dropout come along.
    """
    config = dataclasses.replace(TrainingConfig(), optimizer=rule, learning_rate=0.125)
    loss = TranslationLoss("token_mean", label_smoothing=0.1)
    model = tiny_model("float32", **dict.fromkeys(DROPOUTS, 0.2))
    model.compile(optimizers.build_optimizer(config), loss=loss, run_eagerly=True)
    for _ in range(2):
        model.train_on_batch(batch())
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for one in (model, loaded):
        one.train_on_batch(batch())
    assert (loaded.loss.reduction, loaded.loss.label_smoothing) == ("token_mean", 0.1)
    for one, other in zip(model.trainable_variables, loaded.trainable_variables):
        np.testing.assert_array_equal(one, other)


def another(field):
    """A value of an option of the model that is not its default."""
    choices = field.metadata.get("choices")
    if choices:
        return next(choice for choice in choices if choice != field.default)
    if isinstance(field.default, bool):
        return not field.default
    return 5 if isinstance(field.default, int) else 0.25


def test_every_option_of_the_model_comes_back():
    """In rows of SYSTEMS that take all of them between them."""
    left = {field.name: another(field) for field in dataclasses.fields(ModelConfig)}
    del left["system"], left["tie_target_embeddings"]  # other rows have these
    for row in ("rnnsearch-lstm", "rnnsearch-windows", "luong-general", "cslm"):
        config = system_config(row)
        for name, value in left.items():
            with contextlib.suppress(UsageError):  # another option of the row excludes it
                config = dataclasses.replace(config, **{name: value})
        model = CLASSES[config.system](config, 8, 7, dtype="float64", name="other")
        again = type(model).from_config(model.get_config())
        assert again.config == config
        assert (again.name, again.dtype_policy.name) == ("other", "float64")
        assert [w.shape for w in model.weights] == [w.shape for w in again.weights]
        left = {name: value for name, value in left.items() if getattr(config, name) != value}
    assert not left


@pytest.mark.parametrize("system", CLASSES.values(), ids=CLASSES)
def test_options_as_keywords_are_a_configuration(system):
    sizes = dict(embedding_size=3, hidden_size=4)
    model = system(source_vocabulary_size=8, target_vocabulary_size=7, **sizes)
    again = system(dict(system=system.system, **sizes), 8, 7)
    assert model.config == again.config and model.config.hidden_size == 4


def test_keywords_that_are_no_options():
    sizes = dict(source_vocabulary_size=8, target_vocabulary_size=7)
    tiny = dict(embedding_size=3, alignment_size=5, maxout_size=3, output_rank=None)
    with pytest.raises(UsageError, match="hiden_size.*hidden_size"):
        RNNSearch(**sizes, hiden_size=4)
    assert RNNSearch(ModelConfig(**tiny), **sizes, hidden_size=4).config.hidden_size == 4
    with pytest.raises(UsageError, match="target_vocabulary_size, got None and 7"):
        RNNSearch(target_vocabulary_size=7, hidden_size=4)


def test_loss_and_optimizer_configs_are_complete():
    loss = TranslationLoss("batch_mean", 0.2, "decay_weights", name="other")
    assert TranslationLoss.from_config(loss.get_config()).get_config() == loss.get_config()
    rule = optimizers.Adadelta(rho=0.7, epsilon=1e-3, global_clipnorm=2.0)
    again = optimizers.Adadelta.from_config(rule.get_config())
    assert again.get_config() == rule.get_config()
    assert (again.rho, again.epsilon, again.global_clipnorm) == (0.7, 1e-3, 2.0)


def dropouts(name):
    """The dropout options that the system of a row has."""
    system = SYSTEMS[name].get("system", "rnnsearch")
    fields = ModelConfig.__dataclass_fields__
    return [
        option for option in DROPOUTS if system in (fields[option].metadata["systems"] or [system])
    ]


@pytest.mark.parametrize("name", ONE_OF_EACH)
def test_dropout_only_in_training(name):
    """tests/equations/test_dropout_places.py shows where each stands."""
    plain = tiny_system(name)(batch()).numpy()
    model = tiny_system(name, **dict.fromkeys(dropouts(name), 0.4))
    np.testing.assert_array_equal(model(batch()), plain)
    first, second = (model(batch(), training=True).numpy() for _ in range(2))
    assert np.abs(first - plain).max() > 1e-4 < np.abs(first - second).max()


@pytest.mark.parametrize(
    "name",
    others_slow(("rnnencdec", "encoder_decoder", "stacked-lstm", *THREE), ["luong-general"]),
)
def test_fit_learns(name):
    """Thirty epochs of two batches under `fit`, with the dropout it has: the loss falls, and
    nothing is left untrained.
    """
    model = tiny_system(name, "float32", scale=0.2, **{option: 0.05 for option in dropouts(name)})
    config = dataclasses.replace(
        TrainingConfig(), optimizer="adam", learning_rate=0.05, loss_reduction="token_mean"
    )
    model.compile(optimizers.build_optimizer(config), loss=TranslationLoss("token_mean"))
    before = [variable.numpy() for variable in model.trainable_variables]
    data = dataset([PAIRS[:2], PAIRS[2:]])
    history = model.fit(data, epochs=30, verbose=0, shuffle=False).history
    assert set(history) == {"loss", "perplexity", "gradient_norm", "target_tokens"}
    assert history["loss"][-1] < 0.8 * history["loss"][0]
    assert history["perplexity"][-1] == pytest.approx(np.exp(history["loss"][-1]), rel=1e-4)
    assert set(history["target_tokens"]) == {sum(len(target) for _, target in PAIRS)}
    for variable, value in zip(model.trainable_variables, before):
        assert np.abs(variable.numpy() - value).max() > 0, variable.path
