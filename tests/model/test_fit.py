"""`model.fit`: traces, learning, and gradients that are not finite."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.models import RNNSearch, TranslationLoss
from rnnsearch_tf.models.metrics import TokensPerSecond
from rnnsearch_tf.training.callbacks import FiniteGradient
from rnnsearch_tf.training.optimizers import Adam, build_optimizer
from rnnsearch_tf.training.checkpoint import TrainingState
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


def compiled(model, run_eagerly=False, **training):
    optimizer = build_optimizer(dataclasses.replace(TrainingConfig(), **training))
    model.compile(optimizer, loss=TranslationLoss(), run_eagerly=run_eagerly)
    return model


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
    model.fit(dataset(batches[:2]), verbose=0)
    traces = model.traces
    assert 1 <= traces <= 3  # fit builds once symbolically, then traces
    model.fit(dataset(batches), verbose=0)
    assert model.traces == traces
    model.evaluate(dataset(batches), verbose=0)
    evaluating = model.traces
    assert evaluating <= traces + 2
    model.evaluate(dataset(batches[::-1]), verbose=0)
    assert model.traces == evaluating


def test_one_trace_of_the_graph_functions():
    model = tiny_model("float32")
    calls = []

    @tf.function(autograph=False, reduce_retracing=True)
    def logits(inputs):
        calls.append(1)
        return model(inputs)

    ids = tf.TensorSpec([None, None], tf.int32)
    concrete = logits.get_concrete_function({"source_ids": ids, "target_ids": ids})
    for pairs, extra in ((PAIRS, 0), (PAIRS[:1], 3), (PAIRS[1:], 1)):
        inputs = batch(pairs, extra, 2 * extra)
        np.testing.assert_allclose(concrete(inputs), model(inputs), rtol=0, atol=1e-5)
    assert len(calls) == 1


def test_it_learns():
    """Four sentences by heart."""
    model = RNNSearch(
        tiny_config(hidden_size=16, initialization="variance_preserving"),
        SOURCE_SIZE,
        TARGET_SIZE,
        seed=1,
    )
    compiled(model, optimizer="adam", learning_rate=0.03)
    model.output_layer.W_o.assign(tf.zeros_like(model.output_layer.W_o))  # all words equally likely
    first = model.evaluate(dataset([PAIRS]), verbose=0, return_dict=True)["loss"]
    history = model.fit(dataset([PAIRS] * 60), verbose=0).history
    last = model.evaluate(dataset([PAIRS]), verbose=0, return_dict=True)["loss"]
    assert first == pytest.approx(np.log(TARGET_SIZE)) and last < 0.02
    assert history["perplexity"][-1] == pytest.approx(np.exp(history["loss"][-1]), rel=1e-4)
    assert set(history) == {"loss", "perplexity", "target_tokens_per_second", "gradient_norm"}
    assert history["target_tokens_per_second"][-1] > 0


def test_speed_is_of_updates_without_the_first():
    metric = TokensPerSecond("speed")
    # tokens so far, seconds of the update
    assert [metric.add(*each) for each in ((10, 99.0), (30, 2.0), (90, 6.0))] == [0, 10, 10]


def test_an_optimizer_of_keras_gives_the_numbers_of_ours():
    """Keras's own Adam, compiled by a user in a notebook, takes the embeddings' gradients as
    matrices.
    """
    ours = tiny_model("float64")
    theirs = tiny_model("float64")
    # betas that float32, of Keras, has exactly
    rule = dict(
        learning_rate=0.01, beta_1=0.875, beta_2=0.9921875, epsilon=1e-6, global_clipnorm=1.0
    )
    ours.compile(Adam(**rule), loss=TranslationLoss())
    theirs.compile(keras.optimizers.Adam(**rule), loss=TranslationLoss())
    norms = [
        model.fit(dataset([PAIRS] * 3), verbose=0).history["gradient_norm"]
        for model in (ours, theirs)
    ]
    np.testing.assert_allclose(*norms, rtol=1e-6)
    for one, other in zip(ours.trainable_variables, theirs.trainable_variables):
        np.testing.assert_allclose(np.array(one), np.array(other), rtol=0, atol=1e-9)


def test_a_bad_batch_leaves_the_weights():
    """A weight that is NaN makes every gradient NaN; the other weights stay as they were."""
    model = compiled(tiny_model("float32"))
    model.train_on_batch(batch())
    bias = model.output_layer.b_softmax
    healthy = bias.numpy()
    bias.assign(np.full(bias.shape, np.nan))
    before = [np.array(v) for v in model.trainable_variables]
    model.train_on_batch(batch())
    for old, new in zip(before, model.trainable_variables):
        np.testing.assert_array_equal(old, new)
    bias.assign(healthy)
    model.train_on_batch(batch())
    assert all(np.isfinite(np.array(v)).all() for v in model.trainable_variables)
    assert any((np.array(v) != old).any() for v, old in zip(model.trainable_variables, before))


def test_a_batch_that_was_begun_and_not_learned_from_leaves_the_means():
    """As where Ctrl-C comes between a batch's losses and its update."""
    model = compiled(tiny_model("float32"), run_eagerly=True)
    limits = FiniteGradient(TrainingState(), TrainingConfig())
    limits.set_model(model)
    limits.on_train_begin()
    means = []
    for learned in (True, False):
        limits.on_train_batch_begin(0)
        model.train_step(batch())
        if learned:
            limits.on_train_batch_end(0)
        else:
            limits.undo_batch()
        speed = model.speed_metric.name
        means.append({m.name: float(m.result()) for m in model.metrics if m.name != speed})
    assert means[0] == means[1] and means[0]["loss"] > 0


def test_a_gradient_that_is_not_finite_stops_fit():
    """The fit driver's callback raises."""
    model = compiled(tiny_model("float32"), run_eagerly=True)
    model.output_layer.b_softmax.assign(np.full(TARGET_SIZE, np.nan))
    finite = FiniteGradient(TrainingState(), TrainingConfig())
    with pytest.raises(UserError, match="training: expected a finite gradient, got norm nan"):
        model.fit(dataset([PAIRS]), callbacks=[finite], verbose=0)


def test_decay_weights_moves_all_weights_towards_zero():
    """GroundHog's rule, in a whole update: theta loses 0.1 theta times the step size."""
    model = compiled(
        tiny_model("float64"),
        run_eagerly=True,
        optimizer="sgd",
        learning_rate=0.5,
        non_finite_gradient="decay_weights",
    )
    model.source_embedding.E.assign(
        np.where(np.arange(SOURCE_SIZE)[:, None] == 2, np.nan, model.source_embedding.E.numpy())
    )
    before = {v.path: np.array(v) for v in model.trainable_variables}
    model.train_on_batch(batch())
    for variable in model.trainable_variables:
        np.testing.assert_allclose(np.array(variable), 0.95 * before[variable.path], rtol=1e-12)


def test_another_loss_is_refused():
    model = tiny_model("float32")
    model.compile("sgd", loss="mse")
    with pytest.raises(UserError, match="expected y beside x.*TranslationLoss"):
        model.train_on_batch(batch())
    with pytest.raises(
        UserError, match="expected reduction to be one of sum, batch_mean, token_mean, got 'mean'"
    ):
        TranslationLoss(reduction="mean")


@pytest.mark.parametrize("value", (1.5, -0.1, "x"))
def test_a_loss_has_the_limits_of_the_training_options(value):
    with pytest.raises(UsageError, match="TranslationLoss: label_smoothing: expected .*, got"):
        TranslationLoss(label_smoothing=value)
    assert type(TranslationLoss(label_smoothing=np.float32(0.5)).label_smoothing) is float
