"""``compile``, ``fit`` and ``evaluate`` of the systems, with the stock optimizers, callbacks and
arguments of Keras.
"""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest
import rnnsearch_tf
import tensorflow as tf
from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.models import RNNSearch, TranslationLoss
from rnnsearch_tf.training.optimizers import build_optimizer
from tiny_rnnsearch import (
    END,
    PAIRS,
    SOURCE_SIZE,
    TARGET_SIZE,
    batch,
    dataset,
    randomize,
    tiny_config,
    tiny_model,
)
from tiny_run import write_run


def compiled(model, loss=None, run_eagerly=False, **training):
    optimizer = build_optimizer(dataclasses.replace(TrainingConfig(), **training))
    model.compile(optimizer, loss=loss or TranslationLoss(), run_eagerly=run_eagerly)
    return model


def arrays(dtype=np.int64):
    return {name: np.array(values, dtype) for name, values in batch().items()}


def weights_of(model):
    return [np.array(weight) for weight in model.trainable_variables]


class Counting(RNNSearch):
    """Counts how often Python runs through the training computation: once a trace."""

    traces = 0

    def token_losses(self, *arguments, **keywords):
        self.traces += 1
        return super().token_losses(*arguments, **keywords)


def test_one_trace_for_all_batch_shapes():
    """40 batches of different sizes: B, J and I all vary."""
    model = compiled(randomize(Counting(tiny_config(), SOURCE_SIZE, TARGET_SIZE)))
    batches = [[([3] * (k % 4) + [END], [4] * (k % 7) + [END])] * (k % 3 + 1) for k in range(40)]
    model.fit(dataset(batches), verbose=0)
    traces = model.traces
    assert 1 <= traces <= 2
    model.fit(dataset(batches[::-1]), verbose=0)
    assert model.traces == traces
    model.evaluate(dataset(batches), verbose=0)
    assert model.traces <= traces + 2


def test_ids_as_a_pair_or_by_name_and_of_any_integer_type():
    found = []
    for given in (batch(), arrays(np.int64), tuple(arrays(np.uint8).values())):
        model = compiled(tiny_model("float32"), run_eagerly=True)
        found.append((model.train_on_batch(given), model.test_on_batch(given)))
    assert found[0] == found[1] == found[2]
    model = compiled(tiny_model("float32"), run_eagerly=True)
    model.fit(tf.data.Dataset.from_tensors(tuple(arrays(np.uint8).values())), verbose=0)
    assert model.test_on_batch(batch()) == found[0][1]
    logits = model.predict(tf.data.Dataset.from_tensors(tuple(arrays().values())), verbose=0)
    np.testing.assert_allclose(logits, model(batch()), rtol=0, atol=1e-6)


def test_validation_data_of_numpy_arrays():
    model = compiled(tiny_model("float32"), run_eagerly=True)
    history = model.fit(arrays(), batch_size=2, validation_data=arrays(), verbose=0).history
    assert model.evaluate(arrays(), verbose=0)[0] == pytest.approx(history["val_loss"][0])
    assert history["val_perplexity"][0] == pytest.approx(np.exp(history["val_loss"][0]))


def test_weights_of_sentences():
    ours, theirs = (
        compiled(tiny_model("float64"), optimizer="sgd", run_eagerly=True) for _ in range(2)
    )
    ours.fit(tf.data.Dataset.from_tensors((arrays(), None, np.array([2.0, 0, 1, 0]))), verbose=0)
    theirs.fit(dataset([[PAIRS[0], *PAIRS[::2]]]), verbose=0)
    for one, other in zip(weights_of(ours), weights_of(theirs)):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-12)


def test_decay_weights_moves_all_weights_towards_zero():
    """GroundHog's rule, in a whole update: theta loses 0.1 theta times the step size, uncut."""
    loss = TranslationLoss(non_finite_gradient="decay_weights")
    model = compiled(
        tiny_model("float64"),
        loss,
        run_eagerly=True,
        optimizer="sgd",
        learning_rate=0.5,
        global_clipnorm=0.01,
    )
    E = model.source_embedding.E
    E.assign(np.where(np.arange(SOURCE_SIZE)[:, None] == 2, np.nan, E.numpy()))
    before = weights_of(model)
    model.train_on_batch(batch())
    for old, new in zip(before, weights_of(model)):
        np.testing.assert_allclose(new, 0.95 * old, rtol=1e-12)


def test_another_loss_is_refused():
    model = tiny_model("float32")
    model.compile("sgd", loss="mse")
    with pytest.raises(UsageError, match="expected loss=TranslationLoss"):
        model.train_on_batch(batch())


# Saved models.


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A compiled model's file, with an optimizer of this package."""
    path = tmp_path_factory.mktemp("saved") / "model.keras"
    model = compiled(tiny_model("float32"), run_eagerly=True)
    model.train_on_batch(batch())
    model.save(path)
    return path


def test_load_model_needs_no_other_import(saved):
    code = (
        f"import keras, rnnsearch_tf; model = keras.models.load_model({str(saved)!r});"
        " print(type(model).__name__, type(model.optimizer).__name__)"
    )
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


def test_the_model_of_a_loaded_translator_is_not_trained(tmp_path):
    run = write_run(tmp_path / "run")
    compiled(rnnsearch_tf.load_model(run), run_eagerly=True).train_on_batch(batch())
    translator = rnnsearch_tf.Translator.load(run)
    with pytest.raises(UsageError, match="expected a model with trainable weights"):
        compiled(translator.model, run_eagerly=True).train_on_batch(batch())


def test_frozen_parts_stay():
    model = tiny_model("float32")
    model.encoder.trainable = False
    before = {weight.path: np.array(weight) for weight in model.weights}
    compiled(model, run_eagerly=True).train_on_batch(batch())
    for weight in model.weights:
        frozen = weight.path.startswith("encoder/")
        assert np.array_equal(weight, before[weight.path]) == frozen, weight.path
