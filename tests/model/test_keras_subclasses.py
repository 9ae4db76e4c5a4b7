"""Frozen parts, and subclasses with a layer, a loss or a train_step of their own: as in Keras."""

import pickle
import subprocess
import sys
import warnings

import numpy as np
import pytest
import tensorflow as tf
from tiny_rnnsearch import SOURCE_SIZE, TARGET_SIZE, batch, tiny_config, tiny_model

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import Config, TrainingConfig
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.layers import Decoder, Encoder
from rnnsearch_tf.models import RNNSearch, TranslationLoss
from rnnsearch_tf.training.optimizers import build_optimizer
from rnnsearch_tf.training.schedule import TrainingSchedule


def compiled(model, optimizer=None):
    model.compile(optimizer or keras.optimizers.SGD(0.1), loss=TranslationLoss("token_mean"))
    return model


def of_class(cls):
    return cls(tiny_config(), SOURCE_SIZE, TARGET_SIZE, dtype="float64")


# Frozen parts.


def test_a_layer_made_frozen_is_frozen_with_its_sublayers():
    inputs = keras.Input((None, 3))
    encoder = Encoder(3, trainable=False)
    model = keras.Model(inputs, encoder(inputs))
    assert encoder.weights and not model.trainable_variables
    again = keras.models.clone_model(model)
    assert again.weights and not again.trainable_variables
    assert keras.Model(inputs, Encoder(3)(inputs)).trainable_variables


def test_a_system_made_frozen_is_frozen():
    model = RNNSearch(tiny_config(), SOURCE_SIZE, TARGET_SIZE, trainable=False)
    assert model.weights and not any(layer.trainable_variables for layer in model.all_layers())


def test_frozen_parts_and_their_optimizer_are_saved(tmp_path):
    model = tiny_model("float32")
    model.encoder.trainable = False
    compiled(model, build_optimizer(TrainingConfig())).train_on_batch(batch())
    model.save(tmp_path / "model.keras")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # that the optimizer's state does not fit
        again = keras.models.load_model(tmp_path / "model.keras")
    names = [variable.path for variable in model.trainable_variables]
    assert len(names) < len(model.weights)
    assert [variable.path for variable in again.trainable_variables] == names
    assert int(again.optimizer.iterations) == 1
    assert "frozen" not in tiny_model("float32").get_config()


# Weights without a gradient.


class WithoutEffect(RNNSearch):
    """It has a layer that the loss does not reach."""

    def _add_layers(self, seeds, common):
        super()._add_layers(seeds, common)
        self.further = keras.layers.Dense(2, name="further")
        self.further.build((None, 2))


@pytest.mark.parametrize("own_optimizer", [False, True])
def test_weights_without_a_gradient_stay(own_optimizer):
    model = of_class(WithoutEffect)
    optimizer = build_optimizer(TrainingConfig()) if own_optimizer else None
    compiled(model, optimizer)
    before = [np.array(weight) for weight in model.weights]
    model.train_on_batch(batch())
    moved = [not np.array_equal(a, b) for a, b in zip(before, model.weights)]
    is_further = ["further" in weight.path for weight in model.weights]
    assert any(is_further) and any(moved)
    assert not any(a and b for a, b in zip(moved, is_further))


def test_an_optimizer_of_ours_in_a_model_of_two_heads():
    inputs = keras.Input((3,))
    heads = {name: keras.layers.Dense(1, name=name)(inputs) for name in ("a", "b")}
    model = keras.Model(inputs, heads)
    model.compile(build_optimizer(TrainingConfig()), loss={"a": "mse"})
    before = np.array(model.get_layer("b").kernel)
    model.train_on_batch(np.ones((2, 3)), {"a": np.ones((2, 1)), "b": np.ones((2, 1))})
    np.testing.assert_array_equal(model.get_layer("b").kernel, before)


def test_a_loss_that_reaches_no_weight_is_said():
    with pytest.raises(UsageError, match="got no gradient of any weight"):
        build_optimizer(TrainingConfig()).apply([None], [keras.Variable(1.0)])


# Methods of one's own.


class OwnStep(RNNSearch):
    def train_step(self, data):
        super().train_step(data)
        return {"mine": tf.constant(3.0)}


def test_a_train_step_reports_what_it_returns():
    model = compiled(of_class(OwnStep))
    history = model.fit(batch(), verbose=0, batch_size=4)
    assert history.history == {"mine": [3.0]}


class AddsLoss(RNNSearch):
    def token_losses(self, *arguments, **keywords):
        self.add_loss(tf.constant(1.0, tf.float64))
        return super().token_losses(*arguments, **keywords)


@pytest.mark.parametrize("eager", [False, True])
def test_an_added_loss_is_that_of_the_batch(eager):
    model = compiled(of_class(AddsLoss))
    model.run_eagerly = eager
    for extra in range(3):  # of other shapes, each of which is traced
        model.train_on_batch(batch(extra_source=extra, extra_target=extra))
        model.test_on_batch(batch(extra_source=extra))
    assert not eager or len(model.losses) == 1


class Scaled(Encoder):
    def __init__(self, hidden_size, scale=1.0, **keywords):
        super().__init__(hidden_size, **keywords)
        self.scale = scale

    def get_config(self):
        return super().get_config() | {"scale": self.scale}


def test_a_layer_with_an_argument_of_its_own_can_be_made_again():
    again = Scaled.from_config(Scaled(3, scale=0.5).get_config())
    assert (again.scale, again.hidden_size) == (0.5, 3)
    with pytest.raises(UsageError, match="Encoder: expected options of this layer, got scale"):
        Encoder.from_config(Scaled(3).get_config())


# Arguments.


def test_a_pickled_model_is_read_in_another_process(tmp_path):
    model = compiled(tiny_model("float32"), build_optimizer(TrainingConfig()))
    (tmp_path / "model").write_bytes(pickle.dumps(model))
    code = (
        "import pickle, sys; print(type(pickle.load(open(sys.argv[1], 'rb')).optimizer).__name__)"
    )
    words = [sys.executable, "-c", code, str(tmp_path / "model")]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["Adadelta"], done.stderr


def test_loss_weights_beside_the_fused_loss_are_refused():
    with pytest.raises(
        UsageError, match="expected no loss_weights beside TranslationLoss, got 0.5"
    ):
        tiny_model("float32").compile("sgd", loss=TranslationLoss(), loss_weights=0.5)


def test_a_whole_configuration_is_refused_where_its_training_section_is_expected():
    for make in (build_optimizer, TrainingSchedule):
        with pytest.raises(
            UsageError, match=f"{make.__name__}: .*got Config; give config.training"
        ):
            make(Config())


def test_a_column_of_sample_weights():
    losses = []
    for weights in (np.array([1.0, 0.0, 2.0, 0.5]), np.array([[1.0], [0.0], [2.0], [0.5]])):
        model = compiled(tiny_model("float64"))
        losses.append(model.train_on_batch(batch(), sample_weight=weights))
    assert losses[0] == losses[1]


def test_annotations_of_odd_width_have_no_backward_half():
    with pytest.raises(UsageError, match="Decoder: annotations: expected an even width.*got 3"):
        Decoder(4, 5).build((None, None, 3), (None, None, 3))


def test_fewer_batches_than_steps_are_told():
    model = compiled(tiny_model("float32"))
    batches = tf.data.Dataset.from_tensors(batch()).repeat(2)
    with pytest.warns(UserWarning, match="ran out of data"):
        model.fit(batches, steps_per_epoch=5, verbose=0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(batches.filter(lambda _: True), epochs=2, verbose=0)  # of unknown size
