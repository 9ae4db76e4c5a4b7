"""What is saved comes back: configuration, numbers, optimizer."""

import dataclasses
import inspect

import numpy as np
import pytest
from rnnsearch_tf import layers
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import ModelConfig, TrainingConfig
from rnnsearch_tf.config.effects import names_without_effect
from rnnsearch_tf.layers.bidirectional_stack import BidirectionalStack
from rnnsearch_tf.layers.bridge import Bridge
from rnnsearch_tf.layers.conditional_decoder import ConditionalDecoder
from rnnsearch_tf.layers.deep_transition import DeepTransition
from rnnsearch_tf.layers.gaussian_window import GaussianWindow
from rnnsearch_tf.layers.gnmt_decoder import GNMTDecoder
from rnnsearch_tf.layers.gnmt_encoder import GNMTEncoder
from rnnsearch_tf.layers.luong_attention import LuongAttention, ScoredAttention
from rnnsearch_tf.layers.output import OutputMatrix
from rnnsearch_tf.layers.recurrent_stack import RecurrentStack
from rnnsearch_tf.layers.recurrent_unit import RecurrentUnit
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.models import RNNSearch, TranslationLoss
from rnnsearch_tf.models.build import SYSTEMS
from rnnsearch_tf.training import optimizers
from tiny_rnnsearch import SIZES, VARIANTS, batch, tiny_model, variant_name

UNUSUAL = dict(  # every option that an RNNsearch with Gaussian windows has, away from its default
    unit="lstm",
    attention="gaussian_window",
    windows=2,
    layer_normalization=True,
    forget_bias=1.5,
    embedding_size=3,
    hidden_size=4,
    maxout_size=6,
    output_rank=3,
    decoder_order="paper",
    encoder_transitions=2,
    first_state="mean",
    readout="tanh",
    biases="all",
    initialization="variance_preserving",
    tie_target_embeddings=True,
    scale_embeddings=True,
    embedding_dropout=0.1,
    hidden_dropout=0.2,
    readout_dropout=0.3,
)


@pytest.mark.parametrize("options", VARIANTS, ids=variant_name)
def test_keras_file_gives_the_same_numbers(options, tmp_path):
    model = tiny_model("float32", **options)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert isinstance(loaded, RNNSearch) and loaded.config == model.config
    np.testing.assert_array_equal(model(batch()), loaded(batch()))


@pytest.mark.parametrize("dtype", ("float64", "mixed_bfloat16"))
def test_keras_file_keeps_the_precision(dtype, tmp_path):
    model = tiny_model(dtype, tie_target_embeddings=True)
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    assert loaded.dtype_policy.name == dtype
    np.testing.assert_array_equal(model(batch()), loaded(batch()))


def test_weights_file_gives_the_same_numbers(tmp_path):
    model = tiny_model("float32", seed=1)
    other = tiny_model("float32", seed=2)
    assert np.abs(np.array(model(batch())) - np.array(other(batch()))).max() > 0.1
    model.save_weights(tmp_path / "model.weights.h5")
    other.load_weights(tmp_path / "model.weights.h5")
    np.testing.assert_array_equal(model(batch()), other(batch()))


def go_on(model, rule, path):
    """Two updates, save, load, a third in both: (model, loaded)."""
    config = dataclasses.replace(TrainingConfig(), optimizer=rule, learning_rate=0.125)
    loss = TranslationLoss("token_mean", label_smoothing=0.1)
    model.compile(optimizers.build_optimizer(config), loss=loss, run_eagerly=True)
    for _ in range(2):
        model.train_on_batch(batch())
    model.save(path)
    loaded = keras.models.load_model(path)
    for one in (model, loaded):
        one.train_on_batch(batch())
    return model, loaded


@pytest.mark.parametrize("rule", ("adadelta", "adam", "sgd"))
def test_training_goes_on_from_a_keras_file(rule, tmp_path):
    """The same weights as three updates in one go; the optimizer's averages and the loss come
    along.
    """
    model, loaded = go_on(tiny_model("float32"), rule, tmp_path / "model.keras")
    assert (loaded.loss.reduction, loaded.loss.label_smoothing) == ("token_mean", 0.1)
    for one, other in zip(model.trainable_variables, loaded.trainable_variables):
        np.testing.assert_array_equal(one, other)


