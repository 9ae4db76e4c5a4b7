"""What Keras's ``compile``, ``fit`` and ``evaluate`` are given: it has the effect that it has of
every Keras model, or is refused.
"""

import dataclasses

import numpy as np
import pytest
from tiny_rnnsearch import PAIRS, TARGET_SIZE, batch, dataset, tiny_model

from rnnsearch_tf.runtime.backend import keras
from rnnsearch_tf.config import TrainingConfig
from rnnsearch_tf.errors import UsageError, UserError
from rnnsearch_tf.models import TranslationLoss
from rnnsearch_tf.training.development import is_lower
from rnnsearch_tf.training.optimizers import build_optimizer

LABELS = np.array(batch()["target_ids"])
REAL = LABELS != 0


def arrays(dtype=np.int64):
    return {name: np.array(values, dtype) for name, values in batch().items()}


def fused(model=None, **training):
    model = tiny_model("float32") if model is None else model
    optimizer = build_optimizer(dataclasses.replace(TrainingConfig(), **training))
    model.compile(optimizer, loss=TranslationLoss("token_mean"))
    return model


def weights_of(model):
    return [np.array(weight) for weight in model.trainable_variables]


def word_losses(model):
    """−log p of every target word by NumPy, from the model's logits: [B, I], padding included."""
    logits = np.array(model(batch()), np.float64)
    shifted = logits - logits.max(-1, keepdims=True)
    log_probabilities = shifted - np.log(np.exp(shifted).sum(-1, keepdims=True))
    return -np.take_along_axis(log_probabilities, LABELS[..., np.newaxis], -1)[..., 0]


def broken():
    model = fused()
    model.output_layer.b_softmax.assign(np.full(TARGET_SIZE, np.nan))
    return model


# Numbers that are not finite.


def test_a_model_of_nan_is_evaluated_as_nan():
    values = broken().evaluate(dataset([PAIRS]), verbose=0, return_dict=True)
    assert np.isnan(values["loss"]) and np.isnan(values["perplexity"])


def test_fit_raises_where_keras_would_go_on():
    model = broken()
    before = weights_of(model)
    with pytest.raises(
        UserError,
        match="fit: expected a finite gradient, got loss nan, gradient_norm nan in batch 1",
    ):
        model.fit(dataset([PAIRS] * 2), verbose=0)
    for old, new in zip(before, weights_of(model)):
        np.testing.assert_array_equal(old, new)


def test_fit_raises_with_a_loss_of_keras_too():
    model = plain(optimizer=build_optimizer(TrainingConfig()))
    model.output_layer.b_softmax.assign(np.full(TARGET_SIZE, np.nan))
    with pytest.raises(UserError, match="got gradient_norm nan in batch 1"):
        model.fit(arrays(), LABELS, verbose=0)


def test_terminate_on_nan_stops_first():
    history = (
        broken()
        .fit(dataset([PAIRS] * 3), callbacks=[keras.callbacks.TerminateOnNaN()], verbose=0)
        .history
    )
    assert np.isnan(history["loss"]).all()


def test_a_development_loss_that_is_not_finite_is_never_the_best():
    assert is_lower(2.0, None) and is_lower(2.0, 3.0)
    assert not is_lower(3.0, 3.0)
    for loss in (np.nan, np.inf):
        assert not is_lower(loss, None) and not is_lower(loss, 3.0)


# Arguments.


@pytest.mark.parametrize("dtype", (np.int64, np.uint8))
def test_ids_of_any_integer_type(dtype):
    """The loss of an epoch, and of the model after it, are those of int32."""
    found = []
    for each in (np.int32, dtype):
        model = fused()
        x = arrays(each)
        loss = model.fit(x, verbose=0).history["loss"]
        found.append((loss, model.evaluate(x, verbose=0)))
    assert found[0] == found[1]


def test_sample_weights_multiply_the_losses_of_sentences():
    model = fused()
    weights = np.array([0.0, 2.0, 0.5, 1.0])
    expected = (word_losses(model) * weights[:, np.newaxis])[REAL].sum() / REAL.sum()
    plain = word_losses(model)[REAL].mean()
    reported = model.evaluate(arrays(), sample_weight=weights, verbose=0, return_dict=True)
    assert reported["loss"] == pytest.approx(expected, rel=1e-5)
    assert reported["perplexity"] == pytest.approx(np.exp(plain), rel=1e-5)
    trained = model.train_on_batch(arrays(), sample_weight=weights, return_dict=True)
    assert trained["loss"] == pytest.approx(expected, rel=1e-5)


