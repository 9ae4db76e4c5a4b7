"""What a Keras user expects of every layer that is offered: one table for all of them."""

import json

import numpy as np
import pytest
import tensorflow as tf
from rnnsearch_tf import layers
from rnnsearch_tf.errors import UsageError
from rnnsearch_tf.runtime.backend import keras

B = 2
STEPS = 3
J = 5
M = 4
N = 6
V = 9
LENGTHS = (5, 3)

CASES = {
    "BiGRUEncoder": (lambda: layers.BiGRUEncoder(N), [(J, M)]),
    "BiGRUEncoder, one LSTM": (
        lambda: layers.BiGRUEncoder(N, bidirectional=False, unit="lstm"),
        [(J, M)],
    ),
    "BahdanauAttention": (lambda: layers.BahdanauAttention(M), [(STEPS, N), (J, 2 * N)]),
    "DeepOutput": (
        lambda: layers.DeepOutput(V, 3, output_rank=2),
        [(STEPS, N), (STEPS, M), (STEPS, 2 * N)],
    ),
}
"""A layer, and the shapes of its arguments without the batch."""

READERS = [name for name in CASES if name != "DeepOutput"]
"""Layers whose last argument is of the source's length, and may have a mask."""

every_layer = pytest.mark.parametrize("name", CASES)


def arguments(name, seed=0):
    """NumPy arguments of a layer."""
    random = np.random.default_rng(seed)

    return [random.normal(size=(B, *shape)).astype("float32") for shape in CASES[name][1]]


def inputs(name):
    """keras.Input of a layer; sentences may have any length."""
    return [keras.Input((None, *shape[1:])) for shape in CASES[name][1]]


def listed(results):
    return list(results) if isinstance(results, (tuple, list)) else [results]


def test_no_public_layer_is_missing():
    assert set(layers.__all__) == {name.split(",")[0] for name in CASES}


@every_layer
def test_in_a_functional_model_saved_and_loaded(name, tmp_path):
    given = inputs(name)
    symbolic = CASES[name][0]()(*given)
    model = keras.Model(given, symbolic)
    for weight in model.trainable_weights:  # v_a and biases too, which begin at zero
        weight.assign(np.random.default_rng(weight.shape[0]).normal(size=weight.shape))
    results = listed(model(arguments(name)))
    for one, result in zip(listed(symbolic), results, strict=True):
        assert len(one.shape) == len(result.shape) and one.shape[-1] in (None, result.shape[-1])
    model.save(tmp_path / "model.keras")
    loaded = keras.models.load_model(tmp_path / "model.keras")
    for result, values in zip(listed(loaded(arguments(name))), results, strict=True):
        np.testing.assert_array_equal(result, values)


@pytest.mark.parametrize("name", READERS)
def test_a_mask_leaves_out_what_is_padding(name):
    """The shorter sentence gives what it gives by itself, its mask handed in or carried along by
    Keras.
    """
    layer, (*others, source) = CASES[name][0](), arguments(name)
    mask = np.arange(J) < np.array(LENGTHS)[:, np.newaxis]
    carried = keras.ops.convert_to_tensor(source)
    keras.src.backend.common.masking.set_keras_mask(carried, keras.ops.convert_to_tensor(mask))
    masked = listed(layer(*others, carried))
    for result, given in zip(masked, listed(layer(*others, source, mask)), strict=True):
        np.testing.assert_array_equal(result, given)
    alone = listed(layer(*(values[1:] for values in others), source[1:, : LENGTHS[1]]))
    for result, expected in zip(masked, alone, strict=True):
        row = tuple(slice(size) for size in expected.shape[1:])
        np.testing.assert_allclose(result[1:][(slice(None), *row)], expected, rtol=1e-5, atol=1e-6)


@every_layer
@pytest.mark.parametrize("policy", ("float64", "mixed_bfloat16"))
def test_arguments_are_cast_to_the_dtype_of_the_weights(name, policy):
    make, shapes = CASES[name]
    json.dumps(make().get_config())
    layer = type(make()).from_config(make().get_config() | {"dtype": policy})
    own = layer.variable_dtype
    values = arguments(name)
    expected = listed(layer(*(tf.cast(value, own) for value in values)))
    for result, like in zip(listed(layer(*values)), expected, strict=True):
        assert result.dtype == like.dtype == own
        np.testing.assert_array_equal(result, like)


@every_layer
def test_the_random_seed_of_keras_decides(name):
    def drawn(seed):
        keras.utils.set_random_seed(seed)
        layer = CASES[name][0]()
        layer(*arguments(name))
        return np.concatenate([weight.ravel() for weight in layer.get_weights()])

    first, again, other = drawn(1), drawn(1), drawn(2)
    np.testing.assert_array_equal(first, again)
    assert first.tobytes() != other.tobytes()


@pytest.mark.parametrize(
    "make",
    [
        lambda: layers.BiGRUEncoder(4, unit="grru"),
        lambda: layers.BiGRUEncoder(0),
        lambda: layers.BiGRUEncoder(3.0),
        lambda: layers.BiGRUEncoder(4, biases="some"),
        lambda: layers.BiGRUEncoder(4, initialization="zeros"),
        lambda: layers.BiGRUEncoder(4, forget_bias=1.0),
        lambda: layers.BahdanauAttention(None),
        lambda: layers.DeepOutput(0, 3),
        lambda: layers.DeepOutput(V, 3, tied=True)(*arguments("DeepOutput")),
    ],
)
def test_a_wrong_option_is_a_usage_error(make):
    with pytest.raises(UsageError, match=": expected .*, got .*; "):
        make()


# All of them in one functional model of source and target ids, with layers of Keras.

SOURCE = np.array([[3, 4, 5, 6, 7], [8, 2, 1, 0, 0]])
TARGET_IDS = np.array([[4, 5, 1, 0], [3, 1, 0, 0]])


def translation_model():
    source = keras.Input((None,), dtype="int32")
    target = keras.Input((None,), dtype="int32")
    annotations = layers.BiGRUEncoder(3)(keras.layers.Embedding(V, M, mask_zero=True)(source))
    words = keras.layers.Embedding(V, M, mask_zero=True)(target)
    states = keras.layers.GRU(3, return_sequences=True)(words)
    contexts, _ = layers.BahdanauAttention(2)(states, annotations)
    logits = layers.DeepOutput(V, 3)(states, words, contexts)
    model = keras.Model([source, target], logits)
    for k, weight in enumerate(model.weights):
        weight.assign(np.random.default_rng(k).normal(size=weight.shape))
    return model


def test_in_a_model_of_ones_own_padding_changes_nothing():
    model = translation_model()
    np.testing.assert_allclose(
        model([SOURCE, TARGET_IDS])[1:, :2],
        model([SOURCE[1:, :3], TARGET_IDS[1:, :2]]),
        rtol=1e-4,
        atol=1e-5,
    )


def test_a_stock_loss_does_not_count_padding():
    """The mean over the real target words, worked out from the logits in float64."""
    model = translation_model()
    model.compile(loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    logits = np.array(model([SOURCE, TARGET_IDS]), "float64")
    likelihood = logits - np.log(np.exp(logits).sum(axis=-1, keepdims=True))
    own = -np.take_along_axis(likelihood, TARGET_IDS[..., np.newaxis], axis=-1)[..., 0]
    expected = own[TARGET_IDS != 0].mean()
    assert abs(own.mean() - expected) > 0.01
    found = model.evaluate([SOURCE, TARGET_IDS], TARGET_IDS, verbose=0)
    assert found == pytest.approx(expected, rel=1e-5)