def test_dropout_goes_on_from_a_keras_file(tmp_path):
    """The random state of dropout comes along too: no mask is drawn twice."""
    dropout = dict(embedding_dropout=0.3, hidden_dropout=0.2, readout_dropout=0.1)
    model, loaded = go_on(tiny_model("float32", **dropout), "adadelta", tmp_path / "model.keras")
    for one, other in zip(model.trainable_variables, loaded.trainable_variables):
        np.testing.assert_array_equal(one, other)


def test_unusual_is_unusual():
    """Guards the next test: an option added to ModelConfig must be added to UNUSUAL."""
    unused = names_without_effect({"model": ModelConfig(**UNUSUAL)})
    usual = {
        key: value
        for key, value in dataclasses.asdict(ModelConfig()).items()
        if key != "system" and f"model.{key}" not in unused
    }
    assert UNUSUAL.keys() == usual.keys()
    assert all(UNUSUAL[key] != usual[key] for key in usual)


def test_model_config_is_complete():
    model = RNNSearch(ModelConfig(**UNUSUAL), 8, 7, seed=11, dtype="float64", name="other")
    config = model.get_config()
    assert config.keys() >= arguments(RNNSearch)
    again = RNNSearch.from_config(config)
    assert again.config == model.config and again.seed == 11 and again.name == "other"
    assert again.dtype_policy.name == "float64"
    for one, other in zip(model.weights, again.weights):  # the same seed gives the same weights
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=SYSTEMS)
def test_options_as_keywords_are_a_configuration(system, tmp_path):
    """Built with plain keywords: the configuration's model, also back from a Keras file."""
    sizes = dict(embedding_size=3, hidden_size=4)
    model = system(source_vocabulary_size=8, target_vocabulary_size=7, seed=3, **sizes)
    again = system(dict(system=system.system, **sizes), 8, 7, seed=3)
    assert model.config == again.config and (model.config.system, model.config.hidden_size) == (
        system.system,
        4,
    )
    model.save(tmp_path / "model.keras")
    for other in (again, keras.models.load_model(tmp_path / "model.keras")):
        for one, two in zip(model.weights, other.weights, strict=True):
            np.testing.assert_array_equal(one, two)


def test_keywords_that_are_no_options():
    sizes = dict(source_vocabulary_size=8, target_vocabulary_size=7)
    with pytest.raises(UsageError, match="hiden_size.*hidden_size"):
        RNNSearch(**sizes, hiden_size=4)
    with pytest.raises(
        UsageError, match="RNNSearch: expected a configuration or options, got both: hidden_size"
    ):
        RNNSearch(ModelConfig(), **sizes, hidden_size=4)
    with pytest.raises(
        UsageError,
        match="expected source_vocabulary_size and target_vocabulary_size, got None and 7",
    ):
        RNNSearch(target_vocabulary_size=7, hidden_size=4)


def arguments(layer_class):
    """Constructor arguments of its own, by name."""
    parameters = inspect.signature(layer_class).parameters.values()
    return {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}


