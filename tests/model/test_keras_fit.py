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
from rnnsearch_tf.training.optimizers import Adam, build_optimizer

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


@pytest.mark.parametrize("one", (False, True, "in a list of Keras"))
def test_fit_raises_where_keras_would_go_on(one):
    """Whatever form the callbacks have."""
    model = broken()
    callbacks = keras.callbacks.LambdaCallback() if one else None
    if one not in (False, True):
        callbacks = keras.callbacks.CallbackList([callbacks], add_history=True, model=model)
    before = weights_of(model)
    with pytest.raises(
        UserError,
        match="fit: expected a finite gradient, got loss nan, gradient_norm nan in batch 1",
    ):
        model.fit(dataset([PAIRS] * 2), callbacks=callbacks, verbose=0)
    for old, new in zip(before, weights_of(model)):
        np.testing.assert_array_equal(old, new)


def test_fit_before_compile():
    with pytest.raises(ValueError, match=r"must call `compile\(\)` before"):
        tiny_model("float32").fit(dataset([PAIRS]), verbose=0)


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
        assert not is_lower(loss, None)
        assert not is_lower(loss, 3.0)


# Arguments.


@pytest.fixture(scope="module")
def of_int32():
    """The loss of an epoch, of the model after it, and its logits: all of ids in int32."""
    model = fused()
    x = arrays(np.int32)
    loss = model.fit(x, verbose=0).history["loss"]
    return loss, model.evaluate(x, verbose=0), model.predict(x, verbose=0)


@pytest.mark.parametrize("dtype", (np.int64, pytest.param(np.uint8, marks=pytest.mark.slow)))
def test_ids_of_any_integer_type(dtype, of_int32):
    model = fused()
    x = arrays(dtype)
    loss, evaluated, logits = of_int32
    assert model.fit(x, verbose=0).history["loss"] == loss
    assert model.evaluate(x, verbose=0) == evaluated
    np.testing.assert_allclose(model.predict(x, verbose=0), logits, rtol=0, atol=1e-5)
    model.train_on_batch(x)


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


@pytest.mark.parametrize("form", [tuple, list])
def test_those_of_a_validation_text_too(form):
    model = fused(optimizer="sgd", learning_rate=0.0001)
    weights = np.array([0.0, 2.0, 0.5, 1.0])
    validation = form([arrays(), None, weights])
    history = model.fit(arrays(), validation_data=validation, verbose=0).history
    expected = (word_losses(model) * weights[:, np.newaxis])[REAL].sum() / REAL.sum()
    assert history["val_loss"] == [pytest.approx(expected, rel=1e-5)]


def test_sample_weights_beside_a_dataset_are_refused():
    with pytest.raises(
        UsageError, match="sample_weight: expected it beside a dictionary .*Dataset; put"
    ):
        fused().fit(dataset([PAIRS]), sample_weight=np.ones(4), verbose=0)


def test_sample_weights_of_zero_move_nothing():
    model = fused(optimizer="sgd", learning_rate=0.5)
    before = weights_of(model)
    model.fit(arrays(), sample_weight=np.zeros(4), verbose=0)
    for old, new in zip(before, weights_of(model)):
        np.testing.assert_array_equal(old, new)


def test_class_weights_are_refused():
    model = fused()
    for call in (
        lambda: model.fit(arrays(), class_weight={0: 1.0}, verbose=0),
        lambda: model.fit(dataset([PAIRS]), class_weight={0: 1.0}, verbose=0),
        lambda: model.train_on_batch(arrays(), class_weight={0: 1.0}),
    ):
        with pytest.raises(UsageError, match="expected no class_weight"):
            call()


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


@pytest.mark.slow
def test_the_plain_way_takes_an_optimizer_of_ours_and_datasets():
    optimizer = build_optimizer(
        dataclasses.replace(TrainingConfig(), optimizer="adam", learning_rate=0.01)
    )
    model = plain(optimizer=optimizer)
    data = dataset([PAIRS] * 20).map(lambda x: (x, x["target_ids"]))
    losses = model.fit(data, epochs=2, verbose=0).history["loss"]
    assert losses[1] < losses[0]


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
        (lambda: model.quantize("int8"), "expected no quantization"),
        (
            lambda: model.export(tmp_path / "x", format="litert"),
            "expected format to be tf_saved_model",
        ),
        (
            lambda: model.export(tmp_path / "x", format="onnx"),
            "expected format to be tf_saved_model",
        ),
        (lambda: model.save(tmp_path / "x.h5"), "expected a .keras file"),
        (lambda: Adam(loss_scale_factor=2.0), "expected no loss_scale_factor"),
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
