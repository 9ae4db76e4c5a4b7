"""What a Keras user tries first: load_model, summary, export; frozen parts; subclasses with a
layer, a loss or a train_step of their own.
"""

import subprocess
import sys
import warnings

import numpy as np
import pytest
import rnnsearch_tf
import tensorflow as tf
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.layers import Encoder
from rnnsearch_tf.models import RNNSearch, TranslationLoss
from rnnsearch_tf.training.optimizers import build_optimizer
from tiny_rnnsearch import SOURCE_SIZE, TARGET_SIZE, batch, tiny_config, tiny_model
from tiny_run import write_run
from tiny_systems import ONE_OF_EACH, tiny_system


def compiled(model, optimizer=None):
    model.compile(optimizer or keras.optimizers.SGD(0.1), loss=TranslationLoss("token_mean"))
    return model


def of_class(cls):
    return cls(tiny_config(), SOURCE_SIZE, TARGET_SIZE, dtype="float64")


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A compiled model's file, with an optimizer of this package."""
    path = tmp_path_factory.mktemp("saved") / "model.keras"
    model = compiled(tiny_model("float32"), build_optimizer(TrainingConfig()))
    model.train_on_batch(batch())
    model.save(path)
    return path


@pytest.mark.parametrize(
    "code",
    [
        "import keras, rnnsearch_tf; model = keras.models.load_model(PATH)",
        pytest.param(
            "import rnnsearch_tf; model = rnnsearch_tf.load_model(PATH)", marks=pytest.mark.slow
        ),
        pytest.param(
            "from rnnsearch_tf import CSLM; import keras; model = keras.models.load_model(PATH)",
            marks=pytest.mark.slow,
        ),
    ],
)
def test_load_model_needs_no_other_import(saved, code):
    code = code.replace("PATH", repr(str(saved)))
    code += "; print(type(model).__name__, type(model.optimizer).__name__)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    assert done.stdout.split() == ["RNNSearch", "Adadelta"], done.stderr


@pytest.mark.parametrize("content", [None, b"no archive", "cut"])
def test_what_is_no_saved_model_is_an_error_in_words(saved, tmp_path, content):
    path = tmp_path / "model.keras"
    if content is not None:
        path.write_bytes(saved.read_bytes()[:2000] if content == "cut" else content)
    with pytest.raises(UserError, match="model.keras: expected a model that model.save wrote"):
        rnnsearch_tf.load_model(path)


def test_load_model_takes_a_run(tmp_path):
    run = write_run(tmp_path / "run")
    model = rnnsearch_tf.load_model(run)
    inputs = {name: tf.constant([[5, 6, 1]]) for name in ("source_ids", "target_ids")}
    np.testing.assert_array_equal(model(inputs), rnnsearch_tf.Translator.load(run).model(inputs))


@pytest.mark.parametrize("system", ONE_OF_EACH)
def test_summary_shows_a_shape_for_every_layer(system):
    lines = []
    tiny_system(system, "float32").summary(print_fn=lines.append)
    assert "None" in "\n".join(lines) and "?" not in "\n".join(lines), lines


def test_exported_by_keras_a_model_gives_the_same_logits(tmp_path):
    model = tiny_model("float32")
    model.export(tmp_path / "exported", verbose=False)
    served = tf.saved_model.load(str(tmp_path / "exported")).signatures["serving_default"]
    inputs = batch()
    [logits] = served(**{name: tf.constant(ids, tf.int32) for name, ids in inputs.items()}).values()
    np.testing.assert_allclose(logits, model(inputs), rtol=1e-5, atol=1e-6)


# Frozen parts.


def test_what_is_made_frozen_is_frozen_with_its_sublayers():
    encoder = Encoder(3, trainable=False)
    encoder.build((None, None, 3))
    assert encoder.weights and not encoder.trainable_variables
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


# Subclasses.


class WithoutEffect(RNNSearch):
    """It has a layer that the loss does not reach."""

    def _add_layers(self, seeds, common):
        super()._add_layers(seeds, common)
        self.further = keras.layers.Dense(2, name="further")
        self.further.build((None, 2))


@pytest.mark.parametrize("own_optimizer", [False, True])
def test_weights_without_a_gradient_stay(own_optimizer):
    model = of_class(WithoutEffect)
    compiled(model, build_optimizer(TrainingConfig()) if own_optimizer else None)
    before = [np.array(weight) for weight in model.weights]
    model.train_on_batch(batch())
    moved = [not np.array_equal(a, b) for a, b in zip(before, model.weights)]
    is_further = ["further" in weight.path for weight in model.weights]
    assert any(is_further) and any(moved)
    assert not any(a and b for a, b in zip(moved, is_further))


def test_a_loss_that_reaches_no_weight_is_said():
    with pytest.raises(UsageError, match="got no gradient of any weight"):
        build_optimizer(TrainingConfig()).apply([None], [keras.Variable(1.0)])


class OwnStep(RNNSearch):
    def train_step(self, data):
        super().train_step(data)
        return {"mine": tf.constant(3.0)}


def test_a_train_step_reports_what_it_returns():
    history = compiled(of_class(OwnStep)).fit(batch(), verbose=0, batch_size=4)
    assert history.history == {"mine": [3.0]}


class AddsLoss(RNNSearch):
    def token_losses(self, *arguments, **keywords):
        self.add_loss(tf.constant(1.0, tf.float64))
        return super().token_losses(*arguments, **keywords)


def test_an_added_loss_is_that_of_the_batch():
    model = compiled(of_class(AddsLoss))
    model.run_eagerly = True
    for extra in range(3):
        model.train_on_batch(batch(extra_source=extra, extra_target=extra))
        model.test_on_batch(batch(extra_source=extra))
    assert len(model.losses) == 1


class Scaled(Encoder):
    def __init__(self, hidden_size, scale=1.0, **keywords):
        super().__init__(hidden_size, **keywords)
        self.scale = scale

    def get_config(self):
        return super().get_config() | {"scale": self.scale}


def test_a_layer_with_an_argument_of_its_own_can_be_made_again():
    again = Scaled.from_config(Scaled(3, scale=0.5).get_config())
    assert (again.scale, again.hidden_size) == (0.5, 3)