LAYERS = {
    layers.WordEmbedding: dict(
        vocabulary_size=9,
        embedding_size=3,
        tied=True,
        scaled=True,
        mask_zero=True,
        begin_symbol=True,
        biases="none",
        initialization="variance_preserving",
        seed=4,
    ),
    layers.BahdanauAttention: dict(
        alignment_size=3,
        layer_normalization=True,
        normalized="together",
        biases="all",
        initialization="variance_preserving",
        seed=4,
    ),
    layers.Decoder: dict(
        hidden_size=3,
        alignment_size=2,
        attention=None,
        unit="lstm",
        layer_normalization=True,
        forget_bias=1.5,
        first_state="mean",
        normalized="together",
        biases="all",
        initialization="variance_preserving",
        seed=4,
    ),
    layers.Encoder: dict(
        hidden_size=3,
        bidirectional=False,
        unit="lstm",
        layer_normalization=True,
        forget_bias=1.5,
        encoder_transitions=2,
        normalized="together",
        biases="all",
        initialization="variance_preserving",
        seed=4,
    ),
    GaussianWindow: dict(windows=3, biases="none", initialization="variance_preserving", seed=4),
    RecurrentStack: dict(
        layers=2,
        hidden_size=3,
        skips=True,
        residual=True,
        dropout=0.1,
        unit="lstm",
        layer_normalization=True,
        peepholes=True,
        forget_bias=1.5,
        first_residual=3,
        biases="all",
        initialization="variance_preserving",
        seed=4,
    ),
    GNMTEncoder: dict(
        layers=3,
        hidden_size=3,
        residual=True,
        dropout=0.1,
        unit="lstm",
        layer_normalization=True,
        peepholes=True,
        forget_bias=1.5,
        first_residual=3,
        biases="all",
        initialization="variance_preserving",
        seed=4,
    ),
    GNMTDecoder: dict(
        layers=3,
        hidden_size=3,
        residual=True,
        dropout=0.1,
        unit="lstm",
        layer_normalization=True,
        peepholes=True,
        forget_bias=1.5,
        first_residual=3,
        biases="all",
        initialization="variance_preserving",
        seed=4,
    ),
    ScoredAttention: dict(
        hidden_size=3,
        score="concat",
        alignment_size=2,
        biases="all",
        initialization="variance_preserving",
        seed=4,
    ),
    LuongAttention: dict(
        hidden_size=3,
        score="concat",
        alignment_size=2,
        attentional_bias=True,
        attentional_activation="linear",
        biases="all",
        initialization="variance_preserving",
        seed=4,
    ),
    OutputMatrix: dict(
        vocabulary_size=9,
        symbol="W_s",
        tied=True,
        biases="none",
        initialization="variance_preserving",
        seed=4,
    ),
    RecurrentUnit: dict(
        hidden_size=3,
        unit="lstm",
        layer_normalization=True,
        peepholes=True,
        forget_bias=1.5,
        normalized="together",
        biases="all",
        initialization="variance_preserving",
        seed=4,
    ),
    Bridge: dict(
        bridge="dense",
        layers=2,
        hidden_size=3,
        biases="all",
        initialization="variance_preserving",
        seed=4,
    ),
    BidirectionalStack: dict(
        layers=2,
        hidden_size=3,
        encoder_directions="stacks",
        residual=True,
        dropout=0.1,
        unit="lstm",
        layer_normalization=True,
        peepholes=True,
        forget_bias=1.5,
        first_residual=3,
        biases="all",
        initialization="variance_preserving",
        seed=4,
    ),
    DeepTransition: dict(
        hidden_size=3,
        transitions=2,
        unit="lstm",
        layer_normalization=True,
        forget_bias=1.5,
        normalized="together",
        biases="all",
        initialization="variance_preserving",
        seed=4,
    ),
    ConditionalDecoder: dict(
        hidden_size=3,
        alignment_size=2,
        attention=None,
        unit="lstm",
        layer_normalization=True,
        forget_bias=1.5,
        first_state="mean",
        normalized="together",
        decoder_transitions=3,
        biases="all",
        initialization="variance_preserving",
        seed=4,
    ),
    layers.DeepOutput: dict(
        vocabulary_size=9,
        maxout_size=3,
        output_rank=2,
        biases="none",
        initialization="variance_preserving",
        dropout=0.25,
        seed=4,
        tied=True,
        context_sizes=(4, 3),
        readout="tanh",
        layer_normalization=True,
        normalized="together",
    ),
}


@pytest.mark.parametrize("layer_class", LAYERS, ids=lambda c: c.__name__)
def test_layer_config_is_complete(layer_class):
    values = LAYERS[layer_class]
    assert values.keys() == arguments(layer_class)
    defaults = inspect.signature(layer_class).parameters
    assert all(values[name] != defaults[name].default for name in values)
    config = layer_class(**values, dtype="float64").get_config()
    assert {name: config[name] for name in values} == values
    again = layer_class.from_config(config)
    assert again.get_config() == config and again.dtype_policy.name == "float64"
    assert all(getattr(again, name) == value for name, value in values.items())


def test_loss_and_optimizer_configs_are_complete():
    loss = TranslationLoss.from_config(
        TranslationLoss("batch_mean", 0.2, name="other").get_config()
    )
    assert (loss.reduction, loss.label_smoothing, loss.name) == ("batch_mean", 0.2, "other")
    config = dataclasses.replace(
        TrainingConfig(),
        global_clipnorm=2.0,
        non_finite_gradient="decay_weights",
    )
    rule = optimizers.build_optimizer(config)
    again = optimizers.Adadelta.from_config(rule.get_config())
    assert again.get_config() == rule.get_config()
    assert again.non_finite_gradient == "decay_weights"
    assert (again.rho, again.epsilon, again.global_clipnorm) == (0.95, 1e-6, 2.0)


def test_sizes_of_the_tests_are_distinct():
    """Different sizes keep a matrix in the wrong place from fitting (m and l share 3: tied
    embeddings need it).
    """
    assert len({SIZES[key] for key in ("embedding_size", "hidden_size", "alignment_size")}) == 3