def test_those_of_a_validation_text_too():
    model = fused(optimizer="sgd", learning_rate=0.0001)
    weights = np.array([0.0, 2.0, 0.5, 1.0])
    validation = arrays(), None, weights
    history = model.fit(arrays(), validation_data=validation, verbose=0).history
    expected = (word_losses(model) * weights[:, np.newaxis])[REAL].sum() / REAL.sum()
    assert history["val_loss"] == [pytest.approx(expected, rel=1e-5)]


def test_a_column_of_sample_weights():
    losses = []
    for weights in (np.array([1.0, 0.0, 2.0, 0.5]), np.array([[1.0], [0.0], [2.0], [0.5]])):
        losses.append(fused(tiny_model("float64")).train_on_batch(batch(), sample_weight=weights))
    assert losses[0] == losses[1]


def test_class_weights_are_refused():
    with pytest.raises(UsageError, match="expected no class_weight"):
        fused().fit(arrays(), class_weight={0: 1.0}, verbose=0)


# The plain way of Keras.


def plain(metrics=("sparse_categorical_accuracy",), optimizer=None, dtype="float32"):
    model = tiny_model(dtype)
    loss = keras.losses.SparseCategoricalCrossentropy(from_logits=True)
    model.compile(optimizer or keras.optimizers.SGD(0.1), loss=loss, metrics=list(metrics))
    return model


def test_a_loss_and_a_metric_of_keras_leave_padding_out():
    model = plain()
    logits = np.array(model(batch()))
    expected = word_losses(model)[REAL].mean()
    hits = (logits.argmax(-1) == LABELS)[REAL].mean()
    reported = model.evaluate(arrays(), LABELS, verbose=0, return_dict=True)
    assert reported["loss"] == pytest.approx(expected, rel=1e-5)
    assert reported["sparse_categorical_accuracy"] == pytest.approx(hits)
    assert "perplexity" not in reported


def test_the_plain_way_and_the_fused_one_make_the_same_update():
    ours = tiny_model("float64")
    theirs = plain(dtype="float64")
    ours.compile(keras.optimizers.SGD(0.1), loss=TranslationLoss("token_mean"))
    ours.fit(arrays(), verbose=0)
    theirs.fit(arrays(), LABELS, verbose=0)
    for one, other in zip(weights_of(ours), weights_of(theirs)):
        np.testing.assert_allclose(one, other, rtol=0, atol=1e-7)  # Keras's loss is float32


@pytest.mark.parametrize(
    "loss", ("sparse_categorical_crossentropy", keras.losses.SparseCategoricalCrossentropy())
)
def test_a_loss_of_probabilities_is_refused(loss):
    with pytest.raises(UsageError, match="expected loss of logits.*from_logits=True"):
        tiny_model("float32").compile("sgd", loss=loss)


def test_what_has_no_effect_is_refused(tmp_path):
    model = tiny_model("float32")
    for call, message in (
        (
            lambda: model.compile("sgd", loss=TranslationLoss(), metrics=["accuracy"]),
            "no metrics beside TranslationLoss",
        ),
        (lambda: model.save(tmp_path / "x.h5"), "expected a .keras file"),
        (lambda: fused().fit(arrays(), LABELS, verbose=0), "got y too"),
        (lambda: plain().fit(arrays(), verbose=0), "expected y beside x"),
    ):
        with pytest.raises(UsageError, match=message):
            call()


# The objective.


@pytest.mark.slow
def test_regularizers_and_added_losses_are_part_of_the_objective():
    """L2 of the output bias with a step of SGD: θ − η (g + 2 λ θ)."""
    with_it = tiny_model("float64")
    without = tiny_model("float64")
    with_it.output_layer.b_softmax.regularizer = keras.regularizers.L2(0.5)
    before = np.array(with_it.output_layer.b_softmax)
    for model in (with_it, without):
        model.compile(keras.optimizers.SGD(0.1), loss=TranslationLoss("token_mean"))
        model.train_on_batch(batch())
    expected = np.array(without.output_layer.b_softmax) - 0.1 * 2 * 0.5 * before
    np.testing.assert_allclose(
        np.array(with_it.output_layer.b_softmax), expected, rtol=0, atol=1e-7
    )
